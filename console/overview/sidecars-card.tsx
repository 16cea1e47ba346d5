// Sidecars that are behind or have another problem. Those that a newer one has replaced are left out.
import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Card } from '../parts/card.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Loaded } from '../parts/states.tsx';
import { divide, readSidecars } from '../sidecars/data.ts';
import { formWords, problemsOf, toneColour } from '../sidecars/health.ts';

const shownMax = 5;
/** Of one sidecar: that it is gone, and how far it is behind. */
const wordsMax = 2;

export function SidecarsCard() {
  const { api, workspace, may } = useSession();
  const { why } = may('policies.read', ['owner', 'admin']);
  const sidecars = useQuery({
    queryKey: ['overview', 'sidecars'],
    queryFn: () => readSidecars(api, workspace),
    refetchInterval: 5_000,
    enabled: why === null,
  });
  return (
    <Card title="Sidecars" more={<Link to="/sidecars">All</Link>}>
      {why === null ? (
        <Loaded query={sidecars} what="Sidecars could not be read">
          {({ sidecars, next }) => {
            const { current: all } = divide(sidecars);
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
                  <Group key={one.bootId} justify="space-between" wrap="nowrap" align="start">
                    <div>
                      <Link to={`/sidecars/${encodeURIComponent(one.bootId)}`}>
                        <Foreign text={one.id} max={40} />
                      </Link>
                      <Text size="xs" c="var(--quiet)">
                        {formWords[one.form]}
                      </Text>
                    </div>
                    <Stack gap={0}>
                      {problemsOf(one)
                        .slice(0, wordsMax)
                        .map((problem) => (
                          <Text key={problem.words} size="sm" c={toneColour(problem)} ta="right">
                            ! {problem.words}
                          </Text>
                        ))}
                    </Stack>
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
