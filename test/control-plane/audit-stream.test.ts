import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createTailAudit } from '../../control-plane/audit/operations/tail-audit.ts';
import { watchHeads } from '../../control-plane/audit/store/watch-heads.ts';
import { drain, keyEnds, type Live, listen, makeWatcherKey } from './live.ts';
import { createRest, errorOf, field, type Rest } from './rest.ts';
import { entry, records, ship, spool } from './spool.ts';

let rest: Rest;
let open: Live[] = [];
beforeEach(async () => {
  rest = await createRest();
});
afterEach(async () => {
  vi.useRealTimers();
  for (const live of open) live.close();
  open = [];
  await rest.close();
});

async function tail(asked: Parameters<typeof listen>[1] = {}): Promise<Live> {
  const live = await listen(rest, asked);
  open.push(live);
  return live;
}

const ids = (letter: string, from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `${spool(letter)}-${from + at}`);
const day = (n: number): string => `2026-06-${String(n).padStart(2, '0')}T00:00:00.000Z`;
const ownerActor = (): Promise<Actor> => authenticate(rest.deps, `Bearer ${rest.owner}`);

/** All ids that a query pages through, newest first. */
async function pageThrough(): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await rest.ask('GET', `/acme/admin/audit?since=2026-01-01&limit=20${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const page = body as { readonly entries: readonly { readonly id: string }[]; readonly next?: string };
    found.push(...page.entries.map(({ id }) => id));
    cursor = page.next ?? null;
  }
  return found;
}

describe('the stream shows', () => {
  test('what arrives after the stream began, and nothing from before', async () => {
    await ship(rest, spool('a'), records(1, 3));
    const live = await tail();
    await ship(rest, spool('a'), records(4, 6));
    expect(await live.take(3)).toEqual(ids('a', 4, 6));
  });

  test('an entry exactly as a query shows it, under its place in the ingest sequence', async () => {
    const live = await tail();
    await ship(rest, spool('a'), records(1, 1));
    const block = await live.next();
    const { body } = await rest.ask('GET', '/acme/admin/audit');
    expect(block).toEqual({ comment: null, event: 'entry', id: 1, data: Object(body).entries[0] });
  });

  test('an entry that is ingested days late, when it is ingested', async () => {
    const live = await tail();
    await ship(rest, spool('a'), records(1, 2));
    await ship(
      rest,
      spool('b'),
      records(1, 1, () => entry({ ts: day(2) })),
    );
    await ship(rest, spool('a'), records(3, 3));
    expect(await live.take(4)).toEqual([...ids('a', 1, 2), ...ids('b', 1, 1), ...ids('a', 3, 3)]);
  });

  test('only what passes the filters', async () => {
    const live = await tail({ query: 'tool=x&decision=deny' });
    await ship(
      rest,
      spool('a'),
      records(1, 30, (n) => entry({ tool: n % 2 ? 'x' : 'y', decision: n % 3 ? 'allow' : 'deny' })),
    );
    expect(await live.take(5)).toEqual([3, 9, 15, 21, 27].map((n) => `${spool('a')}-${n}`));
  });

  test('nothing of another workspace', async () => {
    const live = await tail();
    await ship(rest, spool('a'), records(1, 3), 'other');
    await ship(rest, spool('b'), records(1, 1));
    expect(await live.take(1)).toEqual(ids('b', 1, 1));
  });
});

describe('Last-Event-ID', () => {
  test('continues right after it, in order, over pages, for everything ingested meanwhile', async () => {
    await ship(rest, spool('a'), records(1, 900));
    await ship(
      rest,
      spool('b'),
      records(1, 700, (n) => entry({ ts: day(1 + (n % 20)) })),
    );
    const live = await tail({ lastEventId: 100 });
    await ship(rest, spool('a'), records(901, 905));
    expect(await live.take(1505)).toEqual([...ids('a', 101, 900), ...ids('b', 1, 700), ...ids('a', 901, 905)]);
  });

  test('of the last entry that a client saw, however often it reconnects, leaves no gap and repeats nothing', async () => {
    const seen: unknown[] = [];
    let last = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      await ship(rest, spool('a'), records(turn * 20 + 1, turn * 20 + 20));
      const live = await tail({ lastEventId: last });
      for (let n = 0; n < 13; n += 1) {
        const block = await live.next();
        seen.push(block?.data?.['id']);
        last = block?.id ?? last;
      }
      live.close();
    }
    expect(seen).toEqual(ids('a', 1, 156));
  });

  test('the greeting names the position of a client that has seen nothing yet', async () => {
    await ship(rest, spool('a'), records(1, 7));
    const answer = createTailAudit();
    const items = await answer(rest.deps, await ownerActor(), { parameters: {}, lastEventId: undefined });
    const first = await items[Symbol.asyncIterator]().next();
    expect(first.value).toEqual({ kind: 'note', text: 'listening', ingest: 7 });
  });

  test('0 shows everything that is kept, also past days that were dropped', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 40, (n) => entry({ ts: day(1 + Math.floor((n - 1) / 10)) })),
    );
    await rest.pool.query('drop table audit_entry_20260602');
    const live = await tail({ lastEventId: 0 });
    expect(await live.take(30)).toEqual([...ids('a', 1, 10), ...ids('a', 21, 40)]);
  });

  test('with a filter that matches few entries, over many pages', async () => {
    for (let n = 0; n < 6; n += 1) {
      await ship(
        rest,
        spool('a'),
        records(n * 1000 + 1, n * 1000 + 1000, (at) => entry({ tool: at % 2500 === 0 ? 'rare' : 'common' })),
      );
    }
    const live = await tail({ query: 'tool=rare', lastEventId: 0 });
    expect(await live.take(2)).toEqual([`${spool('a')}-2500`, `${spool('a')}-5000`]);
  });

  test('that this stream never sent is refused', async () => {
    await ship(rest, spool('a'), records(1, 2));
    for (const id of ['-1', '1.5', '0x10', '1e3', 'abc', '', '01', '9999999999999999999', '1, 2', '3']) {
      const answer = await rest.ask('GET', '/acme/admin/audit/stream', { headers: { 'last-event-id': id } });
      expect(answer.status, id).toBe(400);
      expect(errorOf(answer), id).toContain('Last-Event-ID must be the id of an event of this stream');
    }
  });
});

describe('an open stream', () => {
  test.each(keyEnds)('ends when %s, and says why', async (_, end) => {
    const { key, id } = await makeWatcherKey(rest);
    const live = await tail({ key });
    await end(rest, id);
    expect(await drain(live)).toEqual(['ended: the key was revoked or has expired']);
  });

  test('of a client that does not read shows a revoked key only what was already sent', async () => {
    const key = await rest.keyOf('admin');
    const big = 'x'.repeat(6000);
    for (let n = 0; n < 4; n += 1)
      await ship(
        rest,
        spool('a'),
        records(n * 1000 + 1, n * 1000 + 1000, () => entry({ input: big })),
      );
    let reads = 0;
    rest.deps.readingPool.on('acquire', () => (reads += 1));
    const items = await createTailAudit({ keepAliveMs: 15_000, recheckMs: 0 })(rest.deps, await authenticate(rest.deps, `Bearer ${key}`), {
      parameters: {},
      lastEventId: '0',
    });
    const iterator = items[Symbol.asyncIterator]();
    for (let n = 0; n < 10; n += 1) await iterator.next();
    // One page is held, however many there are, until its last entry is read.
    expect(reads).toBe(1);
    await rest.ask('DELETE', '/acme/admin/members/admin-1');
    expect((await iterator.next()).value).toMatchObject({ kind: 'note', text: 'ended: the key was revoked or has expired' });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test('sends a keep-alive with its position while nothing happens', async () => {
    await ship(rest, spool('a'), records(1, 3));
    const stop = new AbortController();
    const items = await createTailAudit({ keepAliveMs: 20, recheckMs: 2_000 })(
      rest.deps,
      await ownerActor(),
      { parameters: { tool: 'none' }, lastEventId: '0' },
      { signal: stop.signal },
    );
    const notes: unknown[] = [];
    for await (const item of items) {
      notes.push(item);
      if (notes.length === 3) stop.abort();
    }
    expect(notes).toEqual([
      { kind: 'note', text: 'listening', ingest: 0 },
      { kind: 'note', text: 'alive', ingest: 3 },
      { kind: 'note', text: 'alive', ingest: 3 },
    ]);
  });

  test('ends when the control plane stops, after a second at most, whether its client reads or not', async () => {
    const reading = await tail();
    for (let n = 0; n < 3; n += 1)
      await ship(
        rest,
        spool('a'),
        records(n * 1000 + 1, n * 1000 + 1000, () => entry({ input: 'x'.repeat(8000) })),
      );
    await tail({ lastEventId: 0 });
    const ended = drain(reading).catch(() => 'cut');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const stopped = rest.app.close();
    await ended;
    vi.advanceTimersByTime(1_000);
    await stopped;
  });
});

describe('the watch of the heads', () => {
  test('asks the database once per turn for all waiting streams, and never when none waits', async () => {
    let asked = 0;
    const db = {
      query: (async (_text: string, [workspaceIds]: [readonly number[]]) => {
        asked += 1;
        return { rows: asked < 3 ? [] : workspaceIds.map((id) => ({ workspace_id: String(id), ingest: '5' })) };
      }) as unknown as typeof rest.pool.query,
    };
    const heads = watchHeads(db, 1);
    const { signal } = new AbortController();
    const waiting = [1, 1, 1, 2].map((workspaceId) => heads.waitBeyond({ workspaceId, ingest: 4 }, 5_000, signal));
    expect(await Promise.all(waiting)).toEqual([5, 5, 5, 5]);
    expect(asked).toBe(3);
    expect(await heads.waitBeyond({ workspaceId: 1, ingest: 5 }, 10, signal)).toBeNull();
    const before = asked;
    await new Promise((done) => setImmediate(done));
    expect(asked - before).toBeLessThanOrEqual(1);
  });
});

test('streams and pages show each entry exactly once while spools are ingested at once, some entries days late', async () => {
  const spools = ['a', 'b', 'c', 'd'];
  const rounds = 15;
  await ship(
    rest,
    spool('e'),
    records(1, 300, (n) => entry({ ts: day(1 + (n % 20)), tool: n % 2 ? 'x' : 'y' })),
  );
  const live = await Promise.all([tail(), tail({ query: 'tool=x' }), tail({ lastEventId: 0 })]);
  let shipped = false;
  const shipping = Promise.all(
    spools.map(async (letter, which) => {
      for (let round = 0; round < rounds; round += 1) {
        const of = (n: number) => entry({ tool: n % 2 ? 'x' : 'y', ts: n % 5 ? '2026-06-25T11:59:00.000Z' : day(1 + ((n + which) % 20)) });
        await ship(rest, spool(letter), records(round * 10 + 1, round * 10 + 10, of));
      }
    }),
  ).then(() => (shipped = true));
  while (!shipped) {
    const paged = await pageThrough();
    expect(new Set(paged).size).toBe(paged.length);
    expect(paged).toEqual(expect.arrayContaining([...ids('e', 1, 300)]));
  }
  const total = spools.length * rounds * 10;
  const [everything, some, resumed] = await Promise.all([live[0].take(total), live[1].take(total / 2), live[2].take(total + 300)]);
  await shipping;
  expect(everything.toSorted()).toEqual(spools.flatMap((letter) => ids(letter, 1, rounds * 10)).toSorted());
  expect(resumed).toEqual([...ids('e', 1, 300), ...everything]);
  expect(some).toEqual(everything.filter((id) => Number(id.split('-')[1]) % 2 === 1));
  // Also in the order of their spools.
  for (const letter of spools) expect(everything.filter((id) => id.startsWith(letter))).toEqual(ids(letter, 1, rounds * 10));
  const exported = String((await rest.ask('GET', '/acme/admin/audit/export')).body);
  expect(
    exported
      .trimEnd()
      .split('\n')
      .map((line) => field({ status: 200, body: JSON.parse(line), headers: {} }, 'id')),
  ).toEqual(resumed);
  expect((await pageThrough()).toSorted()).toEqual(resumed.toSorted());
});

describe('access', () => {
  test('needs admin.audit.read, and the workspace of the key', async () => {
    const none = await rest.keyOf('owner', ['agents.read'], 'owner-2');
    for (const path of ['stream', 'export']) {
      expect(errorOf(await rest.ask('GET', `/acme/admin/audit/${path}`, { key: none }))).toContain('admin.audit.read');
      expect((await rest.ask('GET', `/acme/admin/audit/${path}`, { key: rest.other })).status).toBe(403);
      expect((await rest.ask('GET', `/acme/admin/audit/${path}`, { key: null })).status).toBe(401);
    }
    const member = await rest.keyOf('member', ['admin.audit.read']);
    expect((await rest.ask('GET', '/acme/admin/audit/export', { key: member })).status).toBe(200);
  });
});
