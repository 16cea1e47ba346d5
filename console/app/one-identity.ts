// What one identity has read is not shown to another. All tabs share one cookie, so a sign-in in one of them is a change of
// identity in all: each tab then asks again who it is, and forgets everything if that is another than before.
import type { QueryClient } from '@tanstack/react-query';
import type { SessionAnswer } from './session.tsx';
import { sessionKey } from './session.tsx';

/** Sign-ins and sign-outs in one tab, for the others. Its messages have no content. */
const channel = new BroadcastChannel('tollgate-session');

/** Calls `changed` when another tab has opened or ended a session. Returns a function that stops it. */
export function followOtherTabs(changed: () => void): () => void {
  channel.addEventListener('message', changed);
  return () => channel.removeEventListener('message', changed);
}

/** Two sessions of one identity may see the same. */
export const identityOf = ({ workspace, sub, role, scopes }: SessionAnswer): string => JSON.stringify([workspace, sub, role, scopes]);

const known = { identity: null as string | null, csrf: undefined as string | undefined };

/** Takes what the control plane says about the session of this tab; null: no one is signed in. */
export function takeIdentity(answer: SessionAnswer | null, queries: QueryClient): void {
  const identity = answer === null ? null : identityOf(answer);
  if (identity !== known.identity) queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
  // A tab that learns nothing new says nothing, so the messages end.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origin
  if (answer?.csrf !== known.csrf) channel.postMessage(null);
  known.identity = identity;
  known.csrf = answer?.csrf;
}
