// Sidecars that are behind or have another problem.
import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { Card } from '../parts/card.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Loaded } from '../parts/states.tsx';
import { problemsOf } from '../sidecars/health.ts';

const shownMax = 5;

export function SidecarsCard() {
  const { api, workspace, may } = useSession();
  const { why } = may('policies.read', ['owner', 'admin']);
  const sidecars = useQuery({
    queryKey: ['overview', 'sidecars'],
    queryFn: () => read(api.GET('/{workspace}/admin/sidecars', { params: { path: { workspace } } })),
    refetchInterval: 5_000,
    enabled: why === null,
  });
  return (
    <Card title="Sidecars" more={<Link to="/sidecars">All</Link>}>
      {why === null ? (
        <Loaded query={sidecars} what="Sidecars could not be read">
          {({ sidecars: all, next }) => {
            const troubled = all.filter((one) => problemsOf(one).length > 0);
            const connected = all.filter((one) => one.connected).length;
            return (
              <>
                <Text size="sm" c="var(--quiet)">
                  {all.length === 0
                    ? 'No sidecar has connected yet.'
                    : `${connected.toLocaleString()} connected, ${troubled.length === 0 ? 'none' : troubled.length.toLocaleString()} with a problem${next === undefined ? '' : ', of the first page'}.`}
                </Text>
                {troubled.slice(0, shownMax).map((one) => (
                  <Group key={one.bootId} justify="space-between" wrap="nowrap">
                    <Link to={`/sidecars/${encodeURIComponent(one.bootId)}`}>
                      <Foreign text={one.id} max={40} />
                    </Link>
                    <Text size="sm" c="var(--outcome-limit)" ta="right">
                      ! {problemsOf(one)[0]?.words}
                    </Text>
                  </Group>
                ))}
              </>
            );
          }}
        </Loaded>
      ) : (
        <Text size="sm" c="var(--quiet)">
          {why}
        </Text>
      )}
    </Card>
  );
}
