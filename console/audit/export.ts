// The download of what a search finds: its address, and what is said about it.
import type { AuditFilterValues } from './filters.tsx';
import { apiFilters } from './search.ts';
import type { TimeRange } from './time-range.ts';

export function exportAddress(workspace: string, filters: AuditFilterValues, { since, until }: TimeRange): string {
  const query = new URLSearchParams({ ...apiFilters(filters), since, ...(until !== null && { until }) });
  return `/${workspace}/admin/audit/export?${query.toString()}`;
}

const names = { tool: 'tool', decision: 'decision', agent: 'agent', sub: 'user', session: 'session', reason: 'reason' } as const;
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const momentOf = (at: string): string => (Number.isNaN(Date.parse(at)) ? at : moment.format(new Date(at)));

/** What is in the file. `calls`: how many; undefined: not known. */
export function exportWords(filters: AuditFilterValues, { since, until }: TimeRange, calls: number | undefined): string {
  const set = Object.entries(apiFilters(filters)).map(([name, value]) => `${names[name as keyof typeof names]} ${value}`);
  const isCounted = calls !== undefined && filters.sub === undefined && filters.session === undefined;
  return [
    'One JSON object for each entry, one in each line.',
    `${set.length === 0 ? 'No filter' : `Only ${set.join(', ')}`}, from ${momentOf(since)} until ${until === null ? 'now' : momentOf(until)}.`,
    ...(isCounted
      ? [`${calls === 1 ? '1 call' : `${calls.toLocaleString()} calls`}, each with its decision, and its result if it was made.`]
      : []),
  ].join(' ');
}
