// The ledger of leases over a real PostgreSQL, by several control planes at once.
import {
  digestText,
  type OnRecall,
  type QuotaAsk,
  type QuotaAnswer,
  type QuotaCounter,
  quotaCounterKey,
  type QuotaLink,
} from '@tollgate/proto/contract';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createLedger } from '../../control-plane/quota/operations/ledger.ts';
import type { Asker } from '../../control-plane/quota/operations/plan-ask.ts';
import { createRecalls } from '../../control-plane/quota/operations/recalls.ts';
import { removeUnusedCounters } from '../../control-plane/quota/operations/remove-unused-counters.ts';
import { createCrowdedKeys, type CrowdedKeys, removeExcessCounters } from '../../control-plane/quota/operations/remove-excess-counters.ts';
import type { QuotaPolicy } from '../../control-plane/publish/quota-policy.ts';
import { lockCounters, recallChannel, writeCounters } from '../../control-plane/quota/store.ts';
import { freshCounter } from '../../control-plane/quota/rules/ledger.ts';
import { watchRevisions } from '../../control-plane/publish/store/watch-revisions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holderOf, runOf } from '../support/lease-names.ts';
import { eventually } from '../support/programs.ts';

const max = 60;
const revision = { epoch: 'e', number: 7 };
const policy: QuotaPolicy = {
  revision,
  windowSeconds: 60,
  limitMax: (id) => (id === 'gone' ? null : max),
  capOf: (agentId) => (agentId === 'agent' ? 10 : null),
  hasSubject: (sub) => sub !== 'absent',
  hasKey: (id) => id === 'key-1',
};

let database: TestDatabase;
let workspaceId = 0;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    "insert into workspace (slug, frozen, revision, created_at, raised_at) select 'w' || count(*), false, 1, now(), now() from workspace returning id",
  );
  workspaceId = Number(rows[0]?.id);
});

interface Replica {
  open(holder: string, onRecall?: OnRecall, asker?: Partial<Asker>): QuotaLink;
  readonly demanded: () => number;
  readonly watch: ReturnType<typeof watchRevisions>;
}

/** A control plane, reduced to the parts that leases use. */
function startReplica(crowded: CrowdedKeys = createCrowdedKeys(), now = () => performance.now()): Replica {
  const log = { warn: () => undefined };
  const pool = new Pool(database.connection);
  const recalls = createRecalls({ pool, now: () => performance.now(), log });
  const told = { raised: () => undefined, removed: () => undefined, restored: () => undefined };
  const watch = watchRevisions({ pool, connection: database.connection, log }, told, {
    [recallChannel]: (payload) => recalls.heard(payload),
  });
  let demanded = 0;
  const ledger = createLedger({
    pool,
    recalls,
    watchPolicy: () => ({ current: policy, first: Promise.resolve(policy), close: () => undefined }),
    metrics: {
      answered: () => undefined,
      falseClaim: () => undefined,
      committed: () => undefined,
      demanded: (asks) => void (demanded += asks),
    },
    crowded,
    now,
  });
  const open: Replica['open'] = (name, onRecall = () => undefined, asker = {}) =>
    ledger.open({ workspaceId, keyId: 'key-1', onlySub: null, ...asker, holder: holderOf(name) }, onRecall);
  onTestFinished(async () => {
    await watch.close();
    await pool.end();
  });
  return { watch, open, demanded: () => demanded };
}

const limit = (id = 'a', originSub = 'ann'): QuotaCounter => ({ kind: 'limit', originSub, id });

const ask = (counter: QuotaCounter = limit(), more: Partial<QuotaAsk> = {}): QuotaAsk => ({
  counter,
  number: 1,
  waiting: 1,
  onlySettles: false,
  max: null,
  made: null,
  revision,
  settled: [],
  ...more,
});

const tokensOf = (answers: readonly QuotaAnswer[]): number =>
  answers.reduce((sum, { result }) => sum + (result.kind === 'grant' ? result.tokens : 0), 0);

const resultOf = async (link: QuotaLink, one: QuotaAsk): Promise<QuotaAnswer['result']> => {
  const [answer] = await link.ask([one]);
  if (answer === undefined) throw new Error('no answer');
  return answer.result;
};

const grantOf = async (link: QuotaLink, one: QuotaAsk) => {
  const result = await resultOf(link, one);
  if (result.kind !== 'grant') throw new Error(`answered ${result.kind}`);
  return result;
};

const shuffled = <T>(list: readonly T[]): readonly T[] =>
  list
    .map((item) => [Math.random(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);

/** The recalls that a sidecar of one control plane receives while another one waits at the other. */
async function recalled(holdsAt: Replica, waitsAt: Replica, holder: string): Promise<readonly QuotaCounter[]> {
  let heard: readonly QuotaCounter[] = [];
  const holding = holdsAt.open(holder, (counters) => (heard = counters));
  const waiting = waitsAt.open('waits');
  let grant = await grantOf(holding, ask(limit(holder), { waiting: max }));
  while (heard.length === 0) {
    // A listener needs a moment to start; a grant that ends meanwhile is requested again.
    const settled = [{ grantId: grant.id, used: [] }];
    grant = await grantOf(holding, ask(limit(holder), { waiting: max, settled }));
    await resultOf(waiting, ask(limit(holder)));
  }
  return heard;
}

test("a request with a lower limit than the ledger's is granted under its own, and one with a higher limit under the ledger's", async () => {
  const link = startReplica().open('behind');
  const lower = await grantOf(link, ask(limit('moved'), { waiting: max, max: 3 }));
  expect(lower).toMatchObject({ tokens: 3, max: 3 });
  expect(await resultOf(link, ask(limit('moved'), { max: 3 }))).toMatchObject({ kind: 'full' });
  expect(await grantOf(link, ask(limit('moved'), { waiting: max, max: max + 5 }))).toMatchObject({ tokens: max - 3, max });
});

test('exactly the limit is granted to 300 concurrent requests of 30 sidecars on three control planes', async () => {
  const replicas = [startReplica(), startReplica(), startReplica()];
  const links = Array.from({ length: 30 }, (_, at) => replicas[at % 3]?.open(`sidecar-${at}`) ?? []).flat();
  const answers = await Promise.all(Array.from({ length: 10 }, () => links.map((link) => link.ask([ask()]))).flat());
  expect(tokensOf(answers.flat())).toBe(max);
  const { rows } = await database.pool.query<{ held: number }>(
    "select sum((one->>'tokens')::int)::int as held from quota_counter, jsonb_array_elements(state->'grants') as one where workspace_id = $1",
    [workspaceId],
  );
  expect(rows).toEqual([{ held: max }]);
});

test('messages of many counters in any order do not deadlock, and each counter is granted its limit', async () => {
  const replicas = [startReplica(), startReplica(), startReplica()];
  const counters = Array.from({ length: 40 }, (_, at) => limit(`l${at}`));
  const links = Array.from({ length: 24 }, (_, at) => replicas[at % 3]?.open(`s${at}`) ?? []).flat();
  const answers = await Promise.all(links.map((link) => link.ask(shuffled(counters).map((counter) => ask(counter, { waiting: 5 })))));
  const granted = new Map<string, number>();
  for (const answer of answers.flat()) granted.set(answer.counter.id, (granted.get(answer.counter.id) ?? 0) + tokensOf([answer]));
  expect([...granted.values()]).toEqual(counters.map(() => max));
});

test('a holder that has gone before its answer is granted nothing, and what it returns is accepted', async () => {
  const replica = startReplica();
  const going = replica.open('going');
  const { id, tokens } = await grantOf(going, ask(limit('left')));
  // Another session holds the row, as a frozen database does.
  const blocker = new Client(database.connection);
  await blocker.connect();
  await blocker.query('begin');
  await blocker.query('select 1 from quota_counter for update');
  const late = going.ask([ask(limit('left'), { waiting: 1_000, settled: [{ grantId: id, used: [{ ageMs: 0, count: 1 }] }] })]);
  await eventually(
    () => blocker.query('select 1 from pg_stat_activity where wait_event_type = $1 and datname = current_database()', ['Lock']),
    ({ rowCount }) => rowCount === 1,
  );
  going.close();
  await blocker.query('commit');
  await blocker.end();
  await late;
  const left = await grantOf(replica.open('staying'), ask(limit('left'), { waiting: 1_000 }));
  expect(left.tokens).toBeGreaterThan(tokens);
  expect(left).toMatchObject({ shared: false, tokens: left.max - 1 });
});

test('the answers of a message have the order of its requests, and repeat their numbers', async () => {
  const link = startReplica().open('s');
  const asked = ['gone', 'b', 'a', 'c'].map((id, number) => ask(limit(id), { number }));
  const answers = await link.ask(asked);
  expect(answers.map(({ counter, number, result }) => [counter.id, number, result.kind])).toEqual([
    ['gone', 0, 'none'],
    ['b', 1, 'grant'],
    ['a', 2, 'grant'],
    ['c', 3, 'grant'],
  ]);
});

test('counters are separate by subject, limit, run and workspace', async () => {
  const replica = startReplica();
  const link = replica.open('s');
  const waiting = { waiting: max };
  expect(
    tokensOf(await link.ask([ask(limit('a', 'ann'), waiting), ask(limit('a', 'bob'), waiting), ask(limit('b', 'ann'), waiting)])),
  ).toBe(3 * max);
  expect(await resultOf(link, ask(runOf('agent')))).toMatchObject({ kind: 'grant', tokens: 10, ttlMs: null });
  expect(await resultOf(link, ask(runOf('absent')))).toEqual({ kind: 'none' });
  await database.pool.query(
    "insert into workspace (slug, frozen, revision, created_at, raised_at) values ('apart', false, 1, now(), now())",
  );
  const { rows } = await database.pool.query<{ id: string }>("select id from workspace where slug = 'apart'");
  workspaceId = Number(rows[0]?.id);
  expect(await resultOf(replica.open('s'), ask(limit('a', 'ann'), waiting))).toMatchObject({ kind: 'grant', tokens: max });
});

test('a grant of one control plane can be returned at another, by the same sidecar', async () => {
  const [first, second] = [startReplica().open('s'), startReplica().open('s')];
  const { id } = await grantOf(first, ask(limit(), { waiting: max }));
  expect((await resultOf(second, ask())).kind).toBe('full');
  const settled = [{ grantId: id, used: [{ ageMs: 1, count: 20 }] }];
  expect(await resultOf(second, ask(limit(), { onlySettles: true, settled }))).toEqual({ kind: 'taken' });
  expect(await resultOf(first, ask(limit(), { waiting: max }))).toMatchObject({ tokens: 40 });
});

test('a message that only returns unknown grants creates no row', async () => {
  const link = startReplica().open('s');
  const settled = [{ grantId: 5, used: [] }];
  expect(await resultOf(link, ask(limit(), { onlySettles: true, settled }))).toEqual({ kind: 'taken' });
  const { rowCount } = await database.pool.query('select from quota_counter where workspace_id = $1', [workspaceId]);
  expect(rowCount).toBe(0);
});

test.each([
  ['a revision that is not heard of yet', { epoch: 'e', number: 8 }, { kind: 'later', askAfterMs: 30, held: false }],
  ['another epoch', { epoch: 'f', number: 1 }, { kind: 'later', askAfterMs: 200, held: false }],
] as const)('%s: it must ask again later, and is granted nothing', async (_, theirs, result) => {
  const link = startReplica().open('s');
  expect(await resultOf(link, ask(limit(), { revision: theirs }))).toEqual(result);
});

test('grants that a sidecar of an unknown revision returns are accepted; of another epoch nothing is, also no false return', async () => {
  const link = startReplica().open('s');
  const { id } = await grantOf(link, ask(limit(), { waiting: max }));
  const settled = [{ grantId: id, used: [] }];
  await link.ask([ask(limit(), { revision: { epoch: 'f', number: 1 }, settled: [{ grantId: id + 9, used: [] }] })]);
  expect((await resultOf(link, ask())).kind).toBe('full');
  await link.ask([ask(limit(), { revision: { epoch: 'e', number: 8 }, settled })]);
  expect((await resultOf(link, ask())).kind).toBe('grant');
});

test('a false message is refused and changes nothing; other messages in its transaction are answered', async () => {
  const replica = startReplica();
  const [honest, liar] = [replica.open('honest'), replica.open('liar')];
  const { id } = await grantOf(liar, ask(limit('mine')));
  const falseAsk = ask(limit('mine'), { settled: [{ grantId: id, used: [{ ageMs: 0, count: 61 }] }] });
  // The first begins a transaction; the others wait for it, and share the next.
  const [, lied, answered] = await Promise.allSettled([
    honest.ask([ask(limit('x'))]),
    liar.ask([ask(limit('y')), falseAsk]),
    honest.ask([ask(limit('mine'))]),
  ]);
  expect(lied).toMatchObject({
    status: 'rejected',
    reason: { code: 'bad_request', message: expect.stringContaining(`61 calls of grant ${id}`) },
  });
  expect(answered).toMatchObject({ status: 'fulfilled', value: [{ result: { kind: 'grant', shared: true } }] });
  expect(await resultOf(honest, ask(limit('y')))).toMatchObject({ shared: false });
});

test('grants are recalled from their holders, whichever control plane their stream is on', async () => {
  const [here, there] = [startReplica(), startReplica()];
  expect(await recalled(here, here, 'near')).toEqual([limit('near')]);
  expect(await recalled(there, here, 'far')).toEqual([limit('far')]);
});

test('without its listener a control plane answers as before, and receives recalls again after it is restored', async () => {
  const [here, there] = [startReplica(), startReplica()];
  const holder = there.open('holder');
  const { id } = await grantOf(holder, ask(limit(), { waiting: max }));
  await database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%listen %' and pid <> pg_backend_pid()",
  );
  const asking = here.open('asks');
  expect((await resultOf(asking, ask())).kind).toBe('later');
  await holder.ask([ask(limit(), { onlySettles: true, settled: [{ grantId: id, used: [] }] })]);
  expect((await resultOf(asking, ask())).kind).toBe('grant');
  expect(await recalled(there, here, 'back')).toEqual([limit('back')]);
});

test('used-up counters are removed, those that count are not, and the cleanup does not wait for one in use', async () => {
  const link = startReplica().open('s');
  for (const id of ['spent', 'held', 'kept']) await link.ask([ask(limit(id))]);
  const { rows } = await database.pool.query<{ key: string }>('select key from quota_counter where workspace_id = $1 order by key', [
    workspaceId,
  ]);
  const [spent = '', held = '', kept = ''] = rows.map(({ key }) => key);
  await database.pool.query("update quota_counter set kept_until = now() - interval '1 s' where key = any($1)", [[spent, held]]);
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    await client.query('select from quota_counter where key = $1 for update', [held]);
    expect(await removeUnusedCounters(database)).toBe(1);
    await client.query('rollback');
  } finally {
    client.release();
  }
  const left = await database.pool.query<{ key: string }>('select key from quota_counter where workspace_id = $1 order by key', [
    workspaceId,
  ]);
  expect(left.rows.map(({ key }) => key)).toEqual([held, kept]);
  expect((await resultOf(link, ask(limit('spent')))).kind).toBe('grant');
});

test('a message reads the rows that it names, also in a table that has grown since its statistics were made', async () => {
  await database.pool.query('analyze quota_counter');
  const client = await database.pool.connect();
  onTestFinished(() => client.release());
  await client.query('begin');
  await client.query(
    `insert into quota_counter (workspace_id, key, key_id, state, kept_until)
     select $1, encode(sha256(convert_to(number::text, 'UTF8')), 'hex'), 'key-1', '{}', now() + interval '1 day' from generate_series(1, 5000) as number`,
    [workspaceId],
  );
  const named = Array.from({ length: 100 }, (_, at) => digestText(String(at + 1)));
  const { rows, nowMs } = await lockCounters(client, workspaceId, named);
  expect(rows.map(({ key }) => key)).toEqual(named.toSorted());
  const written = named.map((key) => ({ key, state: freshCounter(nowMs), keptUntilMs: nowMs }));
  await writeCounters(client, workspaceId, written);
  const { rows: read } = await client.query<{ rows: number }>(
    "select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'quota_counter'",
  );
  const { rowCount: changed } = await client.query("select from quota_counter where workspace_id = $1 and state ? 'nextGrant'", [
    workspaceId,
  ]);
  await client.query('rollback');
  expect(changed).toBe(named.length);
  // Each statement reads each row once, and some have another version on the page.
  expect(read[0]?.rows).toBeLessThan(5 * named.length);
});

test('in a removed workspace nothing is granted', async () => {
  const link = startReplica().open('s');
  await database.pool.query('delete from workspace where id = $1', [workspaceId]);
  await expect(link.ask([ask()])).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('no holder is granted more than the limit at once, however many waiting calls it reports', async () => {
  const replica = startReplica();
  const greedy = replica.open('greedy');
  expect(await resultOf(greedy, ask(limit(), { waiting: 4_000_000_000 }))).toMatchObject({ kind: 'grant', tokens: max });
  expect(await resultOf(greedy, ask(runOf('agent'), { waiting: 4_000_000_000 }))).toMatchObject({ kind: 'grant', tokens: 10 });
});

test('a library asks only for its own subject, and a process for existing subjects and keys', async () => {
  const replica = startReplica();
  const library = replica.open('library', undefined, { onlySub: 'ann' });
  const process = replica.open('process');
  expect(await resultOf(library, ask(limit('a', 'ann')))).toMatchObject({ kind: 'grant' });
  expect(await resultOf(library, ask(runOf('agent', { sessionId: 'own' })))).toMatchObject({ kind: 'grant' });
  const beyond = [limit('a', 'bob'), runOf('agent', { sub: 'bob' })];
  for (const counter of beyond) expect(await resultOf(library, ask(counter, { waiting: max }))).toMatchObject({ kind: 'later' });
  for (const counter of beyond) expect(await resultOf(process, ask(counter, { waiting: max }))).toMatchObject({ kind: 'grant' });
  const absent = [limit('a', 'absent'), runOf('agent', { sub: 'absent' }), runOf('agent', { keyId: 'key-2' })];
  for (const counter of absent) expect(await resultOf(process, ask(counter))).toMatchObject({ kind: 'later' });
  expect(replica.demanded()).toBe(5);
  const { rows } = await database.pool.query('select count(*)::int as counters from quota_counter where workspace_id = $1', [workspaceId]);
  expect(rows).toEqual([{ counters: 4 }]);
});

test('returned grants are accepted, also of a subject that was removed since', async () => {
  const replica = startReplica();
  const granted = await grantOf(replica.open('s'), ask(limit(), { waiting: max }));
  const narrowed = replica.open('s', undefined, { onlySub: 'bob' });
  const settled = [{ grantId: granted.id, used: [] }];
  expect(await resultOf(narrowed, ask(limit(), { settled }))).toMatchObject({ kind: 'later' });
  expect(await resultOf(replica.open('other'), ask(limit(), { waiting: max }))).toMatchObject({ kind: 'grant', tokens: max });
});

test('a key with its maximum of run counters begins no new one; other keys do, and its existing ones continue', async () => {
  const crowded = createCrowdedKeys();
  const replica = startReplica(crowded);
  const [flood, other] = [replica.open('flood'), replica.open('other', undefined, { keyId: 'key-2' })];
  const held: number[] = [];
  for (let n = 0; n < 5; n += 1) held.push((await grantOf(flood, ask(runOf('agent', { sessionId: `s${n}` }), { waiting: 1 }))).id);
  await removeExcessCounters({ pool: database.pool, crowded }, 5);
  const fresh = ask(runOf('agent', { sessionId: 'new' }));
  expect(await resultOf(flood, fresh)).toMatchObject({ kind: 'later' });
  const settled = [{ grantId: held[1] ?? 0, used: [{ ageMs: 0, count: 1 }] }];
  const again = ask(runOf('agent', { sessionId: 's1' }), { number: 2, waiting: 3, settled });
  expect(await resultOf(flood, again)).toMatchObject({ kind: 'grant' });
  expect(await resultOf(flood, ask(limit()))).toMatchObject({ kind: 'grant' });
  expect(await resultOf(other, fresh)).toMatchObject({ kind: 'grant' });
  expect(replica.demanded()).toBe(1);
});

test('from a full share, counters unused for an hour are evicted first, and never one that a holder uses', async () => {
  const crowded = createCrowdedKeys();
  const link = startReplica(crowded).open('flood');
  for (let n = 0; n < 6; n += 1) {
    const counter = runOf('agent', { sessionId: `s${n}` });
    const { id } = await grantOf(link, ask(counter));
    if (n > 0) await link.ask([ask(counter, { onlySettles: true, settled: [{ grantId: id, used: [{ ageMs: 0, count: 1 }] }] })]);
  }
  await database.pool.query(`update quota_counter set kept_until = kept_until - interval '2 hours' where workspace_id = $1 and key <> $2`, [
    workspaceId,
    digestText(quotaCounterKey(runOf('agent', { sessionId: 's5' }))),
  ]);
  const left = async (): Promise<number> =>
    (await database.pool.query('select 1 from quota_counter where workspace_id = $1', [workspaceId])).rowCount ?? 0;
  const spent = await grantOf(link, ask(limit(), { waiting: max }));
  await link.ask([ask(limit(), { onlySettles: true, settled: [{ grantId: spent.id, used: [{ ageMs: 0, count: max }] }] })]);
  await removeExcessCounters({ pool: database.pool, crowded }, 6);
  expect(await left()).toBe(6);
  await removeExcessCounters({ pool: database.pool, crowded }, 2);
  // The one that is held, the one of this hour, and that of a limit, which belongs to no share.
  expect(await left()).toBe(3);
  expect(await resultOf(link, ask(limit(), { waiting: 1 }))).toMatchObject({ kind: 'full' });
  expect(crowded.has({ workspaceId, keyId: 'key-1' })).toBe(true);
});

test('a run that is begun by two sidecars at once is granted its cap once, and a repeated request gets its grant again', async () => {
  const replicas = [startReplica(), startReplica()];
  for (const replica of replicas) await replica.open('first').ask([ask(limit())]);
  const links = Array.from({ length: 8 }, (_, at) => replicas[at % 2]?.open(`s${at}`) ?? []).flat();
  const runs = Array.from({ length: 20 }, (_, at) => runOf('agent', { sessionId: `both-${at}` }));
  const answers = await Promise.all(links.map((link) => link.ask(shuffled(runs).map((run) => ask(run)))));
  for (const run of runs) expect(tokensOf(answers.flat().filter(({ counter }) => counter.id === run.id))).toBe(10);
  for (const [at, link] of links.entries()) {
    const granted = (answers[at] ?? []).filter(({ result }) => result.kind === 'grant');
    link.close();
    const again = replicas[(at + 1) % 2]?.open(`s${at}`);
    const repeated =
      granted.length === 0 ? [] : await again?.ask(granted.map(({ counter }) => ask(runs.find(({ id }) => id === counter.id))));
    expect(repeated?.map(({ result }) => (result.kind === 'grant' ? result.id : result.kind))).toEqual(
      granted.map(({ result }) => (result.kind === 'grant' ? result.id : null)),
    );
  }
});

test('a run is begun by the time of the database, also after the time of the control plane has stopped for days', async () => {
  let stoppedMs = 0;
  const replica = startReplica(createCrowdedKeys(), () => performance.now() - stoppedMs);
  const holder = replica.open('holder');
  await holder.ask([ask(limit())]);
  stoppedMs = 3 * 24 * 3_600_000;
  expect(await resultOf(holder, ask(runOf('agent', { sessionId: 'slept' })))).toMatchObject({ kind: 'grant', tokens: 10 });
  await removeUnusedCounters({ pool: database.pool });
  expect(await resultOf(replica.open('other'), ask(runOf('agent', { sessionId: 'slept' })))).toMatchObject({ kind: 'later', held: true });
});
