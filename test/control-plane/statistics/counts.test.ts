// The counts of the statistics against a real PostgreSQL: they equal a count of the stored entries at each moment,
// whatever two control planes deliver, again, late or in vain, while days are dropped and connections are cut.
// `TOLLGATE_TEST_CASES` runs more steps.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditEntry } from '@tollgate/proto/contract';
import { createIngest } from '../../../control-plane/audit/operations/ingest-batch.ts';
import { maintainPartitions } from '../../../control-plane/audit/operations/maintain-partitions.ts';
import { isUnavailable } from '../../../control-plane/base/unavailable.ts';
import { createPool } from '../../../control-plane/database/pool.ts';
import { casesOf } from '../../support/case-count.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { miscounted } from '../../support/miscounted.ts';
import { batchOf, entry, lost, record } from '../spool.ts';

/** The number of steps, each of which is a delivery, a cut of all connections, or a turn of retention. */
const steps = casesOf(10_000);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? randomBytes(4).readUInt32BE());
const retentionDays = 3;
const hourMs = 3_600_000;

let database: TestDatabase;
let now = Date.parse('2026-06-25T12:00:00.000Z');
let planes: readonly { readonly pool: Pool; readonly ingest: ReturnType<typeof createIngest> }[];
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
     create trigger broken before insert on audit_entry for each row when (new.sub = 'breaks') execute function refuse()`,
  );
  planes = [1, 2].map(() => {
    const patient = { query_timeout: 20_000, connectionTimeoutMillis: 20_000, lock_timeout: 20_000 };
    const pool = createPool({ ...database.connection, ...patient, max: 2, application_name: 'plane' }, { warn: () => undefined });
    return { pool, ingest: createIngest({ pool, clock: () => new Date(now) }) };
  });
});
afterAll(async () => {
  for (const { pool } of planes) await pool.end();
  await database.close();
});

type Step =
  | {
      readonly kind: 'deliver';
      readonly plane: 0 | 1;
      readonly workspace: 0 | 1;
      readonly spool: number;
      /** This many records are sent again. */
      readonly again: number;
      readonly count: number;
      readonly breaks: boolean;
      /** Decides what the records are. */
      readonly salt: number;
    }
  | { readonly kind: 'retain'; readonly plane: 0 | 1; readonly hours: number }
  | { readonly kind: 'cut' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 60,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      plane: fc.constantFrom(0, 1),
      workspace: fc.constantFrom(0, 1),
      spool: fc.nat({ max: 3 }),
      again: fc.nat({ max: 4 }),
      count: fc.integer({ min: 1, max: 8 }),
      breaks: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      salt: fc.nat({ max: 1_000_000_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('retain' as const), plane: fc.constantFrom(0, 1), hours: fc.nat({ max: 30 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
);

const pick = <T>(of: readonly T[], by: number): T => of[by % of.length] ?? expect.fail('nothing to pick from');

const kinds = ['email', 'card_number', 'our pattern', 'é\u{1f600}'];

/** An entry that is often late, and sometimes older than all days that are kept. */
function entryOf(salt: number): AuditEntry {
  const found =
    salt % 3 === 0
      ? [{ kind: pick(kinds, salt >> 3), count: 1 + (salt % 5) }, ...(salt % 2 === 0 ? [{ kind: 'email', count: 2 }] : [])]
      : [];
  const decision = pick(['allow', 'allow', 'deny'] as const, salt >> 2);
  const agoMs = pick([0, 0, 0, 50_000, 2 * hourMs, 30 * hourMs, 24 * 9 * hourMs, -20 * hourMs], salt >> 4) + (salt % 59_999);
  return entry({
    hookEvent: salt % 5 === 0 ? 'PostToolUse' : 'PreToolUse',
    ts: new Date(now - agoMs).toISOString(),
    decision,
    code: decision === 'allow' ? 'allowed' : pick(['policy_denied', 'rate_limited', 'approval_pending', 'cap_budget'] as const, salt),
    tool: pick(['github.create_issue', 'a\ttool\\with "signs"', 'файл.читать'], salt >> 5),
    agentName: pick(['bot', '', 'x'.repeat(500)], salt >> 6),
    transform: salt % 7 === 0 ? 'log' : 'redact',
    ...(found.length > 0 ? { findings: found } : {}),
  });
}

async function makeWorkspace(slug: string): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into workspace (slug, frozen, revision, created_at, raised_at) values ($1, false, 1, '2020-01-01', now()) returning id`,
    [slug],
  );
  return Number(rows[0]?.id);
}

interface World {
  readonly workspaces: readonly number[];
  /** The spools by their names: their records, and how many of them were acknowledged. */
  readonly spools: Map<string, { readonly records: Buffer[]; acknowledged: number }>;
  readonly done: { delivered: number; again: number; dropped: number; failed: number };
}

/** What fails without a mistake: a cut connection, and a day that was dropped too often while a batch was stored. */
const mayFail = (reason: unknown): boolean =>
  isUnavailable(reason) || (reason instanceof Error && /^(broken|no partition of relation)/.test(reason.message));

async function play(one: Step, { workspaces, spools, done }: World): Promise<void> {
  if (one.kind === 'cut') {
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plane'`,
    );
    return;
  }
  const plane = pick(planes, one.plane);
  if (one.kind === 'retain') {
    now += one.hours * hourMs;
    const log = { warn: () => undefined, error: () => undefined };
    const dropped = await maintainPartitions({ pool: plane.pool, clock: () => new Date(now), log }, retentionDays).catch(
      (reason: unknown) => {
        if (!mayFail(reason)) throw reason;
        return [];
      },
    );
    done.dropped += dropped.length;
    return;
  }
  const workspaceId = pick(workspaces, one.workspace);
  const name = `${one.workspace}${one.spool}`;
  const spool = spools.get(name) ?? { records: [], acknowledged: 0 };
  spools.set(name, spool);
  const { records } = spool;
  // An entry that came before comes again with the same bytes.
  const from = Math.max(0, spool.acknowledged - one.again);
  const added = Array.from({ length: one.count }, (_, at) => Buffer.from(JSON.stringify(entryOf(one.salt + at * 7_919))));
  if (one.breaks) added.push(Buffer.from(JSON.stringify(entry({ ts: new Date(now).toISOString(), sub: 'breaks' }))));
  else records.push(...added);
  const bytes = one.breaks ? [...records.slice(from), ...added] : records.slice(from);
  const batch = bytes.map((content, at) =>
    (from + at + 1) % 11 === 0 ? lost(from + at + 1, 'lost') : record(from + at + 1, content.toString()),
  );
  const spoolId = `${name}${'a'.repeat(30)}`;
  try {
    const said = await plane.ingest(batchOf({ workspaceId, spoolId, records: batch }));
    if ('refused' in said) return;
    done.delivered += 1;
    if (from < spool.acknowledged) done.again += 1;
    spool.acknowledged = Math.max(spool.acknowledged, said.acknowledged);
  } catch (reason) {
    if (!mayFail(reason)) throw reason;
    done.failed += 1;
  }
}

const differences = (): Promise<readonly string[]> =>
  miscounted(async (text) => (await database.pool.query<{ what: string; row: string }>(text)).rows);

test(`after any mix of ${steps} steps, the counts equal a count of the stored entries (TOLLGATE_TEST_SEED=${seed} repeats it)`, async () => {
  const world: World = {
    workspaces: [await makeWorkspace('acme'), await makeWorkspace('other')],
    spools: new Map(),
    done: { delivered: 0, again: 0, dropped: 0, failed: 0 },
  };
  const all = fc.sample(step, { numRuns: steps, seed });
  for (let at = 0; at < all.length; ) {
    // Those of a round run at the same time.
    const round = all.slice(at, at + 1 + (((all.length - at) * 7_919) % 32));
    at += round.length;
    const playing = Promise.all(round.map((one) => play(one, world)));
    if (at % 5 === 0) expect(await differences(), `seed ${seed}, during the round before step ${at}`).toEqual([]);
    await playing;
    expect(await differences(), `seed ${seed}, before step ${at}`).toEqual([]);
  }
  const { rows } = await database.pool.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(rows).toEqual([{ deadlocks: '0' }]);
  const { delivered, again, dropped, failed } = world.done;
  expect(Math.min(delivered / 100, again / 10, dropped, failed)).toBeGreaterThan(1);
  const { rows: stored } = await database.pool.query(
    'select (select count(*) from decision_count)::int as decisions, (select count(*) from finding_count)::int as findings',
  );
  expect(Math.min(stored[0].decisions, stored[0].findings)).toBeGreaterThan(10);
}, 1_800_000);
