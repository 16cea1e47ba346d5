// Since when, and until when: the first and the last call of the range that pass the filters.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { type Api, read } from '../api/client.ts';
import { fetchStats, type Stats } from '../api/stats.ts';
import { useSession } from '../app/session.tsx';
import type { CallRow } from '../parts/call-row.ts';
import { callAddress } from '../parts/calls-list.tsx';
import { When } from '../parts/when.tsx';
import type { AuditFilterValues } from './filters.tsx';
import { apiFilters, countFilters } from './search.ts';

type End = Pick<CallRow, 'requestId' | 'ts'>;
interface Both {
  readonly first: End;
  readonly last: End;
}

interface EndsProps {
  readonly filters: AuditFilterValues;
  readonly counts: Stats | undefined;
  /** All that was found, newest first; null: there is more than was read. */
  readonly rows: readonly End[] | null;
}

export default function Ends({ filters, counts, rows }: EndsProps) {
  const { api, workspace } = useSession();
  const set = apiFilters(filters);
  const isSet = Object.keys(set).length > 0;
  // The counts do not know users and sessions.
  const canFind = isSet && rows === null && counts !== undefined && counts.total > 0 && set.sub === undefined && set.session === undefined;
  const found = useQuery({
    queryKey: ['ends', workspace, set, counts?.since, counts?.until, counts?.total],
    queryFn: () => (counts === undefined ? null : endsIn(api, workspace, filters, counts)),
    enabled: canFind,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const both = rows === null ? found.data : bothOf(rows.at(-1), rows[0]);
  if (!isSet || both == null) return null;
  return (
    <Text size="sm" role="status">
      <Link to={callAddress(both.first)}>First such call</Link> of this time: <When at={both.first.ts} hasDate />.{' '}
      <Link to={callAddress(both.last)}>Last</Link>: <When at={both.last.ts} hasDate />.
    </Text>
  );
}

const bothOf = (first: End | undefined, last: End | undefined): Both | null =>
  first === undefined || last === undefined ? null : { first, last };

const lengths = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const entriesMax = 1_000;

/** Counts by the minute lead to the minute of the first call, and its entries to the call. */
async function endsIn(api: Api, workspace: string, filters: AuditFilterValues, counts: Stats): Promise<Both | null> {
  let part = firstPart(counts);
  if (part !== null && counts.every !== 'minute')
    part = firstPart(await fetchStats(api, workspace, { by: 'outcome', every: 'minute', ...countFilters(filters), ...part })) ?? part;
  if (part === null) return null;
  const ask = async (query: { readonly since: string; readonly until: string; readonly limit: number }) =>
    (await read(api.GET('/{workspace}/admin/audit', { params: { path: { workspace }, query: { ...apiFilters(filters), ...query } } })))
      .entries;
  const [oldest, newest] = await Promise.all([
    ask({ ...part, limit: entriesMax }),
    ask({ since: counts.since, until: counts.until, limit: 1 }),
  ]);
  return bothOf(oldest.at(-1), newest[0]);
}

/** The oldest bucket with a call. */
function firstPart({ groups, every }: Stats): { readonly since: string; readonly until: string } | null {
  const starts = groups.flatMap((group) => group.counts.filter(({ count }) => count > 0).map(({ at }) => Date.parse(at)));
  if (starts.length === 0) return null;
  const from = Math.min(...starts);
  return { since: new Date(from).toISOString(), until: new Date(from + lengths[every]).toISOString() };
}
