// How many calls wait for this person, for the navigation. It asks every few seconds, and opens no stream: browsers open at
// most six connections to a host over HTTP/1.1. On the pages of approvals their stream keeps the same list up to date.
import { useLocation } from 'react-router';
import { useSession } from '../app/session.tsx';
import './waiting-count.css';
import { usePending } from './live.ts';
import { isYours } from './may-answer.ts';

const everyMs = 5_000;
const withStreamMs = 60_000;

export function WaitingCount() {
  const session = useSession();
  const { pathname } = useLocation();
  const { data } = usePending(pathname.startsWith('/approvals') ? withStreamMs : everyMs);
  const count = data?.approvals.filter((one) => isYours(one, session)).length ?? 0;
  if (count === 0) return null;
  return (
    <span className="waiting-count">
      {count.toLocaleString()}
      {data?.isCut === true && '+'}
      <span className="only-read"> wait for you</span>
    </span>
  );
}
