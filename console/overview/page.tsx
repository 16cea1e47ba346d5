// What agents do now, and what is enforced. The page follows the stream of decisions: the first call of an empty
// workspace shows by itself.
import { Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { bucketsOf, fetchStats, type Stats, type StatsQuery } from '../api/stats.ts';
import { useStream } from '../api/stream.ts';
import { useSession } from '../app/session.tsx';
import { Histogram } from '../parts/histogram.tsx';
import { outcomeColour, OutcomeSign, outcomes, outcomeWords } from '../parts/outcome.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { Active, Denied, Pending, Redactions, Spend } from './cards.tsx';
import { FirstCall } from './first-call.tsx';
import { Enforced } from './enforced.tsx';
import { SidecarsCard } from './sidecars-card.tsx';

const ranges = {
  hour: { label: 'Last hour', ms: 3_600_000, every: 'minute' },
  day: { label: 'Last day', ms: 86_400_000, every: 'hour' },
  month: { label: 'Last 30 days', ms: 30 * 86_400_000, every: 'day' },
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
      <Group justify="space-between">
        <Title order={1} size="h2">
          Overview
        </Title>
        <SegmentedControl
          aria-label="Range"
          value={range}
          onChange={(value) => setSearch({ range: value }, { replace: true })}
          data={Object.entries(ranges).map(([value, { label }]) => ({ value, label }))}
        />
      </Group>
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
  const { ms, every, label } = ranges[range];
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
          <Stack gap={4}>
            <Text size="sm" c="var(--quiet)">
              {data.total.toLocaleString()} decisions, {label.toLowerCase()}. Choose a part of the bars to see its calls.
            </Text>
            <Legend stats={data} />
            <Histogram {...bucketsOf(data)} onChoose={openAudit} />
          </Stack>
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

/** One sign, word and number for each outcome. */
function Legend({ stats }: { readonly stats: Stats }) {
  const totals = new Map(stats.groups.map(({ value, total }) => [value, total]));
  return (
    <Group gap="md">
      {outcomes.map((outcome) => (
        <Group key={outcome} gap={6} wrap="nowrap">
          <OutcomeSign outcome={outcome} />
          <Text size="sm" c={outcomeColour(outcome)}>
            {outcomeWords[outcome]} <b>{(totals.get(outcome) ?? 0).toLocaleString()}</b>
          </Text>
        </Group>
      ))}
    </Group>
  );
}
