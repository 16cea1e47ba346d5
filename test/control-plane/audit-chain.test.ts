// The chain as the control plane keeps it: an export is sound, and every change in the database is detected.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseLogKey, parseNote } from '../../proto/chain/checkpoint.ts';
import type { Verdict } from '../../proto/chain/verify.ts';
import { makeCheckpoint, makeDueCheckpoints } from '../../control-plane/audit/operations/checkpoint.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createNotary, newNotaryKey } from '../../control-plane/audit/operations/notary.ts';
import { maintainPartitions, updateStatistics } from '../../control-plane/audit/operations/maintain-partitions.ts';
import { noteFrom, verify } from '../chain/log.ts';
import { createRest, field, type Rest } from './rest.ts';
import { entry, lost, record, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const url = '/acme/admin/audit';
const keys = async () => {
  const { body } = await rest.ask('GET', `${url}/keys`);
  return (Object(body).keys as readonly { readonly key: string }[]).flatMap(({ key }) => parseLogKey(key) ?? []);
};
async function exported(after?: number): Promise<Buffer> {
  const { status, body } = await rest.ask('GET', `${url}/chain${after === undefined ? '' : `?after=${after}`}`);
  expect(status).toBe(200);
  return Buffer.from(String(body));
}
const checkpoint = async () => ({ name: 'kept', note: noteFrom(field(await rest.ask('POST', `${url}/checkpoint`), 'checkpoint')) });
const judged = async (kept: Awaited<ReturnType<typeof checkpoint>> | null = null): Promise<Verdict> =>
  verify(await exported(), { kept: kept === null ? [] : [kept], keys: await keys() });
const wordsOf = (verdict: Verdict): string => (verdict.kind === 'sound' ? 'sound' : verdict.words);
const at = (ts: string) => () => entry({ ts });

/** Invalid data is sanitised at ingestion, and the chain covers the sanitised form. */
const poisoned: readonly unknown[] = [
  '{"tool":"x\\u0000y","n":1.0,"m":1e400}',
  'no json',
  '[]',
  '{"__proto__":{"a":1},"id":"forged","receivedAt":"never","ts":"2999-01-01T00:00:00Z"}',
  `{"input":${'['.repeat(200)}${']'.repeat(200)}}`,
  { ...entry(), input: { big: 123456789012345680000, small: 1e-7, minus: -0, exact: 0.1, text: '\u2028\ud83d\ude00\u007f"\\' } },
  { ...entry(), ts: '2026-06-25T14:00:00.5+02:00', extra: { zz: 1, a: [null, true, { b: 'x'.repeat(2_000) }] } },
  { ...entry(), input: 'x'.repeat(100_000) },
  JSON.stringify(entry({ input: 'here' })).replace('"here"', '[1e400, -1e400]'),
];

describe('an export', () => {
  test('is sound, whatever was ingested and in which way, from any checkpoint to the end', async () => {
    const kept = [await checkpoint()];
    await ship(rest, spool('a'), records(1, 300));
    kept.push(await checkpoint());
    await ship(
      rest,
      spool('b'),
      poisoned.map((one, index) => record(index + 1, one)),
    );
    kept.push(await checkpoint());
    await ship(rest, spool('a'), [lost(301, 'never arrived', 400), record(401, entry()), lost(402, 'crc\0 \ud800'), record(403, entry())]);
    await ship(
      rest,
      spool('c'),
      [1, 2, 3].map((sequence) => lost(sequence, 'torn')),
    );
    kept.push(await checkpoint());
    const given = { keys: await keys() };
    for (const one of kept) {
      const { size } = one.note.checkpoint;
      for (const after of [undefined, size])
        expect(verify(await exported(after), { ...given, kept: [one] }), `${size}`).toMatchObject({
          kind: 'sound',
          proven: { upTo: 314, keptUpTo: size, after: after ?? 0 },
        });
    }
    // Consecutive losses with one reason are one gap.
    expect(verify(await exported(), given)).toMatchObject({ proven: { entries: 311, gaps: 3, lostRecords: 101 + 3, retired: 0 } });
    expect(String(await exported(7)).split('\n')).toHaveLength(314 - 7 + 3);
    expect(verify(await exported(7), { ...given, kept: [kept[1] ?? (await checkpoint())] })).toMatchObject({ kind: 'unusable' });
  });

  test('is sound after deliveries of all spools at once, twice, and overlapping', async () => {
    await Promise.all(
      ['a', 'b', 'c', 'd'].flatMap((letter) =>
        [1, 11, 1, 6].map((from) => ship(rest, spool(letter), records(from, from + 14)).catch(() => null)),
      ),
    );
    expect(await judged()).toMatchObject({ kind: 'sound' });
    const { rows } = await rest.pool.query('select ingest::int from audit_entry union all select ingest::int from audit_gap order by 1');
    expect(rows.map(({ ingest }) => ingest)).toEqual(rows.map((_, index) => index + 1));
  });

  test('is sound for arbitrary entries', async () => {
    const value = fc.oneof(fc.jsonValue(), fc.double(), fc.string({ unit: 'binary' }));
    const batches = fc.sample(fc.array(fc.dictionary(fc.string(), value), { minLength: 1, maxLength: 20 }), 30);
    let from = 1;
    for (const batch of batches) {
      await ship(
        rest,
        spool('a'),
        batch.map((fields, index) => record(from + index, { ...entry(), ...fields })),
      );
      from += batch.length;
    }
    expect(await judged()).toMatchObject({ kind: 'sound', proven: { entries: from - 1 } });
  });

  test('holds entries as a query shows them', async () => {
    await ship(rest, spool('a'), records(1, 2));
    const shown = Object((await rest.ask('GET', url)).body).entries as readonly { readonly id: string }[];
    const lines = String(await exported())
      .trim()
      .split('\n')
      .flatMap((line) => Object(JSON.parse(line)).entry ?? []);
    expect(lines).toEqual(shown.toReversed());
  });

  test('of an empty log is a heading and a checkpoint', async () => {
    expect(await judged(await checkpoint())).toMatchObject({ kind: 'sound', proven: { upTo: 0, isBeginning: true } });
  });

  test('begins only within the log', async () => {
    await ship(rest, spool('a'), records(1, 2));
    expect(await rest.ask('GET', `${url}/chain?after=3`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('the log has only 2 items') },
    });
    for (const after of ['-1', 'x', '1.5', '']) expect((await rest.ask('GET', `${url}/chain?after=${after}`)).status).toBe(400);
    expect((await rest.ask('GET', `${url}/chain`, { key: await rest.keyOf('member', ['agents.read']) })).status).toBe(403);
  });
});

describe('a change in the database', () => {
  const tampering: readonly (readonly [string, string, RegExp])[] = [
    ['changes a column', `update audit_entry set decision = 'deny' where ingest = 5`, /item 5 \(entry a{32}-5\) was changed/],
    ['changes the rest', `update audit_entry set entry = entry || '{"role":"owner"}' where ingest = 5`, /item 5 .* was changed/],
    ['changes a time', `update audit_entry set received_at = received_at + interval '1 ms' where ingest = 5`, /item 5 .* was changed/],
    ['takes an entry away', 'delete from audit_entry where ingest = 5', /item 5 is missing before item 6/],
    ['takes the last ones away', 'delete from audit_entry where ingest > 18', /items 19 to 20 are missing at the end/],
    [
      'swaps two',
      `update audit_entry set ingest = 11 - ingest where ingest in (5, 6)`,
      /item 5 \(entry a{32}-6\) was changed, or is not of this log/,
    ],
    [
      'puts one in the place of another',
      `update audit_entry one set entry = two.entry, digest = two.digest from audit_entry two where one.ingest = 5 and two.ingest = 6`,
      /item 5 .* was changed/,
    ],
    [
      'takes one of another workspace in',
      `update audit_entry set ingest = 5, workspace_id = (select id from workspace where slug = 'acme') where spool_id = '${spool('d')}' and sequence = 3`,
      /item 5 .* is here a second time|item 5 \(entry d{32}-3\) was changed, or is not of this log/,
    ],
    ['takes a digest away', 'update audit_entry set digest = null where ingest = 5', /item 5 .* was changed/],
    ['hides a gap', 'delete from audit_gap', /item 10 is missing before item 11/],
    ['makes a gap smaller', 'update audit_gap set last_sequence = first_sequence', /item 10 \(gap\) was changed/],
    [
      'calls an entry out of retention',
      `with gone as (delete from audit_entry where ingest = 5 returning *)
       insert into audit_retired (workspace_id, ingest, ts, digest) select workspace_id, ingest, ts, digest from gone`,
      /an item of 2026-06-25.* is left out as out of retention, which is 90 days: it was removed/,
    ],
    [
      'calls it so, with another time',
      `with gone as (delete from audit_entry where ingest = 5 returning *)
       insert into audit_retired (workspace_id, ingest, ts, digest) select workspace_id, ingest, '2020-01-01', digest from gone`,
      /the log was rewritten|was changed/,
    ],
  ];

  test.each(tampering)('%s: the export shows where', async (_, sql, words) => {
    await ship(rest, spool('a'), records(1, 9));
    await ship(rest, spool('a'), [lost(10, 'never arrived', 11), ...records(12, 21)]);
    await ship(rest, spool('d'), records(1, 3), 'other');
    const kept = await checkpoint();
    await rest.pool.query(sql);
    expect(wordsOf(await judged(kept))).toMatch(words);
  });

  test.each([1_000_000, 21, 0, -5])('that inserts an entry outside the log, as %d: no checkpoint is made of it', async (ingest) => {
    await ship(rest, spool('a'), records(1, 20));
    await rest.pool.query(
      `insert into audit_entry select workspace_id, ts, spool_id, 99, ${ingest}, received_at, tool, decision, agent_name, sub, session_id, entry, digest
       from audit_entry where ingest = 20`,
    );
    const error = `entry ${spool('a')}-99 has number ${ingest}, which is not in the log (it holds 20 items): it was inserted`;
    expect(await rest.ask('GET', `${url}/chain`)).toMatchObject({ status: 409, body: { error } });
  });

  test('that rolls the log back: no checkpoint is made of it, and where the checkpoints are gone too, a kept one shows it', async () => {
    await ship(rest, spool('a'), records(1, 10));
    const { rows } = await rest.pool.query('select ingest, chain from audit_head where ingest = 10');
    await ship(rest, spool('a'), records(11, 20));
    const kept = await checkpoint();
    await rest.pool.query('delete from audit_entry where ingest > 10');
    await rest.pool.query('update audit_head set ingest = $1, chain = $2 where ingest = 20', [rows[0]?.ingest, rows[0]?.chain]);
    expect(await rest.ask('POST', `${url}/checkpoint`)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('rolled back') },
    });
    expect((await rest.ask('GET', `${url}/chain`)).status).toBe(409);
    await rest.pool.query('delete from audit_checkpoint');
    expect(wordsOf(await judged(kept))).toBe('the log ends with item 10, and kept covers 20: items at its end were removed');
  });

  test('that gives the log another history of the same length: no checkpoint is made of it', async () => {
    await ship(rest, spool('a'), records(1, 10));
    await checkpoint();
    await rest.pool.query(`update audit_head set chain = sha256('x') where ingest = 10`);
    expect((await rest.ask('POST', `${url}/checkpoint`)).status).toBe(409);
    const lines: unknown[] = [];
    await makeDueCheckpoints({ ...rest.deps, log: { error: (fields) => lines.push(fields) } });
    expect(lines).toEqual([]);
    await rest.pool.query('update audit_head set ingest = 9 where ingest = 10');
  });
});

describe('a log from before there was a chain', () => {
  test('begins its chain at its current end, and new entries are proven', async () => {
    const [, up = '', down = ''] =
      /-- Up Migration\n(.*)-- Down Migration\n(.*)/s.exec(
        readFileSync(new URL('../../control-plane/database/migrations/0020_audit_chain.sql', import.meta.url), 'utf8'),
      ) ?? [];
    await rest.pool.query(down);
    const workspaceId = await workspaceIdOf(rest);
    await maintainOld();
    await rest.pool.query(
      `insert into audit_entry select $1, '2026-06-25T10:00:00Z', '${spool('a')}', n, n, now(), 'x', 'allow', 'bot', 'ann', 's', '{"hookEvent":"PreToolUse"}' from generate_series(1, 7) n`,
      [workspaceId],
    );
    await rest.pool.query('insert into audit_head (workspace_id, ingest) values ($1, 7)', [workspaceId]);
    await rest.pool.query(`insert into audit_stream values ($1, '${spool('a')}', 7)`, [workspaceId]);
    await rest.pool.query(up);
    await ship(rest, spool('a'), records(6, 12));
    expect(await judged(await checkpoint())).toMatchObject({
      kind: 'sound',
      proven: { isBeginning: true, after: 7, upTo: 12, entries: 5 },
    });
  });

  /** Maintains only the days, as the previous version did. */
  async function maintainOld(): Promise<void> {
    await rest.pool.query(
      `create table audit_entry_20260625 partition of audit_entry for values from ('2026-06-25T00:00Z') to ('2026-06-26T00:00Z')`,
    );
  }
});

describe('checkpoints', () => {
  test('are found by their size, and name the log, its size and when they were made', async () => {
    expect((await rest.ask('GET', `${url}/checkpoint`)).status).toBe(404);
    await ship(rest, spool('a'), records(1, 5));
    const made = await rest.ask('POST', `${url}/checkpoint`);
    await ship(rest, spool('a'), records(6, 8));
    await rest.ask('POST', `${url}/checkpoint`);
    expect(Object((await rest.ask('GET', `${url}/checkpoint`)).body).size).toBe(8);
    expect((await rest.ask('GET', `${url}/checkpoint?size=5`)).body).toEqual(made.body);
    expect((await rest.ask('GET', `${url}/checkpoint?size=6`)).status).toBe(404);
    expect((await rest.ask('GET', `${url}/checkpoint?size=x`)).status).toBe(400);
    expect(parseNote(field(made, 'checkpoint'))?.checkpoint).toMatchObject({
      origin: expect.stringMatching(/^tollgate\.audit\/acme\/[0-9a-f]{32}$/),
      size: 5,
      madeAt: '2026-06-25T12:00:00.000Z',
      retentionDays: 90,
    });
  });

  test('are made by a periodic task where the log has grown, and only there', async () => {
    const sizes = async () => (await rest.pool.query('select size::int from audit_checkpoint order by 1')).rows.map(({ size }) => size);
    const makeDue = () => makeDueCheckpoints({ ...rest.deps, log: { error: (_, message) => expect.fail(message) } });
    await Promise.all([makeDue(), makeDue()]);
    expect(await sizes()).toEqual([]);
    await ship(rest, spool('a'), records(1, 5));
    await Promise.all([makeDue(), makeDue(), makeDue()]);
    await ship(rest, spool('a'), records(6, 7), 'other');
    await makeDue();
    await makeDue();
    expect(await sizes()).toEqual([3, 5]);
  });

  test('of several control planes with different keys are all known', async () => {
    const actor = await authenticate(rest.deps, `Bearer ${rest.owner}`);
    const second = { ...rest.deps, notary: createNotary(newNotaryKey(), 90) };
    await ship(rest, spool('a'), records(1, 5));
    const theirs = { name: 'theirs', note: noteFrom((await makeCheckpoint(second, actor, null)).checkpoint) };
    await ship(rest, spool('a'), records(6, 8));
    const ours = await checkpoint();
    const known = await keys();
    expect(known).toHaveLength(2);
    expect(verify(await exported(), { keys: known, kept: [theirs, ours] }).kind).toBe('sound');
    expect(verify(await exported(), { keys: known.slice(0, 1), kept: [ours, theirs] }).kind).toBe('refused');
  });
});

describe('retention', () => {
  const dayMs = 86_400_000;
  const passDays = (days: number): void => {
    rest.clock.now = new Date(rest.clock.now.getTime() + days * dayMs);
  };
  const ts = (): string => rest.clock.now.toISOString();
  const makeDue = () => makeDueCheckpoints({ ...rest.deps, log: { error: (_, message) => expect.fail(message) } });

  beforeEach(async () => {
    await rest.close();
    rest = await createRest({ notary: createNotary(newNotaryKey(), 3) });
  });

  test('drops days, keeps what the chain needs of late entries, and the rest is sound as before', async () => {
    const kept = [];
    for (let day = 1; day <= 8; day += 1) {
      await ship(rest, spool('a'), records(day * 10 - 9, day * 10, at(ts())));
      // A sidecar that was away for two days.
      const late = new Date(rest.clock.now.getTime() - 2 * dayMs).toISOString();
      await ship(rest, spool('b'), records(day * 2 - 1, day * 2, at(late)));
      await ship(rest, spool('c'), [lost(day, `${day}`)]);
      await makeDue();
      kept.push(await checkpoint());
      passDays(1);
      await Promise.all([maintainPartitions(rest.deps, 3), maintainPartitions(rest.deps, 3)]);
      const given = { keys: await keys() };
      for (const one of kept)
        expect(verify(await exported(), { ...given, kept: [one] }), `day ${day}, ${one.note.checkpoint.size}`).toMatchObject({
          kind: 'sound',
          proven: { upTo: day * 13 },
        });
    }
    const verdict = await judged();
    expect(verdict).toMatchObject({
      kind: 'sound',
      proven: { after: expect.any(Number), retired: expect.any(Number), isBeginning: false },
    });
    if (verdict.kind === 'sound') {
      const { after, retired, entries, gaps } = verdict.proven;
      expect(after).toBeGreaterThan(0);
      expect(retired).toBeGreaterThan(0);
      expect(after + retired + entries + gaps).toBe(8 * 13);
    }
    // Older data is not kept for ever.
    const { rows } = await rest.pool.query<{ count: string }>(
      'select (select count(*) from audit_retired one join audit_head h using (workspace_id) where one.ingest <= kept_after) as count',
    );
    expect(Number(rows[0]?.count)).toBe(0);
  });

  test('is distinguished from deletion: a day that was emptied too early is missing', async () => {
    await ship(rest, spool('a'), records(1, 5, at(ts())));
    const kept = await checkpoint();
    passDays(1);
    await ship(rest, spool('a'), records(6, 10, at(ts())));
    await rest.pool.query('truncate audit_entry_20260625');
    expect(wordsOf(await judged(kept))).toMatch(/items 1 to 5 are missing before item 6/);
    await rest.pool.query('update audit_head set kept_after = 5');
    expect(wordsOf(await judged(kept))).toMatch(/out of retention, which is 3 days: it was removed/);
  });

  test('is recognised: by a checkpoint from before, the log is valid immediately, and a day that was dropped since is found', async () => {
    for (let day = 0; day < 6; day += 1) {
      await ship(rest, spool('a'), records(day * 5 + 1, day * 5 + 5, at(ts())));
      await makeDue();
      passDays(1);
      await maintainPartitions(rest.deps, 3);
    }
    const before = await checkpoint();
    Object.assign(rest.deps.notary, { retentionDays: 30 });
    await maintainPartitions(rest.deps, 30);
    await ship(rest, spool('a'), records(31, 35, at(ts())));
    const given = { keys: await keys(), kept: [] };
    expect(wordsOf(verify(await exported(), given))).toMatch(
      /out of retention, which is 30 days: it was removed, or it went out of retention before/,
    );
    const raised = { ...given, beforeRaise: [before] };
    expect(verify(await exported(), raised)).toMatchObject({
      kind: 'sound',
      proven: { upTo: 35, retentionDays: 30, earlierRetention: [{ days: 3 }] },
    });
    // The same state that retention itself would leave.
    await rest.pool.query(
      `insert into audit_retired (workspace_id, ingest, ts, digest) select workspace_id, ingest, ts, digest from audit_entry
       where ts < (select min(ts) from audit_entry) + interval '25 hours'`,
    );
    await rest.pool.query(`delete from audit_entry where ts < (select min(ts) from audit_entry) + interval '25 hours'`);
    expect(wordsOf(verify(await exported(), raised))).toMatch(/out of retention, which is 30 days: it was removed/);
  });

  test('an entry that arrives while its day is being dropped is dropped with it, and its place stays', async () => {
    await ship(rest, spool('a'), records(1, 5, at(ts())));
    const late = ts();
    passDays(2);
    await ship(rest, spool('a'), records(6, 8, at(ts())));
    await makeDue();
    passDays(2);
    await Promise.all([
      maintainPartitions(rest.deps, 3),
      ...['b', 'c', 'd'].map((letter) => ship(rest, spool(letter), records(1, 3, at(late)))),
    ]);
    await ship(rest, spool('a'), records(9, 9, at(ts())));
    await maintainPartitions(rest.deps, 3);
    expect(await judged()).toMatchObject({ kind: 'sound', proven: { upTo: 18 } });
  });

  test('a spool that was silent for longer than entries may be late is forgotten', async () => {
    await ship(rest, spool('a'), records(1, 5, at(ts())));
    await maintainPartitions(rest.deps, 3);
    passDays(401);
    await ship(rest, spool('b'), records(1, 5, at(ts())));
    await maintainPartitions(rest.deps, 3);
    const { rows } = await rest.pool.query('select left(spool_id::text, 1) as letter from audit_stream');
    expect(rows).toEqual([{ letter: 'b' }]);
  });
});

test('days are analysed when they have grown, and once more when they have ended', async () => {
  rest.clock.now = new Date();
  const today = rest.clock.now.toISOString().slice(0, 10).replaceAll('-', '');
  await maintainPartitions(rest.deps, 90);
  await ship(
    rest,
    spool('a'),
    records(1, 10, () => entry({ ts: rest.clock.now.toISOString() })),
  );
  expect(await updateStatistics(rest.deps)).toEqual([]);
  for (let n = 0; n < 2; n += 1)
    await ship(
      rest,
      spool('b'),
      records(n * 1_000 + 1, n * 1_000 + 1_000, () => entry({ ts: rest.clock.now.toISOString() })),
    );
  expect(await updateStatistics(rest.deps)).toEqual([today]);
  expect(await updateStatistics(rest.deps)).toEqual([]);
});
