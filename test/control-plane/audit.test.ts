import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';
import { entry, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

interface Page {
  readonly entries: readonly { readonly id: string; readonly ts: string }[];
  readonly count: number;
  readonly since: string;
  readonly limit: number;
  readonly next?: string;
}

const url = '/acme/admin/audit';
async function page(query: Readonly<Record<string, string>> = {}, key = rest.owner): Promise<Page> {
  const { status, body } = await rest.ask('GET', `${url}?${new URLSearchParams(query).toString()}`, { key });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as Page;
}

/** All pages, by cursor; `between` runs after each. */
async function walk(
  query: Readonly<Record<string, string>>,
  between: (pages: number) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const { entries, next }: Page = await page(cursor === undefined ? query : { ...query, cursor });
    found.push(...entries.map(({ id }) => id));
    if (next === undefined) return found;
    cursor = next;
    await between(pages);
  }
}

const at = (ms: number): string => new Date(Date.parse('2026-06-25T12:00:00.000Z') + ms).toISOString();
const all = { since: '2026-01-01T00:00:00Z' };

describe('a query', () => {
  test('without parameters: the last 15 minutes, at most 200, newest first', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 3, (n) => entry({ ts: at([-900_001, -900_000, 0][n - 1] ?? 0) })),
    );
    await ship(
      rest,
      spool('b'),
      records(1, 250, (n) => entry({ ts: at(-n) })),
    );
    const found = await page();
    expect(found).toMatchObject({ count: 200, since: '2026-06-25T11:45:00.000Z', limit: 200 });
    expect(found.entries.map(({ ts }) => ts)).toEqual(
      found.entries
        .map(({ ts }) => ts)
        .toSorted()
        .toReversed(),
    );
    expect(await walk({})).toHaveLength(252);
  });

  test('on an empty log', async () => {
    expect(await page()).toEqual({ entries: [], count: 0, since: '2026-06-25T11:45:00.000Z', limit: 200 });
  });

  test('since is inclusive, and takes offsets, fractions and a missing offset', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, (n) => entry({ ts: at(-n) })),
    );
    for (const since of [
      at(-1),
      '2026-06-25T13:59:59.999+02:00',
      '2026-06-25T13:59:59.999 02:00',
      '2026-06-25T11:59:59.999',
      '2026-06-25t11:59:59,999z',
      '2026-06-25T11:59:59.999999Z',
    ]) {
      expect(await page({ since })).toMatchObject({ count: 1, since: '2026-06-25T11:59:59.999Z' });
    }
    expect(await page({ since: '2026-06-25' })).toMatchObject({ count: 2, since: '2026-06-25T00:00:00.000Z' });
  });

  test('until is exclusive, on every page, and must be after since', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 4, (n) => entry({ ts: at(-n) })),
    );
    expect(await page({ until: at(-1) })).toMatchObject({ count: 3 });
    expect(await walk({ until: at(-1), limit: '1' })).toHaveLength(3);
    const { status, body } = await rest.ask('GET', `${url}?since=${at(0)}&until=${at(0)}`);
    expect([status, body]).toEqual([400, { error: 'until must be after since', details: ['until must be after since'] }]);
  });

  test('limit is clamped to 1–1000', async () => {
    await ship(rest, spool('a'), records(1, 3));
    expect(await page({ limit: '0' })).toMatchObject({ limit: 1, count: 1 });
    expect(await page({ limit: '-5' })).toMatchObject({ limit: 1 });
    expect(await page({ limit: '2' })).toMatchObject({ limit: 2, count: 2 });
    expect(await page({ limit: '99999999999999999999' })).toMatchObject({ limit: 1000, count: 3 });
  });

  test('filters are exact and may be combined', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 8, (n) =>
        entry({
          tool: n % 2 ? 'a.b' : 'A.b',
          decision: n <= 4 ? 'allow' : 'deny',
          agentName: `agent ${n % 3}`,
          sub: `sub-${n}`,
          sessionId: `s${n % 4}`,
          code: n <= 4 ? 'allowed' : n <= 6 ? 'policy_denied' : 'rate_limited',
        }),
      ),
    );
    const ids = async (query: Readonly<Record<string, string>>) =>
      (await page(query)).entries.map(({ id }) => Number(id.split('-')[1])).toSorted((a, b) => a - b);
    expect(await ids({ tool: 'a.b' })).toEqual([1, 3, 5, 7]);
    expect(await ids({ tool: 'a.' })).toEqual([]);
    expect(await ids({ tool: "a.b' or 1=1 --" })).toEqual([]);
    expect(await ids({ tool: '' })).toEqual([]);
    expect(await ids({ decision: 'deny' })).toEqual([5, 6, 7, 8]);
    expect(await ids({ agent: 'agent 0' })).toEqual([3, 6]);
    expect(await ids({ sub: 'sub-2' })).toEqual([2]);
    expect(await ids({ session: 's1' })).toEqual([1, 5]);
    expect(await ids({ reason: 'policy_denied' })).toEqual([5, 6]);
    expect(await ids({ reason: 'policy' })).toEqual([]);
    expect(await ids({ tool: 'a.b', decision: 'deny', session: 's1' })).toEqual([5]);
    expect(await ids({ tool: 'a.b', reason: 'rate_limited' })).toEqual([7]);
  });

  test('shows nothing of another workspace', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, () => entry({ tool: 'theirs' })),
      'other',
    );
    await ship(rest, spool('a'), records(1, 1));
    for (const query of [all, { ...all, tool: 'theirs' }, { ...all, session: 'session-1' }]) {
      const found = await page(query);
      expect(JSON.stringify(found.entries)).not.toContain('theirs');
    }
  });
});

describe('the cursor', () => {
  test('pages a thousand entries of one instant, each once', async () => {
    await ship(rest, spool('a'), records(1, 700));
    await ship(rest, spool('b'), records(1, 300));
    const found = await walk({ ...all, limit: '97' });
    expect(found).toHaveLength(1000);
    expect(new Set(found).size).toBe(1000);
  });

  test('is absent on the last page, also when that is full', async () => {
    await ship(rest, spool('a'), records(1, 4));
    expect(await page({ limit: '4' })).not.toHaveProperty('next');
    expect(await page({ limit: '3' })).toHaveProperty('next');
    expect(await page({ limit: '1000' })).not.toHaveProperty('next');
  });

  test('shows every entry that existed at first exactly once while others arrive, old and new', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 300, (n) => entry({ ts: at(-n * 1000), tool: n % 3 ? 'x' : 'y' })),
    );
    const before = new Set((await walk(all)).toSorted());
    const found = await walk({ ...all, limit: '20' }, async (pages) => {
      await ship(
        rest,
        spool('b'),
        records(pages * 3 - 2, pages * 3, (n) => entry({ ts: at(n % 3 === 0 ? 1000 : -n * 2000) })),
      );
    });
    expect(new Set(found).size).toBe(found.length);
    expect(found.filter((id) => before.has(id))).toHaveLength(before.size);
  });

  test('keeps the filters’ pages and the default since of the first page', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 40, (n) => entry({ ts: at(-n * 20_000), tool: n % 2 ? 'x' : 'y' })),
    );
    const first = await page({ tool: 'x', limit: '10' });
    rest.clock.now = new Date(rest.clock.now.getTime() + 600_000);
    const second = await page({ tool: 'x', limit: '10', cursor: first.next ?? '' });
    expect(second.since).toBe(first.since);
    expect([...first.entries, ...second.entries].map(({ id }) => Number(id.split('-')[1]))).toEqual(
      Array.from({ length: 20 }, (_, n) => n * 2 + 1),
    );
  });

  test('of another workspace reaches only entries of the own workspace', async () => {
    await ship(rest, spool('a'), records(1, 5));
    const { next = '' } = await page({ limit: '2' });
    const answer = await rest.ask('GET', `/other/admin/audit?cursor=${next}`, { key: rest.other });
    expect(answer).toMatchObject({ status: 200, body: { count: 0 } });
  });
});

test('the newest 200 are found by an index, for a common, a rare and an absent tool, over many days', async () => {
  const workspaceId = await workspaceIdOf(rest);
  await ship(
    rest,
    spool('a'),
    records(1, 25, (n) => entry({ ts: `2026-06-${String(n).padStart(2, '0')}T00:00:00.000Z` })),
  );
  await rest.pool.query(
    `insert into audit_entry select $1, '2026-06-01T00:00:00Z'::timestamptz + n * interval '43 seconds', '${spool('c')}', n, n, now(),
       case when n % 10000 = 0 then 'rare' else 'common' end, 'allow', 'bot', 'ann', 's' || n % 50, '{}' from generate_series(1, 50000) n`,
    [workspaceId],
  );
  await rest.pool.query('analyze audit_entry');
  for (const tool of [null, 'common', 'rare', 'absent']) {
    const { rows } = await rest.pool.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers off, costs off, timing off) select ts from audit_entry where workspace_id = ${workspaceId} and ts >= '2026-01-01'
       ${tool === null ? '' : `and tool = '${tool}'`} order by ts desc, spool_id desc, sequence desc limit 201`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).not.toMatch(/Seq Scan|Sort Key/);
    expect(plan).toContain('Index');
  }
});

test('a time outside the years 1 to 9999 is 400, also where only its offset makes it so, and so is a cursor with such a time', async () => {
  const refused = async (query: string) => errorOf(await rest.ask('GET', `/acme/admin/audit?${query}`));
  for (const since of ['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'])
    expect(await refused(`since=${encodeURIComponent(since)}`)).toBe('since must be an ISO 8601 date-time such as 2026-06-25T12:00:00Z');
  expect(await page({ since: '0001-01-01T00:00:00Z' })).toMatchObject({ since: '0001-01-01T00:00:00.000Z' });
  const cursor = (ts: number) => Buffer.from(`0.${'0'.repeat(32)}.1.${ts}`).toString('base64url');
  for (const ms of [Date.parse('0001-01-01T00:00:00Z') - 1, Date.parse('9999-12-31T23:59:59.999Z') + 1])
    expect(await refused(`cursor=${cursor(ms)}`)).toContain('cursor must be');
  expect((await rest.ask('GET', `/acme/admin/audit?cursor=${cursor(Date.parse('0001-01-01T00:00:00Z'))}`)).status).toBe(200);
});
