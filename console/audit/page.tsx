// Page "Audit": search in everything that was decided. Every filter is in the address.
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure, useDocumentTitle } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useInfiniteQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { bucketsOf, type Stats } from '../api/stats.ts';
import { read } from '../api/client.ts';
import { useSession } from '../app/session.tsx';
import { CallsList } from '../parts/calls-list.tsx';
import type { CallRow } from '../parts/call-row.ts';
import { Histogram } from '../parts/histogram.tsx';
import { OutcomeCounts } from '../parts/outcome-counts.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Empty, Refused } from '../parts/states.tsx';
import { useUrlFilters } from '../parts/url-filters.ts';
import { isLongerThanDay } from '../parts/when.tsx';
import { exportAddress, exportWords } from './export.ts';
import { AuditFilters, filterNames, type AuditFilterValues } from './filters.tsx';
import { type Item, itemOf, rowsOf } from './rows.ts';
import { apiFilters, type AuditQuery, useCounts } from './search.ts';
import { rangeOf, type TimeRange, widened } from './time-range.ts';

const Ends = lazy(() => import('./ends.tsx'));
const Proof = lazy(() => import('./proof.tsx'));

const pageSize = 200;

export function Page() {
  const { may } = useSession();
  useDocumentTitle('Audit · Tollgate');
  const { why } = may('admin.audit.read');
  return why === null ? <Audit /> : <Empty title="You cannot read the audit log">{why}</Empty>;
}

/** What is kept of a search while another page is shown, so that the reader finds it as it was. */
interface Memory {
  readonly now: number;
  offset: number;
  active: string | null;
}

const memories = new Map<string, Memory>();
const memoriesMax = 30;

function memoryOf(key: string): Memory {
  const known = memories.get(key);
  if (known !== undefined) return known;
  const oldest = memories.size >= memoriesMax ? memories.keys().next().value : undefined;
  if (oldest !== undefined) memories.delete(oldest);
  const memory = { now: Date.now(), offset: 0, active: null };
  memories.set(key, memory);
  return memory;
}

function Audit() {
  const { workspace } = useSession();
  const { key } = useLocation();
  const memory = useMemo(() => memoryOf(key), [key]);
  const [filters, change] = useUrlFilters(filterNames);
  const range = useMemo(() => rangeOf(filters, memory.now), [filters, memory]);
  const search = useSearch(filters, range);
  const counts = useCounts(filters, range);
  const [isProving, proof] = useDisclosure(false);
  const refresh = useRefresh();
  return (
    <Stack gap="sm">
      <PageHead title="Audit">
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={refresh}>
            Refresh
          </Button>
          <Button
            size="xs"
            variant="default"
            component="a"
            href={exportAddress(workspace, filters, range)}
            download="audit.ndjson"
            onClick={() =>
              notifications.show({
                title: 'Downloading audit.ndjson',
                message: exportWords(filters, range, counts.data?.total),
              })
            }
          >
            Export
          </Button>
          <Button size="xs" variant="default" onClick={proof.open}>
            Proof
          </Button>
        </Group>
      </PageHead>
      <AuditFilters
        values={filters}
        range={range}
        onChange={change}
        onWiden={() => {
          const { since, until } = widened(range, Date.now());
          change({ since, until, last: undefined });
        }}
        suggest={(field) => search.rows.map((row) => row[field])}
      />
      <Counts counts={counts} filters={filters} onChoose={(since, until) => change({ since, until, last: undefined })} />
      <Suspense>
        {Object.keys(apiFilters(filters)).length > 0 && (
          <Ends filters={filters} counts={counts.data} rows={search.isWhole ? search.rows : null} />
        )}
      </Suspense>
      <Found
        key={key}
        search={search}
        memory={memory}
        hasDates={isLongerThanDay(range.since, range.until)}
        onWiden={() => change({ last: '30d', since: undefined, until: undefined })}
      />
      <Suspense>{isProving && <Proof close={proof.close} />}</Suspense>
    </Stack>
  );
}

/** Searches again, up to now. */
function useRefresh(): () => void {
  const go = useNavigate();
  const { pathname, search } = useLocation();
  return () => void go(`${pathname}${search}`, { replace: true });
}

interface Search {
  readonly rows: readonly CallRow[];
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly isWhole: boolean;
  readonly more: () => void;
  readonly retry: () => void;
}

function useSearch(filters: AuditFilterValues, { since, until }: TimeRange): Search {
  const { api, workspace } = useSession();
  const query: AuditQuery = { ...apiFilters(filters), since, ...(until !== null && { until }), limit: pageSize };
  const pages = useInfiniteQuery({
    queryKey: ['audit', workspace, query],
    queryFn: async ({ pageParam }): Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }> => {
      const paged = { ...query, ...(pageParam !== '' && { cursor: pageParam }) };
      const { entries, next } = await read(api.GET('/{workspace}/admin/audit', { params: { path: { workspace }, query: paged } }));
      return { items: entries.map(itemOf), next };
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    // "Refresh" searches again; rows do not move under the reader.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data, hasNextPage, isFetching, error, fetchNextPage, refetch } = pages;
  const isWhole = data !== undefined && !hasNextPage;
  const rows = useMemo(
    () =>
      data === undefined
        ? []
        : rowsOf(
            data.pages.flatMap(({ items }) => items),
            isWhole,
          ),
    [data, isWhole],
  );
  const more = useCallback(() => {
    if (hasNextPage && !isFetching && error === null) void fetchNextPage();
  }, [hasNextPage, isFetching, error, fetchNextPage]);
  return {
    rows,
    isPending: data === undefined && error === null,
    error,
    isWhole,
    more,
    retry: () => void (data === undefined ? refetch() : fetchNextPage()),
  };
}

interface FoundProps {
  readonly search: Search;
  readonly memory: Memory;
  readonly hasDates: boolean;
  readonly onWiden: () => void;
}

function Found({ search: { rows, isPending, error, isWhole, more, retry }, memory, hasDates, onWiden }: FoundProps) {
  const [active, setActive] = useState(memory.active);
  if (isPending) return <Skeleton height={400} role="status" aria-label="loading" />;
  const refused = error !== null && <Refused error={error} what="The log could not be read" retry={retry} />;
  if (rows.length === 0 && isWhole)
    return (
      <Empty title="No such call in this time">
        <Text size="sm">Choose a longer time, or remove a filter.</Text>
        <Button size="xs" variant="default" onClick={onWiden}>
          Search the last 30 days
        </Button>
      </Empty>
    );
  return (
    <>
      {refused}
      {(rows.length > 0 || error === null) && (
        <CallsList
          label="Calls found, newest first"
          rows={rows}
          hasDates={hasDates}
          active={active}
          onActive={(requestId) => {
            memory.active = requestId;
            setActive(requestId);
          }}
          onNearEnd={more}
          onScrolled={(offset) => {
            memory.offset = offset;
          }}
          initialOffset={memory.offset}
          height="max(360px, calc(100dvh - 466px))"
          end={
            <Text size="xs" c="var(--quiet)" p="xs" role="status">
              {isWhole ? `${rows.length.toLocaleString()} calls; there are no older ones in this time.` : 'Loading older calls…'}
            </Text>
          }
        />
      )}
    </>
  );
}

interface CountsProps {
  readonly counts: ReturnType<typeof useCounts>;
  readonly filters: AuditFilterValues;
  readonly onChoose: (since: string, until: string) => void;
}

/** The histogram. Without it the search still works. */
function Counts({ counts, filters: { sub, session }, onChoose }: CountsProps) {
  if (counts.data === undefined) {
    if (counts.error === null) return <Skeleton height={124} role="status" aria-label="loading" />;
    return (
      <Text size="sm" c="var(--quiet)" role="note">
        The counts over time are not shown: {counts.error.message}
      </Text>
    );
  }
  return (
    <div>
      <Plot answer={counts.data} onChoose={onChoose} />
      <Legend answer={counts.data} isWider={sub !== undefined || session !== undefined} />
    </div>
  );
}

function Plot({ answer, onChoose }: { readonly answer: Stats; readonly onChoose: CountsProps['onChoose'] }) {
  const { buckets, bucketMs } = useMemo(() => bucketsOf(answer), [answer]);
  return <Histogram buckets={buckets} bucketMs={bucketMs} onChoose={onChoose} />;
}

/** `isWider`: the counts are of more calls than the search finds. */
function Legend({ answer: { groups, total }, isWider }: { readonly answer: Stats; readonly isWider: boolean }) {
  return (
    <Group gap="4px 16px" mt={6} fz={13}>
      <span style={{ fontWeight: 600 }}>{total === 1 ? '1 call' : `${total.toLocaleString()} calls`}</span>
      <OutcomeCounts groups={groups} />
      {isWider && <span style={{ color: 'var(--quiet)' }}>The counts and bars are of all users and sessions.</span>}
    </Group>
  );
}
