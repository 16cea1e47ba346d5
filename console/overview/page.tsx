// What agents do now, and what is enforced. The page follows the stream of decisions: the first call of an empty
// workspace shows by itself.
import { Group, Paper, SegmentedControl, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { bucketsOf, fetchStats, type StatsQuery } from '../api/stats.ts';
import { useStream } from '../api/stream.ts';
import { useSession } from '../app/session.tsx';
import { Histogram } from '../parts/histogram.tsx';
import { OutcomeCounts } from '../parts/outcome-counts.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { Active, Denied, Pending, Redactions, Spend } from './cards.tsx';
import { FirstCall } from './first-call.tsx';
import { Enforced } from './enforced.tsx';
import { SidecarsCard } from './sidecars-card.tsx';

const ranges = {
  quarter: { label: '15 min', inWords: 'the last 15 minutes', ms: 15 * 60_000, every: 'minute' },
  hour: { label: '1 h', inWords: 'the last hour', ms: 3_600_000, every: 'minute' },
  day: { label: '24 h', inWords: 'the last 24 hours', ms: 86_400_000, every: 'hour' },
  month: { label: '30 d', inWords: 'the last 30 days', ms: 30 * 86_400_000, every: 'day' },
} as const;

type Range = keyof typeof ranges;
const isRange = (text: string | null): text is Range => text !== null && Object.hasOwn(ranges, text);

const refreshMs = 10_000;

export function Page() {
  useDocumentTitle('Overview · Tollgate');
  const { workspace, may } = useSession();
  const { why } = may('admin.audit.read');
  const [search, setSearch] = useSearchParams();
  const asked = search.get('range');
  const range = isRange(asked) ? asked : 'hour';
  useStream(why === null ? `/${workspace}/admin/audit/stream` : null, 'entry', useRefresh());
  return (
    <Stack>
      <PageHead title="Overview">
        <SegmentedControl
          size="xs"
          aria-label="Range"
          value={range}
          onChange={(value) => setSearch({ range: value }, { replace: true })}
          data={Object.entries(ranges).map(([value, { label }]) => ({ value, label }))}
        />
      </PageHead>
      <Enforced />
      {why === null ? <Decisions range={range} /> : <Empty title="You cannot see what was decided">{why}</Empty>}
    </Stack>
  );
}

/** How often at most the counts are read again while decisions arrive. */
const followMs = 2_000;

function useRefresh(): () => void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ queryKey: ['overview'] });
    }, followMs);
  };
}

function Decisions({ range }: { readonly range: Range }) {
  const { api, workspace } = useSession();
  const go = useNavigate();
  const { ms, every, inWords } = ranges[range];
  // The minute is a part of the query's name, so that the range moves on.
  const since = new Date(Math.floor((Date.now() - ms) / 60_000) * 60_000).toISOString();
  const query: StatsQuery = { by: 'outcome', every, since };
  const stats = useQuery({
    queryKey: ['overview', 'outcomes', range],
    queryFn: () => fetchStats(api, workspace, query),
    refetchInterval: refreshMs,
  });
  const openAudit = (from: string, to: string): void => void go(`/audit?${new URLSearchParams({ since: from, until: to }).toString()}`);
  return (
    <Loaded query={stats} what="The decisions could not be counted" height={240}>
      {(data) => (
        <>
          {data.total === 0 && range === 'hour' ? <FirstCall /> : null}
          <Paper withBorder p="md" bg="var(--card)" component="section" aria-label="Decisions over time">
            <Group justify="space-between" mb="sm" gap="4px 16px">
              <Title order={2} size="h5">
                {data.total.toLocaleString()} {data.total === 1 ? 'decision' : 'decisions'} in {inWords}
              </Title>
              <OutcomeCounts groups={data.groups} />
            </Group>
            <Histogram {...bucketsOf(data)} onChoose={openAudit} isInside />
            <Text size="xs" c="var(--quiet)" mt={4}>
              Click a bar, or drag over several, to see their calls.
            </Text>
          </Paper>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            <Denied since={since} />
            <Active />
            <Pending />
            <SidecarsCard />
            <Spend />
            <Redactions since={since} />
          </SimpleGrid>
        </>
      )}
    </Loaded>
  );
}
