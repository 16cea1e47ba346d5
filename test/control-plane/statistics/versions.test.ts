// Counts of entries that were not counted when they were stored: those from before the migration, and those that a
// version without statistics stores during a rolling update. They are counted in SQL, by the same rules.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { maintainPartitions } from '../../../control-plane/audit/operations/maintain-partitions.ts';
import { migrate } from '../../../control-plane/database/migrate.ts';
import { catchUpCounts } from '../../../control-plane/statistics/operations/catch-up.ts';
import { undoMigrationsFrom } from '../../support/undo-migrations.ts';
import { createRest, type Rest } from '../rest.ts';
import { entry, records, ship, spool } from '../spool.ts';

const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? randomBytes(4).readUInt32BE());
const migration = '0033_decision_count';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const aFinding = fc.oneof(
  fc.record({
    kind: fc.oneof(
      fc.constantFrom('email', 'é\u{1f600}', '', 'k'.repeat(256), 'k'.repeat(257), 'é'.repeat(128), 'é'.repeat(129), 'tab\tquote"'),
      fc.jsonValue({ maxDepth: 0 }),
    ),
    count: fc.oneof(fc.constantFrom(1, 3, 0, -1, 1.5, 1e6, 1e6 + 1, 1e300, '2', true, null), fc.integer()),
  }),
  fc.jsonValue({ maxDepth: 1 }),
);

/** Fields as no sidecar of ours would write them. */
const oddFields = fc.record({
  hookEvent: fc.constantFrom('PreToolUse', 'PostToolUse', 'Other', 1),
  code: fc.oneof(
    fc.constantFrom('allowed', 'Allowed', 'policy denied', '', 7, ['allowed'], 'c'.repeat(64), 'c'.repeat(65), 'a\n'),
    fc.jsonValue({ maxDepth: 0 }),
  ),
  transform: fc.constantFrom('redact', 'redact', 'log', 'Redact', ['redact'], 7),
  findings: fc.oneof(
    fc.array(aFinding, { maxLength: 5 }),
    fc.array(aFinding, { minLength: 30, maxLength: 40 }),
    fc.jsonValue({ maxDepth: 1 }),
  ),
  decision: fc.constantFrom('allow', 'deny', 'maybe'),
  tool: fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom('t'.repeat(513), 7, 'a\u0001b', '\ud800')),
  agentName: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constant('bot')),
  ts: fc.constantFrom(
    '2026-06-25T11:59:59.999Z',
    '2026-06-25T12:00:00.000+02:00',
    '2026-06-24T00:00:00.000Z',
    '2026-06-01T10:10:10.010Z',
    'never',
  ),
  input: fc.oneof({ weight: 20, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.constant({ long: 'x'.repeat(70_000) }) }),
});

const shipOdd = async (letter: string, count: number): Promise<unknown> => {
  const drawn = fc.sample(oddFields, { numRuns: count, seed: seed + letter.charCodeAt(0) });
  return ship(
    rest,
    spool(letter),
    records(1, count, (n) => (n % 17 === 0 ? 'no JSON' : { ...entry(), ...drawn[n - 1] })),
  );
};

const tables = ['decision_count', 'finding_count', 'count_head'];
const counts = (): Promise<readonly unknown[]> =>
  Promise.all(tables.map(async (table) => (await rest.pool.query(`select one::text from ${table} one order by 1`)).rows));

test('entries of before the migration are counted by the job as they are counted when they are stored, whatever is in them', async () => {
  await shipOdd('a', 400);
  await shipOdd('b', 200);
  await ship(rest, spool('c'), records(1, 3), 'other');
  const before = await counts();
  expect(before.map((rows) => Object(rows).length > 1)).toEqual([true, true, true]);
  await undoMigrationsFrom(rest.pool, migration);
  await migrate(rest.pool.options);
  expect(await counts()).toEqual([[], [], []]);
  await catchUpCounts(rest.deps);
  expect(await counts(), `seed ${seed}`).toEqual(before);
  // Days that are created after it have their partitions, too.
  await ship(
    rest,
    spool('d'),
    records(1, 2, () => entry({ ts: '2026-05-05T10:00:00.000Z' })),
  );
  expect((await rest.pool.query("select from decision_count where at = '2026-05-05T10:00:00Z'")).rowCount).toBe(1);
});

/** Stores entries again under new numbers, as a version without statistics does. */
async function storeUncounted(): Promise<void> {
  await rest.pool.query(
    `with again as (
       insert into audit_entry select workspace_id, ts, spool_id, sequence + 1000, head.ingest + row_number() over (), received_at, tool, decision,
         agent_name, sub, session_id, entry, digest
       from audit_entry join audit_head head using (workspace_id) where workspace_id = (select id from workspace where slug = 'acme')
       returning workspace_id)
     update audit_head set ingest = ingest + (select count(*) from again) where workspace_id = (select workspace_id from again limit 1)`,
  );
}

test('what a version without statistics stores is counted by the job, and meanwhile nothing is counted twice', async () => {
  await shipOdd('a', 300);
  await storeUncounted();
  await shipOdd('b', 100);
  await Promise.all([catchUpCounts(rest.deps), catchUpCounts(rest.deps)]);
  const caughtUp = await counts();
  await shipOdd('c', 50);
  const after = await counts();
  expect(after).not.toEqual(caughtUp);
  // All are counted again, from the first.
  await rest.pool.query('truncate decision_count, finding_count, count_head');
  await catchUpCounts(rest.deps);
  expect(await counts(), `seed ${seed}`).toEqual(after);
  const { rows } = await rest.pool.query(
    "select sum(total)::int as total, (select count(*)::int from audit_entry where entry->>'hookEvent' = 'PreToolUse') as stored from decision_count where slots = 24",
  );
  expect(rows[0].total).toBe(rows[0].stored);
});

test('a day that a version without statistics has created or dropped gets its counts, or loses them', async () => {
  const log = { warn: () => undefined, error: () => undefined };
  const late = () => entry({ ts: '2026-06-10T10:00:00.000Z' });
  await ship(rest, spool('a'), records(1, 2, late));
  await rest.pool.query('drop table decision_count_20260610, finding_count_20260610');
  await ship(rest, spool('b'), records(1, 3, late));
  const counted = async () => (await rest.pool.query("select total from decision_count where at::date = '2026-06-10' order by slots")).rows;
  expect(await counted()).toEqual([{ total: 3 }, { total: 3 }]);
  // It is created again with the counts of its own entries only.
  await rest.pool.query('drop table audit_entry_20260610');
  await ship(rest, spool('c'), records(1, 1, late));
  expect(await counted()).toEqual([{ total: 1 }, { total: 1 }]);
  await rest.pool.query('drop table audit_entry_20260610');
  await maintainPartitions({ ...rest.deps, log }, 90);
  expect(await counted()).toEqual([]);
  expect((await rest.pool.query("select from pg_class where relname like '%_count_20260610'")).rowCount).toBe(0);
});
