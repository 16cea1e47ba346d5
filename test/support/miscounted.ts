// Compares the counts of the statistics with the stored entries. It counts the entries by another query than the control
// plane does.

/** Each table is read once, and at one moment. */
const tables = `call as materialized (
    select workspace_id, ts, decision,
      coalesce(entry ->> 'transform', '') = 'redact' and jsonb_array_length(coalesce(entry -> 'findings', '[]')) > 0 as redacted,
      coalesce(entry ->> 'code', '') as code, tool, agent_name
    from audit_entry where entry ->> 'hookEvent' = 'PreToolUse'),
  finding as materialized (
    select workspace_id, ts, found ->> 'kind' as kind, (found ->> 'count')::numeric as n
    from audit_entry, jsonb_array_elements(coalesce(entry -> 'findings', '[]')) found where entry ->> 'transform' = 'redact'),
  counted_call as materialized (select * from decision_count),
  counted_finding as materialized (select * from finding_count)`;

const spans = [
  { slots: 60, row: 'hour', slot: 'minute' },
  { slots: 24, row: 'day', slot: 'hour' },
] as const;

interface Comparison {
  readonly what: string;
  /** SQL with the same columns of both sides. */
  readonly counted: string;
  readonly stored: string;
}

const slotsOf = (table: string, columns: string, { slots, slot }: (typeof spans)[number]): string =>
  `select workspace_id, at + (place - 1) * interval '1 ${slot}', ${columns}, n::numeric
   from ${table}, unnest(counts) with ordinality as slot (n, place) where slots = ${slots} and n > 0`;

const rowsOf = (table: string, columns: string, { slots }: (typeof spans)[number]): string =>
  `select workspace_id, at, ${columns}, total::numeric, first_at, last_at from ${table} where slots = ${slots}`;

const comparisons = spans.flatMap((span) => {
  const of = (what: string, columns: string, sum: string): readonly Comparison[] => [
    {
      what: `${what} by ${span.slot}`,
      counted: slotsOf(`counted_${what}`, columns, span),
      stored: `select workspace_id, date_trunc('${span.slot}', ts, 'UTC'), ${columns}, ${sum}::numeric from ${what} group by workspace_id, 2, ${columns}`,
    },
    {
      what: `${what} of the ${span.row}`,
      counted: rowsOf(`counted_${what}`, columns, span),
      stored: `select workspace_id, date_trunc('${span.row}', ts, 'UTC'), ${columns}, ${sum}::numeric, min(ts), max(ts) from ${what}
       group by workspace_id, 2, ${columns}`,
    },
  ];
  return [...of('call', 'decision, redacted, code, tool, agent_name', 'count(*)'), ...of('finding', 'kind', 'sum(n)')];
});

/** SQL: both sides, each computed once, and the rows that only one of them has. */
const sides = comparisons.map(
  ({ counted, stored }, at) => `counted_${at} as materialized (${counted}), stored_${at} as materialized (${stored})`,
);
const differences = comparisons.map(
  ({ what }, at) => `select '${what}: only counted' as what, one::text as row from (table counted_${at} except table stored_${at}) one
   union all select '${what}: only stored', one::text from (table stored_${at} except table counted_${at}) one`,
);
const text = `with ${[tables, ...sides].join(', ')} ${differences.join(' union all ')} limit 20`;

interface Difference {
  readonly what: string;
  readonly row: string;
}

/** Returns where counts and entries differ, at one moment. All findings of the entries must be valid. */
export async function miscounted(query: (text: string) => Promise<readonly Difference[]>): Promise<readonly string[]> {
  const rows = await query(text);
  return rows.map(({ what, row }) => `${what}: ${row}`);
}
