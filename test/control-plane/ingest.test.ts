import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { batchProblem } from '../../control-plane/audit/rules/audit-batch.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { maintainPartitions } from '../../control-plane/audit/operations/maintain-partitions.ts';
import { createRest, type Rest } from './rest.ts';
import { acknowledgedOf, batchOf, entry, lost, record, records, ship, shipped, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const stored = async (): Promise<readonly string[]> => {
  const { rows } = await rest.pool.query<{ id: string }>(
    `select replace(spool_id::text, '-', '') || '-' || sequence as id from audit_entry order by spool_id, sequence`,
  );
  return rows.map(({ id }) => id);
};
const ids = (letter: string, from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `${spool(letter)}-${from + at}`);
const shown = async (query = 'since=2000-01-01T00:00:00Z&limit=1000') => {
  const { body } = await rest.ask('GET', `/acme/admin/audit?${query}`);
  return Object(body).entries as readonly Record<string, unknown>[];
};
const partitions = async (): Promise<readonly string[]> => {
  const { rows } = await rest.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_entry'::regclass order by 1`,
  );
  return rows.map(({ name }) => name);
};

describe('exactly once', () => {
  test('a batch that is delivered again adds nothing and is acknowledged again', async () => {
    for (let n = 0; n < 3; n += 1) expect(await ship(rest, spool('a'), records(1, 20))).toBe(20);
    expect(await stored()).toEqual(ids('a', 1, 20));
  });

  test('overlapping batches add what is new', async () => {
    expect(await ship(rest, spool('a'), records(1, 10))).toBe(10);
    expect(await ship(rest, spool('a'), records(5, 15))).toBe(15);
    expect(await ship(rest, spool('a'), records(2, 8))).toBe(15);
    expect(await stored()).toEqual(ids('a', 1, 15));
  });

  test('concurrent deliveries of one spool, as after a reconnect, add each record once', async () => {
    const batches = [records(1, 100), records(1, 60), records(40, 100), records(1, 100)];
    // A later part may arrive first. Everything before it is then a gap, so all begin at 1 or continue what is stored.
    await ship(rest, spool('a'), records(1, 39));
    await Promise.all(batches.map((batch) => ship(rest, spool('a'), batch)));
    expect(await stored()).toEqual(ids('a', 1, 100));
    expect((await rest.pool.query('select 1 from audit_gap')).rowCount).toBe(0);
  });

  test('a batch that fails leaves neither rows nor an offset', async () => {
    await rest.pool.query(`alter table audit_entry add constraint broken check (sequence <> 7)`);
    await expect(ship(rest, spool('a'), records(1, 10))).rejects.toThrow('broken');
    expect(await stored()).toEqual([]);
    await rest.pool.query('alter table audit_entry drop constraint broken');
    expect(await ship(rest, spool('a'), records(1, 10))).toBe(10);
    expect(await stored()).toEqual(ids('a', 1, 10));
  });

  test('the same spool id in two workspaces is two spools', async () => {
    await ship(rest, spool('a'), records(1, 2));
    expect(await ship(rest, spool('a'), records(1, 3), 'other')).toBe(3);
    expect(await shown()).toHaveLength(2);
  });

  test('a record that claims another workspace is stored in that of the credential', async () => {
    await ship(rest, spool('a'), [
      record(1, { ...entry(), workspace: 'other', workspaceId: 2, workspace_id: 2, id: 'forged', receivedAt: 'never' }),
    ]);
    expect(await shown()).toMatchObject([{ id: `${spool('a')}-1`, receivedAt: '2026-06-25T12:00:00.000Z' }]);
    expect(Object((await rest.ask('GET', '/other/admin/audit', { key: rest.other })).body)).toMatchObject({ count: 0 });
  });

  test('many streams of many workspaces at once are all ingested', async () => {
    const ingest = createIngest(rest.deps);
    const workspaces = [await workspaceIdOf(rest), await workspaceIdOf(rest, 'other')];
    const acknowledged = await Promise.all(
      workspaces.flatMap((workspaceId) =>
        ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => ingest(batchOf({ workspaceId, spoolId: spool(letter), records: records(1, 20) }))),
      ),
    );
    expect(acknowledged.map(acknowledgedOf)).toEqual(Array.from({ length: 12 }, () => 20));
    await expect(ingest(batchOf({ workspaceId: 0, spoolId: spool('a'), records: records(1, 1) }))).rejects.toThrow('foreign key');
    const more = batchOf({ workspaceId: workspaces[0] ?? 0, spoolId: spool('a'), records: records(21, 21) });
    expect(await ingest(more)).toEqual({ acknowledged: 21 });
    expect((await rest.pool.query('select 1 from audit_entry')).rowCount).toBe(241);
  });

  test('only new records are announced as committed, however often they arrive', async () => {
    const told: number[] = [];
    const ingest = createIngest({ ...rest.deps, committed: (count) => void told.push(count) });
    const workspaceId = await workspaceIdOf(rest);
    const take = (from: number, to: number) => ingest(batchOf({ workspaceId, spoolId: spool('a'), records: records(from, to) }));
    await take(1, 5);
    await take(1, 5);
    await Promise.all([take(6, 8), take(3, 8), take(4, 9)]);
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(9);
    await expect(ingest(batchOf({ workspaceId: 0, spoolId: spool('a'), records: records(1, 1) }))).rejects.toThrow('foreign key');
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(9);
  });

  test('ingest numbers have the order of commits, without gaps, over all spools of a workspace', async () => {
    await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (letter) => {
        for (let n = 0; n < 5; n += 1) await ship(rest, spool(letter), records(n * 10 + 1, n * 10 + 10));
      }),
    );
    const { rows } = await rest.pool.query<{ ingest: string }>('select ingest from audit_entry order by ingest');
    expect(rows.map(({ ingest }) => Number(ingest))).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
  });
});

test('batches that can wait share one transaction, without one before them, unless the log is followed', async () => {
  const workspaceId = await workspaceIdOf(rest);
  let isFollowed = false;
  const ingest = createIngest({ ...rest.deps, isWatched: (id) => id === workspaceId && isFollowed });
  const letters = ['a', 'b', 'c', 'd'];
  let transactions = 0;
  const takeAll = async (sequence: number, canWait: boolean): Promise<void> => {
    transactions = 0;
    const batches = letters.map((letter) => ({ workspaceId, spoolId: spool(letter), records: records(sequence, sequence), canWait }));
    const answers = await Promise.all(batches.map((batch) => ingest(batchOf(batch))));
    expect(answers).toEqual(letters.map(() => ({ acknowledged: sequence })));
  };
  rest.pool.on('acquire', () => void (transactions += 1));
  // Their day and their spools are created.
  await takeAll(1, false);
  await takeAll(2, true);
  expect(transactions).toBe(1);
  // The first begins its transaction before the others arrive.
  await takeAll(3, false);
  expect(transactions).toBe(2);
  isFollowed = true;
  await takeAll(4, true);
  expect(transactions).toBe(2);
  const { rows } = await rest.pool.query<{ ingest: string }>('select ingest from audit_entry order by ingest');
  expect(rows.map(({ ingest: number }) => Number(number))).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
});

describe('batches that arrive while one is in progress', () => {
  let ingest: (letter: string, batch: ReturnType<typeof records>) => Promise<number>;
  let transactions: number;
  beforeEach(async () => {
    transactions = 0;
    rest.pool.on('acquire', () => void (transactions += 1));
    const workspaceId = await workspaceIdOf(rest);
    const take = createIngest(rest.deps);
    const { rows } = await rest.pool.query<{ id: string }>('select random_id as id from workspace where id = $1', [workspaceId]);
    const of = { workspaceId, begunFor: rows[0]?.id ?? '' };
    ingest = async (letter, batch) => acknowledgedOf(await take(batchOf({ ...of, spoolId: spool(letter), records: batch })));
    await Promise.all(['a', 'b', 'c', 'd'].map((letter) => ingest(letter, records(1, 1))));
    transactions = 0;
  });
  const gaps = async () =>
    (await rest.pool.query('select left(spool_id::text, 1) as spool, first_sequence as first, reason from audit_gap order by ingest')).rows;

  test('share one transaction, and each is answered with its own sequence', async () => {
    const all = ['a', 'b', 'c', 'd', 'b'].map((letter, at) => ingest(letter, records(2, 3 + at)));
    expect(await Promise.all(all)).toEqual([3, 4, 5, 6, 7]);
    expect(transactions).toBe(2);
    expect(await stored()).toEqual([...ids('a', 1, 3), ...ids('b', 1, 7), ...ids('c', 1, 5), ...ids('d', 1, 6)]);
    expect(await gaps()).toEqual([]);
  });

  test.each([
    ['records', records(2, 401)],
    ['bytes', records(2, 101, () => entry({ input: 'x'.repeat(4_000) }))],
  ])('are as many as one batch may hold, by %s', async (_, third) => {
    await Promise.all([ingest('a', records(2, 2)), ...['b', 'c', 'd'].map((letter) => ingest(letter, third))]);
    expect(transactions).toBe(3);
  });

  test('of one spool follow each other: stored records are not counted again, and records missing since a restore are counted once', async () => {
    await rest.pool.query('update audit_stream set restored = true');
    transactions = 0;
    const all = [
      ingest('a', records(2, 2)),
      ingest('b', records(1, 1)),
      ingest('b', records(5, 6)),
      ingest('b', records(6, 7)),
      ingest('b', records(8, 8)),
    ];
    expect(await Promise.all(all)).toEqual([2, 1, 6, 7, 8]);
    expect(transactions).toBe(2);
    expect(await gaps()).toEqual([{ spool: 'b', first: '2', reason: 'newer than the backup that was restored' }]);
    const { rows } = await rest.pool.query('select left(spool_id::text, 1) as spool from audit_stream where restored order by 1');
    expect(rows).toEqual([{ spool: 'c' }, { spool: 'd' }]);
  });

  test('of which one is refused are ingested one by one, each with its own answer', async () => {
    await rest.pool.query('alter table audit_entry_20260625 add constraint broken check (sequence <> 4)');
    transactions = 0;
    const all = [
      ingest('a', records(2, 2)),
      ingest('b', records(2, 3)),
      ingest('c', records(2_000_000_000, 2_000_000_000)),
      ingest('d', records(2, 4)),
      ingest('e', records(1, 1)),
    ];
    const said = await Promise.allSettled(all);
    expect(said.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
      2,
      3,
      expect.stringMatching(/^refused: hole, expected 2$/),
      expect.stringContaining('"broken"'),
      1,
    ]);
    expect(transactions).toBe(6);
    expect(await stored()).toEqual([...ids('a', 1, 2), ...ids('b', 1, 3), ...ids('c', 1, 1), ...ids('d', 1, 1), ...ids('e', 1, 1)]);
  });

  test('of which one needs a missing day are all ingested, and the day is created', async () => {
    const late = records(2, 900, () => entry({ ts: '2026-05-01T12:00:00.000Z' }));
    expect(await Promise.all([ingest('a', records(2, 2)), ingest('b', records(2, 2)), ingest('c', late)])).toEqual([2, 2, 900]);
    expect(await partitions()).toContain('audit_entry_20260501');
  });

  test('all fail immediately when the database goes away, and nothing of them is stored', async () => {
    const held = await rest.pool.connect();
    await held.query('begin; select from audit_head for update');
    const all = [ingest('a', records(2, 2)), ingest('b', records(2, 2)), ingest('c', records(2, 2))];
    const cutWaiting = () =>
      expect
        .poll(async () => {
          const { rowCount } = await rest.pool.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          );
          return rowCount;
        })
        .toBe(1);
    const ends = Promise.allSettled(all);
    await cutWaiting();
    await expect(all[0]).rejects.toThrow('terminating connection');
    await cutWaiting();
    for (const end of (await ends).slice(1))
      expect(end).toMatchObject({ reason: { message: expect.stringContaining('terminating connection') } });
    await held.query('rollback');
    held.release();
    expect(await ingest('a', records(2, 2))).toBe(2);
    expect(await stored()).toHaveLength(5);
  });
});

describe('lost records', () => {
  test('a record that could not be read back is a gap with its reason', async () => {
    expect(await ship(rest, spool('a'), [record(1, entry()), lost(2, 'crc\0 mismatch'), record(3, entry())])).toBe(3);
    const { rows } = await rest.pool.query('select first_sequence, last_sequence, reason from audit_gap');
    expect(rows).toEqual([{ first_sequence: '2', last_sequence: '2', reason: 'crc\uFFFD mismatch' }]);
    expect(await stored()).toEqual([`${spool('a')}-1`, `${spool('a')}-3`]);
  });

  test('records before the start of an unknown spool, as after its retention, are a gap too', async () => {
    expect(await ship(rest, spool('a'), records(10, 11))).toBe(11);
    const { rows } = await rest.pool.query('select first_sequence, last_sequence, reason from audit_gap');
    expect(rows).toEqual([{ first_sequence: '1', last_sequence: '9', reason: 'never arrived' }]);
  });

  test('many at once are reported as one gap, of which a part may be stored', async () => {
    await ship(rest, spool('a'), [record(1, entry()), lost(2, 'torn', 900)]);
    expect(await ship(rest, spool('a'), [lost(500, 'torn', 1_000_000), record(1_000_001, entry())])).toBe(1_000_001);
    const { rows } = await rest.pool.query('select first_sequence, last_sequence, reason from audit_gap order by ingest');
    expect(rows).toEqual([
      { first_sequence: '2', last_sequence: '900', reason: 'torn' },
      { first_sequence: '901', last_sequence: '1000000', reason: 'torn' },
    ]);
  });
});

// grpc.test.ts tests how a stream answers them.
test.each([
  ['a'.repeat(32), 1, null],
  ['a'.repeat(32), Number.MAX_SAFE_INTEGER, null],
  ['a'.repeat(32), 0, /consecutive sequence numbers/],
  ['a'.repeat(32), 1.5, /consecutive sequence numbers/],
  ['a'.repeat(32), -1, /consecutive sequence numbers/],
  ['a'.repeat(32), Number.MAX_SAFE_INTEGER + 1, /consecutive sequence numbers/],
])('a batch of spool %j with sequence %d is answered: %s', (spoolId, sequence, problem) => {
  const said = batchProblem({ ...shipped(spoolId), workspaceId: '', records: [record(sequence, entry())], bytes: 2 });
  if (problem === null) expect(said).toBeNull();
  else expect(said).toMatch(problem);
});

describe('day partitions', () => {
  test('are created ahead, also twice at once, without harm', async () => {
    await Promise.all([maintainPartitions(rest.deps, 90), maintainPartitions(rest.deps, 90), maintainPartitions(rest.deps, 90)]);
    expect(await partitions()).toEqual(['audit_entry_20260625', 'audit_entry_20260626', 'audit_entry_20260627']);
  });

  test('are created at once for a sidecar that was away for days, also for two at the same time', async () => {
    await Promise.all(
      ['a', 'b', 'c'].map((letter) =>
        ship(
          rest,
          spool(letter),
          records(1, 10, (n) => entry({ ts: `2026-06-${String(n).padStart(2, '0')}T23:59:59.999Z` })),
        ),
      ),
    );
    expect(await partitions()).toHaveLength(10);
    expect(await shown()).toHaveLength(30);
  });

  test('store the entries of midnight in the correct day', async () => {
    await ship(rest, spool('a'), [
      record(1, entry({ ts: '2026-06-24T23:59:59.999Z' })),
      record(2, entry({ ts: '2026-06-25T00:00:00.000Z' })),
      record(3, entry({ ts: '2026-06-25T01:00:00.000+02:00' })),
    ]);
    const { rows } = await rest.pool.query('select tableoid::regclass::text as name, sequence from audit_entry order by sequence');
    expect(rows).toEqual([
      { name: 'audit_entry_20260624', sequence: '1' },
      { name: 'audit_entry_20260625', sequence: '2' },
      { name: 'audit_entry_20260624', sequence: '3' },
    ]);
  });

  test('are dropped when their day is out of retention, with their entries, and not before', async () => {
    await ship(rest, spool('a'), [
      record(1, entry({ ts: '2026-06-20T12:00:00.000Z' })),
      record(2, entry({ ts: '2026-06-22T00:00:00.000Z' })),
    ]);
    expect(await maintainPartitions(rest.deps, 3)).toEqual(['20260620']);
    expect(await maintainPartitions(rest.deps, 3)).toEqual([]);
    expect(await stored()).toEqual([`${spool('a')}-2`]);
  });

  test('all have the indexes of the table', async () => {
    await maintainPartitions(rest.deps, 90);
    const { rows } = await rest.pool.query<{ table: string; day: string }>(
      `select (select count(*) from pg_indexes where tablename = 'audit_entry') as table,
         (select count(*) from pg_indexes where tablename = 'audit_entry_20260625') as day`,
    );
    expect(Number(rows[0]?.table)).toBeGreaterThan(1);
    expect(rows[0]?.day).toBe(rows[0]?.table);
  });
});
