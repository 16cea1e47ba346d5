// What a search asks the API for.
import { useQuery } from '@tanstack/react-query';
import type { paths } from '../api/schema.d.ts';
import { fetchStats, type StatsQuery } from '../api/stats.ts';
import { useSession } from '../app/session.tsx';
import type { AuditFilterValues } from './filters.tsx';
import type { TimeRange } from './time-range.ts';

/** The query of the API. */
export type AuditQuery = NonNullable<paths['/{workspace}/admin/audit']['get']['parameters']['query']>;

/** The filters that the API has under the same names. */
export function apiFilters({ tool, decision, agent, sub, session, reason }: AuditFilterValues): Omit<AuditQuery, 'limit' | 'since'> {
  return {
    ...(tool && { tool }),
    ...((decision === 'allow' || decision === 'deny') && { decision }),
    ...(agent && { agent }),
    ...(sub && { sub }),
    ...(session && { session }),
    ...(reason && { reason }),
  };
}

/** The filters that counts have too: not those of a user and a session. */
export function countFilters(filters: AuditFilterValues): StatsQuery {
  const { sub: _sub, session: _session, ...counted } = apiFilters(filters);
  return counted;
}

export function useCounts(filters: AuditFilterValues, { since, until }: TimeRange) {
  const { api, workspace } = useSession();
  const query: StatsQuery = { by: 'outcome', ...countFilters(filters), since, ...(until !== null && { until }) };
  return useQuery({ queryKey: ['counts', workspace, query], queryFn: () => fetchStats(api, workspace, query) });
}
