// What the page shows without a call: the one command for the first call, or where the older calls are.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Empty } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';

/** The first governed call of a workspace, in one command. The key stays in the reader's shell. */
export const firstCall = (origin: string): string =>
  `curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${origin}/govern/tool-use \\
  -d '{"tool_name": "files.read", "tool_input": {"path": "notes.txt"}, "session_id": "first", "agent_name": "hello"}'`;

/** `hours`: the time in which calls were looked for. */
export function NoCalls({ isFiltered, hours }: { readonly isFiltered: boolean; readonly hours: number }) {
  const { api, workspace } = useSession();
  const newest = useQuery({
    queryKey: ['live', workspace, 'newest'],
    queryFn: async () => {
      const query = { since: new Date(0).toISOString(), limit: 1 };
      const { entries } = await read(api.GET('/{workspace}/admin/audit', { params: { path: { workspace }, query } }));
      return entries[0] ?? null;
    },
    enabled: !isFiltered,
    gcTime: 0,
  });
  if (isFiltered)
    return (
      <Empty title="No such call in the last day">
        <Text size="sm">A call that passes these filters appears here as soon as it is decided.</Text>
      </Empty>
    );
  if (newest.data === undefined && newest.error === null) return null;
  if (newest.data !== undefined && newest.data !== null)
    return (
      <Empty title={`No call in the last ${hours} hours`}>
        <Text size="sm">
          The newest was at <When at={newest.data.ts} />.{' '}
          <Anchor component={Link} to={`/audit?until=${encodeURIComponent(new Date(Date.parse(newest.data.ts) + 1).toISOString())}`}>
            Look at it in the audit log
          </Anchor>
          . The next one appears here by itself.
        </Text>
      </Empty>
    );
  return (
    <Empty title="No agent has called a tool yet" command={firstCall(location.origin)}>
      <Text size="sm">
        Ask about a call of your own. <code>$KEY</code> is a key with the scope <code>govern</code>, such as the owner key that{' '}
        <code>npm start</code> printed. The call appears here by itself.
      </Text>
    </Empty>
  );
}
