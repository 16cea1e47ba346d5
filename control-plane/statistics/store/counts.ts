// Stores what is counted from the entries of the log. The counts of a commit are written in its transaction, while the
// workspace's row in `audit_head` is locked, and after its entries were copied. All that writes counts does so in this
// order: `audit_head`, `audit_entry`, then the counts. So two transactions cannot wait for each other: those of one
// workspace do not overlap, those of two workspaces write different rows, and dropping a day (partitions.ts) locks
// `audit_entry` before the counts, too.
import type pg from 'pg';
import type { Slots, Tally } from '../rules/tally.ts';
import { preparedQuery } from '../../database/transaction.ts';

/** Items of a log: those after `after`, up to `upTo`. */
export interface Items {
  readonly after: number;
  readonly upTo: number;
}

const sums = (slots: Slots): string =>
  `array[${Array.from({ length: slots }, (_, at) => `one.counts[${at + 1}] + excluded.counts[${at + 1}]`).join(', ')}]`;

/** SQL that adds a row of counts to the row that is stored. It names each slot, which is faster than `unnest`. */
const addUp = `do update set counts = case excluded.slots when 24 then ${sums(24)} else ${sums(60)} end,
  total = one.total + excluded.total,
  first_at = least(one.first_at, excluded.first_at),
  last_at = greatest(one.last_at, excluded.last_at)`;

/** The columns of a new row, and what is done if there is a row already. */
export const decisionColumns = 'workspace_id, at, slots, key, decision, redacted, code, tool, agent_name, counts, total, first_at, last_at';
export const findingColumns = 'workspace_id, at, slots, kind, counts, total, first_at, last_at';
export const onDecision = `on conflict (workspace_id, slots, at, key) ${addUp}`;
export const onFinding = `on conflict (workspace_id, slots, at, kind) ${addUp}`;

// A log whose first items these are has no row in `count_head` yet.
const addText = `with head as (
  insert into count_head as one (workspace_id, ingest)
  select $1, $3 where $2 = 0 or exists (select from count_head where workspace_id = $1)
  on conflict (workspace_id) do update set ingest = excluded.ingest where one.ingest = $2
  returning ingest),
decisions as (
  insert into decision_count as one (${decisionColumns})
  select $1, at, slots, key, decision, redacted, code, tool, agent_name, counts::integer[], total, first_at, last_at
  from unnest($4::timestamptz[], $5::smallint[], $6::uuid[], $7::text[], $8::boolean[], $9::text[], $10::text[], $11::text[],
    $12::text[], $13::integer[], $14::timestamptz[], $15::timestamptz[])
    as row (at, slots, key, decision, redacted, code, tool, agent_name, counts, total, first_at, last_at)
  where exists (select from head) ${onDecision}),
findings as (
  insert into finding_count as one (${findingColumns})
  select $1, at, slots, kind, counts::bigint[], total, first_at, last_at
  from unnest($16::timestamptz[], $17::smallint[], $18::text[], $19::text[], $20::bigint[], $21::timestamptz[], $22::timestamptz[])
    as row (at, slots, kind, counts, total, first_at, last_at)
  where exists (select from head) ${onFinding})
select ingest from head`;

/**
 * Adds what was counted from the items of a commit. If earlier items are not counted yet, it counts none: then
 * `countStored` counts these, too. This transaction must have locked the log and copied its entries.
 */
export async function addCounts(
  client: pg.PoolClient,
  workspaceId: number,
  { after, upTo }: Items,
  { decisions, findings }: Tally,
): Promise<void> {
  const literal = (counts: readonly number[]): string => `{${counts.join(',')}}`;
  const values = [
    decisions.map(({ at }) => at),
    decisions.map(({ slots }) => slots),
    decisions.map(({ key }) => key),
    decisions.map(({ decision }) => decision),
    decisions.map(({ redacted }) => redacted),
    decisions.map(({ code }) => code),
    decisions.map(({ tool }) => tool),
    decisions.map(({ agentName }) => agentName),
    decisions.map(({ counts }) => literal(counts)),
    decisions.map(({ total }) => total),
    decisions.map(({ firstAt }) => firstAt),
    decisions.map(({ lastAt }) => lastAt),
    findings.map(({ at }) => at),
    findings.map(({ slots }) => slots),
    findings.map(({ kind }) => kind),
    findings.map(({ counts }) => literal(counts)),
    findings.map(({ total }) => total),
    findings.map(({ firstAt }) => firstAt),
    findings.map(({ lastAt }) => lastAt),
  ];
  await client.query(preparedQuery('add_counts', addText, [workspaceId, after, upTo, ...values]));
}
