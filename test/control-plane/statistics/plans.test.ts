// How PostgreSQL reads the counts of a long time: each request reads the rows of its time only, by the primary key.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { QueryConfig } from 'pg';
import { daysBetween, ensureDays } from '../../../control-plane/audit/store/partitions.ts';
import { calledToolsQuery, decisionsQuery, unknownAgentsQuery } from '../../../control-plane/statistics/store/read-counts.ts';
import type { DecisionsQuery } from '../../../control-plane/statistics/rules/stats-query.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const days = 30;
const keys = 70;
const end = new Date('2026-06-25T00:00:00Z');
const before = (hours: number): Date => new Date(end.getTime() - hours * 3_600_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const client = await database.pool.connect();
  await client.query('begin');
  await ensureDays(client, daysBetween(before(24 * days), end));
  await client.query('commit');
  client.release();
  // 52,500 rows of each of two workspaces: as many as ten million entries make, if each of 70 kinds of call occurs in each hour.
  await database.pool.query(
    `insert into decision_count
     select workspace_id, at, slots, md5(n::text)::uuid, 'allow', false, 'allowed', 'tool ' || n, 'agent ' || n % 20,
       array_fill(2, array[slots]), slots * 2, at, at
     from (select 60::smallint as slots, generate_series($1::timestamptz, $2::timestamptz - interval '1 hour', '1 hour') as at
       union all select 24::smallint, generate_series($1::timestamptz, $2::timestamptz - interval '1 day', '1 day')) span,
       generate_series(1, ${keys}) n, generate_series(1, 2) workspace_id`,
    [before(24 * days), end],
  );
  await database.pool.query('vacuum analyze decision_count');
}, 120_000);
afterAll(() => database.close());

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
}

const nodesOf = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Returns the number of rows of counts that the query read, and from how many partitions. */
async function reads({ text, values = [] }: QueryConfig): Promise<{ rows: number; partitions: number }> {
  const { rows } = await database.pool.query(`explain (analyze, format json) ${text}`, values);
  const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan);
  const scans = nodes.filter((node) => node['Relation Name']?.startsWith('decision_count') === true);
  // The table of a day without calls is empty.
  for (const scan of scans.filter((node) => node['Actual Rows'] > 0)) {
    expect(scan['Node Type']).toMatch(/^(?:Index Scan|Bitmap Heap Scan)$/);
    expect(scan['Rows Removed by Filter'] ?? 0).toBe(0);
  }
  for (const { 'Index Cond': condition } of nodes.filter((node) => node['Index Name']?.startsWith('decision_count') === true))
    expect(condition).toMatch(/workspace_id = .*slots = .*at >= /);
  return { rows: scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0), partitions: scans.length };
}

const question = (range: DecisionsQuery['range'], by: DecisionsQuery['by'] = 'tool'): DecisionsQuery => ({
  range,
  by,
  filters: {},
  top: 10,
  after: null,
});

test.each([
  ['an hour by minutes', question({ every: 'minute', since: before(1), until: end }), { rows: keys, partitions: 1 }],
  ['three hours by minutes', question({ every: 'minute', since: before(200), until: before(197) }), { rows: 3 * keys, partitions: 1 }],
  ['parts of two hours', question({ every: 'minute', since: before(1.5), until: before(0.5) }), { rows: 2 * keys, partitions: 1 }],
  ['eight days by hours', question({ every: 'hour', since: before(8 * 24), until: end }), { rows: 8 * keys, partitions: 8 }],
  ['thirty days', question({ every: 'day', since: before(30 * 24), until: end }, 'outcome'), { rows: 30 * keys, partitions: 30 }],
])('%s', async (_name, query, read) => {
  expect(await reads(decisionsQuery(1, query))).toEqual(read);
});

test('agents that are not registered', async () => {
  expect(await reads(unknownAgentsQuery(1, { since: before(7 * 24), limit: 10, after: null }))).toEqual({
    rows: 7 * keys,
    partitions: 7 + 1,
  });
});

test('tools that were called', async () => {
  expect(await reads(calledToolsQuery(1, { since: before(7 * 24), after: null, limit: 10 }))).toEqual({
    rows: 7 * keys,
    partitions: 7 + 1,
  });
});
