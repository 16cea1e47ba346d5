// Reads what was counted. Each query reads, by the primary key, the rows of its time only: however long the log is.
import type pg from 'pg';
import { limitCodes } from '../../audit/rules/outcome.ts';
import { bucketMs, downTo, type Range } from '../rules/range.ts';
import type { CallersQuery, DecisionFilters, DecisionsQuery, Dimension, GroupPosition, RedactionsQuery } from '../rules/stats-query.ts';
import { queryPatiently } from '../../database/patience.ts';

interface Bucket {
  readonly at: Date;
  readonly count: number;
}

interface Group extends GroupPosition {
  readonly lastAt: Date;
  readonly counts: readonly Bucket[];
}

export interface Groups {
  /** Of all groups. */
  readonly total: number;
  readonly groups: readonly Group[];
  /** All groups after those. */
  readonly rest: { readonly values: number; readonly total: number; readonly counts: readonly Bucket[] };
}

// The same rule as `outcomeOf`.
const outcome = `case when decision = 'allow' then case when redacted then 'redact' else 'allow' end
  when code like 'approval%' and code <> 'approval_denied' then 'ask'
  when code in (${limitCodes.map((code) => `'${code}'`).join(', ')}) or code like 'cap\\_%' then 'limit' else 'deny' end`;

const columnOf: Readonly<Record<Dimension, string>> = {
  outcome: `(${outcome}) collate "C"`,
  decision: 'decision',
  tool: 'tool',
  agent: 'agent_name',
  reason: 'code',
};

const names = Object.keys(columnOf) as readonly Dimension[];

export function readDecisions(pool: pg.Pool, workspaceId: number, query: DecisionsQuery): Promise<Groups> {
  return readGroups(pool, decisionsQuery(workspaceId, query), query.range);
}

export function decisionsQuery(workspaceId: number, { by, filters, ...page }: DecisionsQuery): ReturnType<typeof groupsQuery> {
  return groupsQuery({ table: 'decision_count', value: columnOf[by], workspaceId, filters }, page);
}

export function readRedactions(pool: pg.Pool, workspaceId: number, query: RedactionsQuery): Promise<Groups> {
  return readGroups(pool, groupsQuery({ table: 'finding_count', value: 'kind', workspaceId, filters: {} }, query), query.range);
}

interface Counted {
  readonly table: 'decision_count' | 'finding_count';
  readonly value: string;
  readonly workspaceId: number;
  readonly filters: DecisionFilters;
}

/** Minutes are the slots of rows of an hour. Hours are those of rows of a day, and days are these rows. */
const shapeOf = {
  minute: { slots: 60, row: 'hour', sums: 60 },
  hour: { slots: 24, row: 'day', sums: 24 },
  day: { slots: 24, row: 'day', sums: 1 },
} as const;

function groupsQuery({ table, value, workspaceId, filters }: Counted, { range, top, after }: RedactionsQuery) {
  const { slots, row, sums } = shapeOf[range.every];
  const values: unknown[] = [
    workspaceId,
    downTo(range.since, row),
    range.since,
    range.until,
    top,
    after?.total ?? null,
    after?.value ?? null,
  ];
  const wanted = names.flatMap((name) => (filters[name] === undefined ? [] : [`and ${columnOf[name]} = $${values.push(filters[name])}`]));
  // The first and the last row can be partly outside of the range. Of them, only the slots within it count.
  const slotSeconds = bucketMs[row] / slots / 1_000;
  const placeOf = (instant: string): string => `(extract(epoch from ${instant}::timestamptz - at) / ${slotSeconds})::integer`;
  const within = `counts[greatest(1, ${placeOf('$3')} + 1):least(${slots}, ${placeOf('$4')})]`;
  const isWhole = `at >= $3 and at + interval '1 ${row}' <= $4`;
  const summed =
    sums === 1 ? 'array[sum(cell.total)]' : `array[${Array.from({ length: sums }, (_, at) => `sum(counts[${at + 1}])`).join(', ')}]`;
  const text = `with cell as materialized (
      select ${value} as value, at, total, counts,
        case when ${isWhole} then total else coalesce((select sum(n) from unnest(${within}) n), 0) end as part,
        case when last_at < $4 then last_at else at + interval '${slotSeconds} seconds'
          * (${slots} - 1 - (select min(place) from generate_series(0, ${slots} - 1) place
             where counts[${slots} - place] > 0 and at + interval '${slotSeconds} seconds' * (${slots} - place - 1) < $4)) end as last_at
      from ${table} where workspace_id = $1 and slots = ${slots} and at >= $2 and at < $4 ${wanted.join(' ')}),
    grouped as (
      select value, sum(part)::bigint as total, max(last_at) filter (where part > 0) as last_at from cell group by value having sum(part) > 0),
    remaining as (select * from grouped where $6::bigint is null or total < $6 or (total = $6 and value > $7)),
    shown as (select * from remaining order by total desc, value limit $5),
    series as (
      select shown.value, shown.total, shown.last_at, cell.at, ${summed}::bigint[]::text as counts
      from cell join remaining using (value) left join shown using (value) group by shown.value, shown.total, shown.last_at, cell.at)
    select (select coalesce(sum(total), 0) from grouped) as all_total,
      (select count(*) from remaining) - (select count(*) from shown) as rest_values,
      (select coalesce(sum(total), 0) from remaining) - (select coalesce(sum(total), 0) from shown) as rest_total, series.*
    from (select) one left join series on true order by series.total desc nulls last, series.value, series.at`;
  return { text, values };
}

interface GroupRow {
  readonly all_total: string;
  readonly rest_values: string;
  readonly rest_total: string;
  /** Null: of the rest, if there is a time. */
  readonly value: string | null;
  readonly total: string | null;
  readonly last_at: Date | null;
  readonly at: Date | null;
  readonly counts: string | null;
}

async function readGroups(pool: pg.Pool, query: ReturnType<typeof groupsQuery>, range: Range): Promise<Groups> {
  const rows = await queryPatiently<GroupRow>(pool, query);
  const groups: (Group & { readonly counts: Bucket[] })[] = [];
  const rest: Bucket[] = [];
  for (const row of rows) {
    const buckets = bucketsOf(row, range);
    if (row.value === null || row.last_at === null) rest.push(...buckets);
    else if (groups.at(-1)?.value === row.value) groups.at(-1)?.counts.push(...buckets);
    else groups.push({ value: row.value, total: Number(row.total), lastAt: row.last_at, counts: buckets });
  }
  const [first] = rows;
  return {
    total: Number(first?.all_total ?? 0),
    groups,
    rest: { values: Number(first?.rest_values ?? 0), total: Number(first?.rest_total ?? 0), counts: rest },
  };
}

/** Returns the buckets of a row that are in the range and have calls. */
function bucketsOf({ at, counts }: GroupRow, { every, since, until }: Range): Bucket[] {
  if (at === null || counts === null) return [];
  const buckets: Bucket[] = [];
  for (const [place, text] of counts.slice(1, -1).split(',').entries()) {
    const ms = at.getTime() + place * bucketMs[every];
    if (text !== '0' && ms >= since.getTime() && ms < until.getTime()) buckets.push({ at: new Date(ms), count: Number(text) });
  }
  return buckets;
}

export interface Caller {
  readonly name: string;
  readonly calls: number;
  readonly denied: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Returns at most `limit + 1` agents that called since then and are not registered, the one with the newest call first. */
export async function readUnknownAgents(pool: pg.Pool, workspaceId: number, query: CallersQuery): Promise<readonly Caller[]> {
  const rows = await queryPatiently<{ agent_name: string; calls: string; denied: string; first_at: Date; last_at: Date }>(
    pool,
    unknownAgentsQuery(workspaceId, query),
  );
  return rows.map((row) => ({
    name: row.agent_name,
    calls: Number(row.calls),
    denied: Number(row.denied),
    firstAt: row.first_at,
    lastAt: row.last_at,
  }));
}

// A call of no agent is not a call of an unknown agent. The names of agents are hashed once (`not in`): with `not exists`, and
// statistics that are older than thousands of new agents, PostgreSQL reads all agents for each row.
export function unknownAgentsQuery(workspaceId: number, { since, limit, after }: CallersQuery) {
  return {
    text: `select agent_name, sum(total) as calls, coalesce(sum(total) filter (where decision = 'deny'), 0) as denied,
        min(first_at) as first_at, max(last_at) as last_at
      from decision_count where workspace_id = $1 and slots = 24 and at >= $2 and agent_name <> ''
        and agent_name not in (select name from agent where agent.workspace_id = $1)
      group by agent_name
      having $4::timestamptz is null or max(last_at) < $4 or (max(last_at) = $4 and agent_name > $5)
      order by max(last_at) desc, agent_name limit $3`,
    values: [workspaceId, since, limit + 1, after?.lastAt ?? null, after?.name ?? null],
  };
}

/** The time of which called tools are listed. */
interface CalledQuery {
  /** The start of a UTC day. */
  readonly since: Date;
  /** Only tools after this one; null: from the first. */
  readonly after: string | null;
  readonly limit: number;
}

/** Returns the tools that were called since then, each once, in the order of their UTF-8 bytes. A call without a name is left out. */
export async function listCalledTools(pool: pg.Pool, workspaceId: number, query: CalledQuery): Promise<readonly string[]> {
  const rows = await queryPatiently<{ tool: string }>(pool, calledToolsQuery(workspaceId, query));
  return rows.map(({ tool }) => tool);
}

export function calledToolsQuery(workspaceId: number, { since, after, limit }: CalledQuery) {
  return {
    text: `select distinct tool from decision_count where workspace_id = $1 and slots = 24 and at >= $2 and tool > $3 order by tool limit $4`,
    values: [workspaceId, since, after ?? '', limit],
  };
}
