// Reads agents, and what the log and the counts say about them.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type Api, read, type Schemas } from '../api/client.ts';
import { fetchStats, type Stats, type StatsGroup, type StatsQuery } from '../api/stats.ts';
import { useSession } from '../app/session.tsx';

export type Agent = Schemas['Agent'];

export const periods = ['1h', '24h', '7d'] as const;
export type Period = (typeof periods)[number];
export const periodLabels: Readonly<Record<Period, string>> = { '1h': '1 h', '24h': '24 h', '7d': '7 d' };
export const periodWords: Readonly<Record<Period, string>> = { '1h': 'the last hour', '24h': 'the last 24 hours', '7d': 'the last 7 days' };
const periodMs: Readonly<Record<Period, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000 };
const sinceOf = (period: Period): string => new Date(Date.now() - periodMs[period]).toISOString();

/** All tables of the page are read again together: an agent that was registered leaves one for the other. */
const refreshMs = 30_000;
const pageLimit = 100;

export function useAgents() {
  const { api, may } = useSession();
  return useInfiniteQuery({
    queryKey: ['agents', 'list'],
    queryFn: ({ pageParam }) =>
      read(api.GET('/api/v1/agents', { params: { query: { limit: pageLimit, ...(pageParam === '' ? {} : { cursor: pageParam }) } } })),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    enabled: may('agents.read').why === null,
    refetchInterval: refreshMs,
  });
}

export function useAgent(id: string) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['agents', 'one', id],
    queryFn: async () => (await read(api.GET('/api/v1/agents/{id}', { params: { path: { id } } }))).profile,
  });
}

interface Counts {
  readonly calls: StatsGroup;
  readonly denied: number;
}

/** What is known of the calls of all agents. */
export interface AgentCounts extends Pick<Stats, 'since' | 'until' | 'every'> {
  readonly byName: ReadonlyMap<string, Counts>;
  /** There are more agents than were read: an absent one is unknown, and has not simply made no call. */
  readonly isCut: boolean;
}

const top = 50;
const countPagesMax = 20;

/** Reads all groups of a count, up to a bound. */
async function readGroups(api: Api, workspace: string, query: StatsQuery) {
  const groups: StatsGroup[] = [];
  let cursor: string | undefined;
  for (let page = 0; ; page += 1) {
    const stats = await fetchStats(api, workspace, { ...query, top, ...(cursor === undefined ? {} : { cursor }) });
    groups.push(...stats.groups);
    cursor = stats.next;
    if (cursor === undefined || page + 1 >= countPagesMax) return { stats, groups, isCut: cursor !== undefined };
  }
}

export function useAgentCounts(period: Period) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'counts', period],
    queryFn: async (): Promise<AgentCounts> => {
      const since = sinceOf(period);
      const [calls, denied] = await Promise.all([
        readGroups(api, workspace, { by: 'agent', since }),
        readGroups(api, workspace, { by: 'agent', since, outcome: 'deny' }),
      ]);
      const deniedOf = new Map(denied.groups.map(({ value, total }) => [value, total]));
      return {
        since: calls.stats.since,
        until: calls.stats.until,
        every: calls.stats.every,
        byName: new Map(calls.groups.map((group) => [group.value, { calls: group, denied: deniedOf.get(group.value) ?? 0 }])),
        isCut: calls.isCut,
      };
    },
    enabled: may('admin.audit.read').why === null,
    refetchInterval: refreshMs,
  });
}

/** What each agent has cost today, by id. Agents without a cost are absent. */
export function useSpend() {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'spend'],
    queryFn: async () => {
      const cents = new Map<string, number>();
      let cursor: string | undefined;
      for (let page = 0; page < countPagesMax; page += 1) {
        const query = cursor === undefined ? {} : { cursor };
        const spend = await read(api.GET('/{workspace}/admin/stats/spend', { params: { path: { workspace }, query } }));
        for (const one of spend.agents) cents.set(one.agentId, one.cents);
        cursor = spend.next;
        if (cursor === undefined) break;
      }
      return cents;
    },
    enabled: may('admin.audit.read').why === null,
    refetchInterval: 60_000,
  });
}

export function useUnknownAgents(period: Period) {
  const { api, workspace, may } = useSession();
  return useInfiniteQuery({
    queryKey: ['agents', 'unknown', period],
    queryFn: ({ pageParam }) => {
      const query = { since: sinceOf(period), limit: 50, ...(pageParam === '' ? {} : { cursor: pageParam }) };
      return read(api.GET('/{workspace}/admin/unknownAgents', { params: { path: { workspace }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    enabled: may('admin.audit.read').why === null,
    refetchInterval: refreshMs,
  });
}

/** How the calls of one agent ended, or which tools it called. */
export function useCountsOf(agent: string | undefined, by: 'outcome' | 'tool', period: Period) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'counts of', agent, by, period],
    queryFn: () => {
      const query = { by, since: sinceOf(period), top: 20, agent: agent ?? '' };
      return read(api.GET('/{workspace}/admin/stats/decisions', { params: { path: { workspace }, query } }));
    },
    enabled: agent !== undefined && may('admin.audit.read').why === null,
  });
}

const denialsLimit = 10;

export function useDenials(agent: string, period: Period) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'denials', agent, period],
    queryFn: () => {
      const query = { agent, decision: 'deny', since: sinceOf(period), limit: denialsLimit } as const;
      return read(api.GET('/{workspace}/admin/audit', { params: { path: { workspace }, query } }));
    },
    enabled: may('admin.audit.read').why === null,
  });
}

const chainLimit = 500;

/** Entries of the agent's own calls, and the newest of all, among which are calls of agents that it delegated to. */
export function useChains(agent: string, period: Period) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'chains', agent, period],
    queryFn: async () => {
      const since = sinceOf(period);
      const path = { workspace };
      const [own, newest] = await Promise.all([
        read(api.GET('/{workspace}/admin/audit', { params: { path, query: { agent, since, limit: chainLimit } } })),
        read(api.GET('/{workspace}/admin/audit', { params: { path, query: { since, limit: chainLimit } } })),
      ]);
      const entries = new Map([...own.entries, ...newest.entries].map((entry) => [entry.id, entry]));
      return [...entries.values()];
    },
    enabled: may('admin.audit.read').why === null,
    staleTime: 30_000,
  });
}

export function useModels() {
  const { api, may } = useSession();
  return useQuery({
    queryKey: ['models'],
    queryFn: async () => (await read(api.GET('/api/v1/models'))).models,
    enabled: may('agents.read').why === null,
    staleTime: 600_000,
  });
}

export const money = (cents: number): string => `$${(cents / 100).toFixed(2)}`;
