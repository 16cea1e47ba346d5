// The gaps of the log over REST: they are those that an export of the chain has, newest first, in pages.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { gapsQuery } from '../../control-plane/audit/store/audit-gaps.ts';
import { createRest, errorOf, type Rest } from './rest.ts';
import { entry, lost, record, records, ship, spool } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const url = '/acme/admin/audit/gaps';

interface Gap {
  readonly n: number;
  readonly records: number;
  readonly reason: string;
}

interface Page {
  readonly gaps: readonly Gap[];
  readonly count: number;
  readonly next?: string;
}

async function gaps(query = '', path = url, key = rest.owner): Promise<Page> {
  const { status, body } = await rest.ask('GET', `${path}${query}`, { key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Page;
}

/** Items 1 to 9 of the log, of which 2, 4, 7 and 9 are gaps. */
async function shipWithGaps(): Promise<void> {
  await ship(rest, spool('a'), [
    record(1, entry()),
    lost(2, 'unreadable on disk', 40),
    record(41, entry()),
    lost(42, 'never <b>arrived</b> \u202e'),
  ]);
  await ship(rest, spool('b'), records(1, 2));
  await ship(rest, spool('b'), [lost(3, 'torn'), lost(4, 'torn'), record(5, entry()), lost(6, 'torn')]);
}

test('each gap says which records of which spool are missing, how many, why, and since when that is known', async () => {
  expect(await gaps()).toEqual({ gaps: [], count: 0 });
  await shipWithGaps();
  const { gaps: found, count, ...rest1 } = await gaps();
  expect(rest1).toEqual({});
  expect(count).toBe(4);
  expect(found.map(({ n, records: missing, reason }) => [n, missing, reason])).toEqual([
    [9, 1, 'torn'],
    [7, 2, 'torn'],
    [4, 1, 'never <b>arrived</b> \u202e'],
    [2, 39, 'unreadable on disk'],
  ]);
  expect(found.at(-1)).toEqual({
    n: 2,
    spoolId: spool('a'),
    firstSequence: 2,
    lastSequence: 40,
    records: 39,
    reason: 'unreadable on disk',
    receivedAt: '2026-06-25T12:00:00.000Z',
  });
});

test('they are the gaps of the export of the chain, with the same numbers', async () => {
  await shipWithGaps();
  const { body } = await rest.ask('GET', '/acme/admin/audit/chain');
  const exported = String(body)
    .trim()
    .split('\n')
    .map((line): { readonly n?: number; readonly gap?: object } => JSON.parse(line))
    .flatMap(({ n, gap }) => (gap === undefined ? [] : [{ n, ...gap }]));
  const listed = (await gaps()).gaps.map(({ records: _records, ...gap }) => gap);
  expect(exported).toHaveLength(4);
  expect(listed).toEqual(exported.toReversed());
});

test('pages hold all gaps once, also if new ones come in between', async () => {
  await shipWithGaps();
  const first = await gaps('?limit=3');
  await ship(rest, spool('c'), [lost(1, 'new')]);
  const second = await gaps(`?limit=3&cursor=${first.next}`);
  expect([...first.gaps, ...second.gaps].map(({ n }) => n)).toEqual([9, 7, 4, 2]);
  expect(second.next).toBeUndefined();
  for (const cursor of ['', 'x', '-1', '1.5', '9'.repeat(16)]) {
    const answer = await rest.ask('GET', `${url}?cursor=${cursor}`);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain('cursor must be the `next` of an earlier answer');
  }
});

test('only those of the own workspace, and only for who may read the audit log', async () => {
  await shipWithGaps();
  await ship(rest, spool('d'), [lost(1, 'of the other')], 'other');
  expect((await gaps('', '/other/admin/audit/gaps', rest.other)).gaps.map(({ reason }) => reason)).toEqual(['of the other']);
  expect((await gaps()).count).toBe(4);
  expect((await rest.ask('GET', url, { key: rest.other })).status).toBe(403);
  expect((await rest.ask('GET', url, { key: await rest.keyOf('member', ['policies.read'], 'ann') })).status).toBe(403);
  expect((await gaps('', url, await rest.keyOf('member', ['admin.audit.read'], 'ann'))).count).toBe(4);
});

test('a page is read by the index of the items, however many entries there are', async () => {
  await shipWithGaps();
  const client = await rest.pool.connect();
  // The table of the test is so small that the planner would read it whole.
  await client.query('set enable_seqscan = off');
  const { text, values } = gapsQuery(1, 10, 100);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
  client.release(true);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index Scan Backward using audit_gap_ingest');
  expect(plan).not.toContain('Sort');
});
