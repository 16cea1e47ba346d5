// A spool belongs to the sidecar that began it: with another secret, in another workspace, with a hole or with other
// bytes nothing is accepted.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditBatch, IngestResult } from '../../control-plane/audit/rules/audit-batch.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { noteFrom, verify } from '../chain/log.ts';
import { createRest, field, type Rest } from './rest.ts';
import { batchOf, entry, lost, record, records, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
let workspaceId: number;
beforeEach(async () => {
  rest = await createRest();
  workspaceId = await workspaceIdOf(rest);
});
afterEach(() => rest.close());

const take = (batch: Partial<AuditBatch> & Pick<AuditBatch, 'records'>): Promise<IngestResult> =>
  createIngest(rest.deps)(batchOf({ workspaceId, spoolId: spool('a'), ...batch }));
const numbered = (from: number, to: number, fields: object = {}) => records(from, to, (n) => entry({ requestId: `r${n}`, ...fields }));
const shown = async (): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await rest.ask('GET', '/acme/admin/audit?since=2000-01-01T00:00:00Z&limit=1000');
  return Object(body).entries;
};
const gaps = async () =>
  (await rest.pool.query('select first_sequence::int as first, last_sequence::int as last, reason from audit_gap order by ingest')).rows;
const theirs = { secretHash: 'f'.repeat(64), deliverer: { keyId: 'key-2', onlySub: null } };

async function expectSound(): Promise<void> {
  const note = noteFrom(field(await rest.ask('POST', '/acme/admin/audit/checkpoint'), 'checkpoint'));
  const { body } = await rest.ask('GET', '/acme/admin/audit/chain');
  expect(verify(Buffer.from(String(body)), { kept: [{ name: 'kept', note }] })).toMatchObject({ kind: 'sound' });
}

describe('with another secret', () => {
  test('neither replays nor later records of a spool are accepted, and the owner continues', async () => {
    expect(await take({ records: numbered(1, 20) })).toEqual({ acknowledged: 20 });
    for (const forged of [numbered(18, 22, { sub: 'mallory' }), numbered(21, 21), numbered(1_000_000, 1_000_000), numbered(1, 1)])
      expect(await take({ ...theirs, records: forged })).toEqual({ refused: 'wrong_secret', expected: 0 });
    expect(await take({ records: numbered(21, 22) })).toEqual({ acknowledged: 22 });
    expect((await shown()).map(({ sub }) => sub)).toEqual(Array.from({ length: 22 }, () => 'ann'));
    expect(await gaps()).toEqual([]);
  });

  test('also not in the same transaction as the batch that begins the spool', async () => {
    const ingest = createIngest(rest.deps);
    const batch = (fields: object) => batchOf({ workspaceId, spoolId: spool('a'), records: numbered(1, 2), ...fields });
    const busy = ingest({ ...batch({}), spoolId: spool('b') });
    const all = [ingest(batch({})), ingest(batch(theirs)), ingest(batch({ records: numbered(3, 3) }))];
    expect(await Promise.all(all)).toEqual([{ acknowledged: 2 }, { refused: 'wrong_secret', expected: 0 }, { acknowledged: 3 }]);
    await busy;
  });

  test('a spool from before secrets existed accepts the first one that is sent, and no other', async () => {
    await take({ records: numbered(1, 3) });
    await rest.pool.query('update audit_stream set secret_hash = null, key_id = null');
    expect(await take({ records: numbered(4, 5) })).toEqual({ acknowledged: 5 });
    expect(await take({ ...theirs, records: numbered(6, 6) })).toEqual({ refused: 'wrong_secret', expected: 0 });
    expect((await shown()).map(({ recordedBy }) => recordedBy)).toEqual([null, null, 'key-1', 'key-1', 'key-1']);
  });
});

describe('a spool of which nothing is accepted', () => {
  const elsewhere = { begunFor: '0'.repeat(32) };
  const known = async () => (await rest.pool.query('select spool_id from audit_stream order by spool_id')).rows;

  test('leaves no row, and its id is free for the next that begins it', async () => {
    for (let n = 0; n < 3; n += 1)
      expect(await take({ ...elsewhere, records: numbered(1, 1) })).toEqual({ refused: 'other_workspace', expected: 0 });
    expect(await take({ records: numbered(2_000_000_000, 2_000_000_000) })).toEqual({ refused: 'hole', expected: 1 });
    expect(await known()).toEqual([]);
    expect(await take({ records: numbered(1, 2) })).toEqual({ acknowledged: 2 });
    expect(await take({ ...elsewhere, records: numbered(3, 3) })).toEqual({ refused: 'other_workspace', expected: 0 });
    expect(await take({ records: numbered(3, 3) })).toEqual({ acknowledged: 3 });
    expect(await known()).toHaveLength(1);
    await expectSound();
  });

  test('also leaves no row in the transaction of accepted batches', async () => {
    const ingest = createIngest(rest.deps);
    const batch = (letter: string, fields: object) =>
      ingest(batchOf({ workspaceId, spoolId: spool(letter), records: numbered(1, 1), ...fields }));
    const first = batch('b', {});
    const group = [batch('c', elsewhere), batch('d', {}), batch('e', elsewhere)];
    const refused = { refused: 'other_workspace', expected: 0 };
    expect(await Promise.all([first, ...group])).toEqual([{ acknowledged: 1 }, refused, { acknowledged: 1 }, refused]);
    expect(await known()).toHaveLength(2);
    await expectSound();
  });

  test('is distinguished from one that another transaction begins at the same time', async () => {
    const batch = (fields: object) =>
      createIngest(rest.deps)(batchOf({ workspaceId, spoolId: spool('a'), records: numbered(1, 1), ...fields }));
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => batch(n % 2 === 0 ? elsewhere : {})));
    expect(answers.filter((answer) => 'acknowledged' in answer)).toHaveLength(5);
    expect(await known()).toHaveLength(1);
    await expectSound();
  });
});

describe('keys', () => {
  test('that recorded and delivered an entry are in the entry, whatever it claims, and in its digest', async () => {
    await take({ records: numbered(1, 1) });
    const adopted = { keyId: 'key-2', onlySub: null };
    await take({ deliverer: adopted, records: numbered(2, 2, { recordedBy: 'forged', deliveredBy: 'forged', subClaimed: 'x' }) });
    await take({ deliverer: adopted, records: [record(3, 'no json')] });
    const keys = (await shown()).map(({ recordedBy, deliveredBy, subClaimed }) => ({ recordedBy, deliveredBy, subClaimed }));
    expect(new Set(keys)).toEqual(
      new Set([
        { recordedBy: 'key-1', deliveredBy: 'key-1', subClaimed: undefined },
        { recordedBy: 'key-1', deliveredBy: 'key-2', subClaimed: undefined },
        { recordedBy: 'key-1', deliveredBy: 'key-2', subClaimed: undefined },
      ]),
    );
    await expectSound();
  });

  test('that may name one subject have only its entries, also where another key delivers them', async () => {
    const library = { keyId: 'key-3', onlySub: 'ann' };
    await take({ deliverer: library, records: [...numbered(1, 1), ...numbered(2, 2, { sub: 'bob' })] });
    await take({ records: numbered(3, 3, { sub: 'bob' }) });
    const [own, claimed, adopted] = (await shown()).toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
    expect(own).not.toHaveProperty('mended');
    for (const one of [claimed, adopted])
      expect(one).toMatchObject({ sub: 'ann', subClaimed: 'bob', mended: ['sub'], recordedBy: 'key-3' });
    await expectSound();
  });
});

test('a library passes calls on to agents, only for its own subject', async () => {
  const library = { keyId: 'key-3', onlySub: 'ann' };
  const handed = (n: number, fields: object) => records(n, n, () => entry({ requestId: `r${n}`, ...fields }));
  await take({
    deliverer: library,
    records: [
      ...handed(1, { sub: 'agent:a1', originSub: 'ann' }),
      ...handed(2, { sub: 'agent:a1', originSub: 'bob' }),
      ...handed(3, { sub: 'ann', originSub: 'bob' }),
      ...handed(4, { sub: 'agent:a1' }),
    ],
  });
  const seen = (await shown()).toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
  expect(seen.map(({ sub, originSub, subClaimed, mended }) => [sub, originSub, subClaimed, mended])).toEqual([
    ['agent:a1', 'ann', undefined, undefined],
    ['agent:a1', 'ann', 'bob', ['sub']],
    ['ann', 'ann', 'bob', ['sub']],
    ['ann', undefined, 'agent:a1', ['sub']],
  ]);
});

describe('holes', () => {
  test('in a known spool are refused, until the missing records arrive or are reported as lost', async () => {
    await take({ records: numbered(1, 2) });
    expect(await take({ records: numbered(10, 11) })).toEqual({ refused: 'hole', expected: 3 });
    expect(await take({ records: [lost(3, 'torn', 9), ...numbered(10, 11)] })).toEqual({ acknowledged: 11 });
    expect(await gaps()).toEqual([{ first: 3, last: 9, reason: 'torn' }]);
  });

  test('that a restored database has made itself are one gap', async () => {
    await take({ records: numbered(1, 2) });
    await rest.pool.query('update audit_stream set restored = true');
    expect(await take({ records: numbered(10, 11) })).toEqual({ acknowledged: 11 });
    expect(await take({ records: numbered(13, 13) })).toEqual({ refused: 'hole', expected: 12 });
    expect(await gaps()).toEqual([{ first: 3, last: 9, reason: 'newer than the backup that was restored' }]);
  });
});

describe('other bytes under an accepted sequence', () => {
  const changed = { refused: 'conflict', expected: 6 };

  test('change nothing, are refused, and are recorded in the chain once', async () => {
    await take({ records: numbered(1, 5) });
    for (let n = 0; n < 3; n += 1) expect(await take({ records: numbered(2, 6, { sub: 'mallory' }) })).toEqual(changed);
    expect(await take({ records: [...numbered(4, 4, { tool: 'x' }), ...numbered(5, 7)] })).toEqual(changed);
    expect(await gaps()).toEqual([{ first: 2, last: 5, reason: 'came again with other bytes, which were refused' }]);
    expect(await take({ records: numbered(3, 6) })).toEqual({ acknowledged: 6 });
    expect((await shown()).map(({ sub }) => sub)).toEqual(Array.from({ length: 6 }, () => 'ann'));
    await expectSound();
  });

  test('are also refused within one transaction', async () => {
    const ingest = createIngest(rest.deps);
    await ingest(batchOf({ workspaceId, spoolId: spool('a'), records: numbered(1, 5) }));
    const busy = ingest(batchOf({ workspaceId, spoolId: spool('b'), records: numbered(1, 1) }));
    const all = [numbered(6, 8), numbered(7, 9, { sub: 'mallory' }), numbered(8, 9)].map((batch) =>
      ingest(batchOf({ workspaceId, spoolId: spool('a'), records: batch })),
    );
    expect(await Promise.all(all)).toEqual([{ acknowledged: 8 }, { refused: 'conflict', expected: 9 }, { acknowledged: 9 }]);
    await busy;
  });

  test('are detected among the last 4,000; older records, and those reported as lost, are skipped', async () => {
    await take({ records: [...numbered(1, 2), lost(3, 'torn')] });
    for (let from = 4; from < 4_500; from += 900) await take({ records: numbered(from, from + 899) });
    expect(await take({ records: numbered(1, 3, { sub: 'mallory' }) })).toEqual({ acknowledged: 4_503 });
    expect(await take({ records: numbered(504, 504, { sub: 'mallory' }) })).toEqual({ refused: 'conflict', expected: 4_504 });
    const { rows } = await rest.pool.query('select min(last_sequence)::int as last from audit_sent');
    expect(rows).toEqual([{ last: 903 }]);
  });
});

describe('a workspace that is deleted and created again', () => {
  const idOf = async (slug: string): Promise<string> =>
    (await rest.pool.query<{ id: string }>('select random_id as id from workspace where slug = $1', [slug])).rows[0]?.id ?? '';

  test('accepts nothing from a spool of the former one', async () => {
    const begunFor = await idOf('acme');
    expect(await take({ begunFor, records: numbered(1, 2) })).toEqual({ acknowledged: 2 });
    await rest.pool.query(`delete from workspace where slug = 'other'; update workspace set random_id = $$${'e'.repeat(32)}$$`);
    expect(await take({ begunFor, records: numbered(3, 3) })).toEqual({ refused: 'other_workspace', expected: 0 });
    expect(await take({ begunFor, spoolId: spool('b'), records: numbered(1, 1) })).toEqual({ refused: 'other_workspace', expected: 0 });
  });

  test('also accepts nothing older than itself, where the sidecar did not know for which one it was', async () => {
    const old = numbered(1, 1, { ts: '2026-06-24T12:00:00.000Z' });
    await rest.pool.query(`update workspace set created_at = '2026-06-25T11:00:00Z'`);
    expect(await take({ records: old })).toEqual({ refused: 'other_workspace', expected: 0 });
    expect(await take({ records: [lost(1, 'torn'), ...numbered(2, 2, { ts: '2026-06-25T10:59:59.000Z' })] })).toMatchObject({
      refused: 'other_workspace',
    });
    expect(await take({ records: numbered(1, 1) })).toEqual({ acknowledged: 1 });
  });
});
