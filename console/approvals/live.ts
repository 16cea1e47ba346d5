// Reads approvals, and keeps what was read up to date by the stream of changes.
import { keepPreviousData, type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { read } from '../api/client.ts';
import { type StreamState, useStream } from '../api/stream.ts';
import { useSession } from '../app/session.tsx';
import type { Approval, State, WholeApproval } from './state.tsx';

/** Filters of the list, as the API names them. Absent: any. */
export interface Filters {
  readonly state?: State;
  readonly tool?: string;
  readonly agent?: string;
  readonly sub?: string;
  readonly session?: string;
  readonly mine?: 'true';
}

const pageLimit = 50;
const all = ['approvals'] as const;
const pendingKey = [...all, 'pending'] as const;
const oneKey = (id: string) => [...all, 'one', id] as const;

interface Pending {
  readonly approvals: readonly Approval[];
  /** There are more than the page holds. */
  readonly isCut: boolean;
}

const pendingLimit = 200;

const missedMs = 60_000;

/** `everyMs`: how often they are read again. On the pages of approvals the stream says sooner what changed. */
export function usePending(everyMs = missedMs) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: pendingKey,
    queryFn: async (): Promise<Pending> => {
      const params = { path: { workspace }, query: { state: 'pending', limit: pendingLimit } } as const;
      const { approvals, next } = await read(api.GET('/{workspace}/admin/approvals', { params }));
      return { approvals: approvals.toSorted(oldestFirst), isCut: next !== undefined };
    },
    enabled: may('admin.approvals').why === null,
    refetchInterval: everyMs,
  });
}

/** The oldest first: a new question appears at the end, and moves none under the pointer. */
const oldestFirst = (a: Approval, b: Approval): number => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id);

export function useHistory(filters: Filters) {
  const { api, workspace } = useSession();
  return useInfiniteQuery({
    queryKey: [...all, 'list', filters],
    queryFn: ({ pageParam }) => {
      const query = { ...filters, limit: pageLimit, ...(pageParam === '' ? {} : { cursor: pageParam }) };
      return read(api.GET('/{workspace}/admin/approvals', { params: { path: { workspace }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
}

export const approvalQuery = ({ api, workspace }: Pick<ReturnType<typeof useSession>, 'api' | 'workspace'>, id: string) => ({
  queryKey: oneKey(id),
  queryFn: () => read(api.GET('/{workspace}/admin/approvals/{id}', { params: { path: { workspace, id } } })),
});

export const useApproval = (id: string) => useQuery(approvalQuery(useSession(), id));

/** Keeps every list and every approval that is shown up to date. */
export function useChanges(): StreamState {
  const { workspace, may } = useSession();
  const queries = useQueryClient();
  const url = may('admin.approvals').why === null ? `/${workspace}/admin/approvals/stream` : null;
  return useStream(
    url,
    'approval',
    (text) => apply(queries, JSON.parse(text) as Approval),
    (again) => {
      if (again) void queries.invalidateQueries({ queryKey: all });
    },
  );
}

function apply(queries: QueryClient, changed: Approval): void {
  queries.setQueryData<Pending>(pendingKey, (before) => {
    if (before === undefined) return before;
    const others = before.approvals.filter(({ id }) => id !== changed.id);
    return { ...before, approvals: changed.state === 'pending' ? [...others, changed].toSorted(oldestFirst) : others };
  });
  queries.setQueryData<WholeApproval>(oneKey(changed.id), (before) => (before === undefined ? before : { ...before, ...changed }));
  // Steps and the calls of the session are not in the event.
  void queries.invalidateQueries({ queryKey: oneKey(changed.id) });
  void queries.invalidateQueries({ queryKey: [...all, 'list'] });
}

export const refresh = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all });
