// Approvals: what waits for a person, and what became of earlier questions.
import { Group, SegmentedControl, Stack } from '@mantine/core';
import { useEffect } from 'react';
import { useSearchParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Refused } from '../parts/states.tsx';
import './approvals.css';
import { History } from './history.tsx';
import { Inbox } from './inbox.tsx';
import { useChanges, usePending } from './live.ts';

export function Page() {
  const { may, role } = useSession();
  const [asked, setAsked] = useSearchParams();
  const pending = usePending();
  const stream = useChanges();
  const view = asked.get('view') === 'history' ? 'history' : 'waiting';
  const count = pending.data?.approvals.length ?? 0;
  useEffect(() => {
    document.title = `${count > 0 && view === 'waiting' ? `(${count}) ` : ''}Approvals · Tollgate`;
  }, [count, view]);
  const { why } = may('admin.approvals');
  if (why !== null) return <Refused error={new Error(why)} what="You cannot see approvals" />;
  return (
    <Stack gap="md">
      <PageHead
        title="Approvals"
        sentence={role === 'member' ? 'Calls that you may answer, and calls that are made for you.' : 'Calls that wait for a person.'}
      >
        <Group gap="md">
          <LiveSign state={stream} />
          <SegmentedControl
            value={view}
            onChange={(wanted) => setAsked(wanted === 'history' ? { view: 'history' } : {})}
            data={[
              { value: 'waiting', label: count === 0 ? 'Waiting' : `Waiting ${count}${pending.data?.isCut === true ? '+' : ''}` },
              { value: 'history', label: 'History' },
            ]}
          />
        </Group>
      </PageHead>
      {view === 'history' ? <History /> : <Inbox pending={pending} />}
    </Stack>
  );
}
