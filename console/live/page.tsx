// Page "Live": decisions as they happen. It begins with the calls of the last day, and continues with the stream.
import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle, useDocumentVisibility, useHotkeys, useTimeout } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { read, type Schemas } from '../api/client.ts';
import { type StreamState, useStream } from '../api/stream.ts';
import { sessionKey, useSession } from '../app/session.tsx';
import { CallsList } from '../parts/calls-list.tsx';
import type { CallRow } from '../parts/call-row.ts';
import { isDialogOpen } from '../parts/dialog.ts';
import { FilterField } from '../parts/filter-field.tsx';
import { type Outcome, outcomes } from '../parts/outcome.tsx';
import { OutcomeFilter } from '../parts/outcome-filter.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Filters, useUrlFilters } from '../parts/url-filters.ts';
import { NoCalls } from './no-calls.tsx';
import { createTail, rowsMax, type Tail, type TailView } from './tail.ts';

const filterNames = ['agent', 'sub', 'tool', 'outcome'] as const;
const recentHours = 24;
const recentMax = 200;

export function Page() {
  const { may } = useSession();
  useDocumentTitle('Live · Tollgate');
  const { why } = may('admin.audit.read');
  return why === null ? <Live /> : <Empty title="You cannot see calls here">{why}</Empty>;
}

function Live() {
  const [filters, change] = useUrlFilters(filterNames);
  const { agent, sub, tool, outcome } = filters;
  const wanted = useMemo(() => outcomesIn(outcome), [outcome]);
  // A change of a filter begins with an empty tail.
  const tail = useMemo(
    () => createTail((one) => wanted.length === 0 || wanted.includes(one), requestAnimationFrame),
    [agent, sub, tool, wanted],
  );
  const hold = useHold(tail);
  const { state, recent } = useEntries(tail, filters, hold.isPaused);
  useHotkeys([
    ['p', () => isDialogOpen() || hold.toggle()],
    ['Escape', () => isDialogOpen() || hold.release()],
  ]);
  const suggest = (field: 'agent' | 'sub' | 'tool') => () => tail.view().rows.map((row) => row[field]);
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Group gap="sm" align="baseline">
          <Title order={1} size="h3">
            Live
          </Title>
          <Connection state={state} />
        </Group>
        <Group gap="xs">
          <Held tail={tail} isPaused={hold.isPaused} release={hold.release} />
          <Button size="xs" variant={hold.isPaused ? 'filled' : 'default'} onClick={hold.toggle} aria-pressed={hold.isPaused}>
            {hold.isPaused ? 'Continue' : 'Pause'}
          </Button>
        </Group>
      </Group>
      <SimpleGrid cols={3} spacing="xs">
        <FilterField label="Agent" value={agent} onApply={(value) => change({ agent: value })} suggest={suggest('agent')} />
        <FilterField label="User" value={sub} onApply={(value) => change({ sub: value })} suggest={suggest('sub')} />
        <FilterField label="Tool" value={tool} onApply={(value) => change({ tool: value })} suggest={suggest('tool')} />
      </SimpleGrid>
      <Outcomes tail={tail} wanted={wanted} onChange={(next) => change({ outcome: next.join(',') })} />
      <Loaded query={recent} what="The recent calls could not be read" height={400}>
        {() => <Rows tail={tail} hold={hold} isFiltered={isFiltered} />}
      </Loaded>
    </Stack>
  );
}

/** Only what shows the tail is made again when it changes. */
const useTail = (tail: Tail): TailView => useSyncExternalStore(tail.subscribe, tail.view);

interface RowsProps {
  readonly tail: Tail;
  readonly hold: Hold;
  readonly isFiltered: boolean;
}

function Rows({ tail, hold, isFiltered }: RowsProps) {
  const { rows } = useTail(tail);
  const [active, setActive] = useState<string | null>(null);
  if (rows.length === 0) return <NoCalls isFiltered={isFiltered} hours={recentHours} />;
  return (
    <CallsList
      label="Calls, newest first"
      rows={rows}
      active={active}
      onActive={(requestId) => {
        setActive(requestId);
        hold.onActive(requestId !== null);
      }}
      onScrolled={hold.onScrolled}
      onPointer={hold.onPointer}
      top={hold.top}
      height="max(360px, calc(100dvh - 256px))"
      end={
        <Text size="xs" c="var(--quiet)" p="xs">
          {rows.length >= rowsMax ? `The newest ${rowsMax} calls. Older ones: page Audit.` : 'Older calls: page Audit.'}
        </Text>
      }
    />
  );
}

interface OutcomesProps {
  readonly tail: Tail;
  readonly wanted: readonly Outcome[];
  readonly onChange: (wanted: readonly Outcome[]) => void;
}

function Outcomes({ tail, wanted, onChange }: OutcomesProps) {
  return <OutcomeFilter counts={countsOf(useTail(tail).rows)} wanted={wanted} onChange={onChange} />;
}

const outcomesIn = (text: string | undefined): readonly Outcome[] => {
  const names = (text ?? '').split(',');
  return outcomes.filter((outcome) => names.includes(outcome));
};

function countsOf(rows: readonly CallRow[]): Readonly<Record<Outcome, number>> {
  const counts = { allow: 0, redact: 0, ask: 0, limit: 0, deny: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}

interface Hold {
  readonly isPaused: boolean;
  readonly toggle: () => void;
  /** Lets rows flow, whatever held them. */
  readonly release: () => void;
  readonly onActive: (isActive: boolean) => void;
  readonly onScrolled: (offset: number) => void;
  readonly onPointer: () => void;
  /** Changes when the list must show its first row. */
  readonly top: number;
}

const pointerMs = 2_000;

/** Rows do not move under a reader: they are held by the button, while the list is scrolled, a row is chosen, or the pointer moves. */
function useHold(tail: Tail): Hold {
  const [isPaused, setPaused] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  const [isChosen, setChosen] = useState(false);
  const [isPointed, setPointed] = useState(false);
  const [top, setTop] = useState(0);
  const pointed = useTimeout(() => setPointed(false), pointerMs);
  const isHeld = isPaused || isScrolled || isChosen || isPointed;
  useEffect(() => tail.hold(isHeld), [tail, isHeld]);
  const release = (): void => {
    setPaused(false);
    setScrolled(false);
    setChosen(false);
    setPointed(false);
    setTop((before) => before + 1);
  };
  return {
    isPaused,
    top,
    onPointer: () => {
      setPointed(true);
      pointed.clear();
      pointed.start();
    },
    toggle: () => (isPaused ? release() : setPaused(true)),
    release,
    onActive: setChosen,
    onScrolled: (offset) => setScrolled(offset > 4),
  };
}

type Entry = Schemas['AuditEntry'];

/** Fills the tail: with recent calls at each new connection, and with the stream. */
function useEntries(tail: Tail, { agent, sub, tool, outcome }: Filters<(typeof filterNames)[number]>, isPaused: boolean) {
  const { api, workspace } = useSession();
  const queries = useQueryClient();
  const narrowed = { ...(agent && { agent }), ...(sub && { sub }), ...(tool && { tool }) };
  const key = ['live', workspace, narrowed, outcome];
  const recent = useQuery({
    queryKey: key,
    queryFn: async () => {
      const since = new Date(Date.now() - recentHours * 3_600_000).toISOString();
      const wanted = outcomesIn(outcome);
      const decision = wanted.length === 0 || wanted.includes('allow') || wanted.includes('redact') ? {} : { decision: 'deny' as const };
      const query = { since, limit: recentMax, ...narrowed, ...decision };
      const { entries } = await read(api.GET('/{workspace}/admin/audit', { params: { path: { workspace }, query } }));
      return entries;
    },
    // The stream continues it.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { data } = recent;
  useEffect(() => {
    if (data !== undefined) tail.addRecorded(data);
  }, [data, tail]);
  // A browser opens six connections to a host at most, for all its tabs. A tab that is not seen leaves its own to others.
  const isSeen = useDocumentVisibility() === 'visible' || isPaused;
  const url = `/${workspace}/admin/audit/stream?${new URLSearchParams(narrowed).toString()}`;
  const state = useStream(
    isSeen ? url : null,
    'entry',
    (line) => {
      const entry = entryOf(line);
      if (entry !== null) tail.take(entry);
    },
    // Entries that arrived before this connection are not in the stream.
    () => void queries.invalidateQueries({ queryKey: key }),
  );
  useEffect(() => {
    // The stream also ends when the session ends. It cannot say so; the session's own request can.
    if (state === 'lost') void queries.invalidateQueries({ queryKey: sessionKey });
  }, [state, queries]);
  return { state, recent };
}

function entryOf(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return null;
  }
}

const connectionWords: Readonly<Record<StreamState, readonly [sign: string, words: string, colour: string]>> = {
  live: ['●', 'connected', 'var(--outcome-allow)'],
  connecting: ['◌', 'connecting', 'var(--quiet)'],
  lost: ['✕', 'connection lost; trying again', 'var(--outcome-deny)'],
};

function Connection({ state }: { readonly state: StreamState }) {
  const [sign, words, colour] = connectionWords[state];
  return (
    <Text size="sm" role="status" c={colour}>
      <span aria-hidden="true">{sign}</span> {words}
    </Text>
  );
}

interface HeldProps {
  readonly tail: Tail;
  readonly isPaused: boolean;
  readonly release: () => void;
}

/** What arrived while rows are held. */
function Held({ tail, isPaused, release }: HeldProps) {
  const { held, isHeld } = useTail(tail);
  if (!isHeld) return null;
  if (held === 0)
    return (
      <Text size="sm" c="var(--quiet)">
        {isPaused ? 'paused' : 'held while you look'}
      </Text>
    );
  return (
    <Button size="xs" variant="light" onClick={release}>
      {held.toLocaleString()} new ↑
    </Button>
  );
}
