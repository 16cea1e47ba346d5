// The edge of leases: which clients are accepted, which messages a stream may send, and that a false message ends its
// own stream and nothing else.
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { credentials, Metadata } from '@grpc/grpc-js';
import { type Ask, createQuotaClient, type LeaseRequest, type LeaseResponse__Output } from '@tollgate/proto';
import { bounds, type QuotaAsk, type RunOf } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';
import { shareTimer } from '../../control-plane/base/shared-timer.ts';
import { lookMs } from '../../control-plane/grpc/watch-key.ts';
import { type LeaseStream, serveLease } from '../../control-plane/grpc/quota.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createStreamSeats } from '../../control-plane/grpc/stream-seats.ts';
import { holderSecret, runOf } from '../support/lease-names.ts';
import { leaseStreams, openLease, type Plane, startPlane, type Wire } from '../support/plane.ts';
import { field } from './rest.ts';

type Lease = Wire<LeaseRequest, LeaseResponse__Output>;
type Answer = NonNullable<LeaseResponse__Output['answers']>['answers'][number];

let plane: Plane;
let key = '';
let keyId = '';
let epoch = '';
let written = 0;

beforeAll(async () => {
  plane = await startPlane();
  ({ key, id: keyId } = await plane.issueKey(['sidecar.sync']));
  await plane.pool.query(
    `insert into member (workspace_id, uid, email, role, created_at)
     select id, uid, uid || '@acme.test', 'member', now() from workspace cross join unnest($1::text[]) as uid where slug in ('acme', 'other')`,
    [subjects],
  );
  written = await plane.writePolicy({
    defaults: { api: { rateLimit: 60 } },
    tools: { 'a b."c"': { background: { rateLimit: 4 } }, none: { api: { permission: 'deny' } } },
  });
  const { rows } = await plane.pool.query<{ epoch: string }>('select epoch from deployment');
  epoch = rows[0]?.epoch ?? '';
});

afterAll(() => plane.close());

/** Limits are requested for subjects that exist. */
const subjects = [
  ...Array.from({ length: 200 }, (_, at) => `sub-${at}`),
  's',
  ...Array.from({ length: 7 }, (_, at) => `burst-${at}`),
  'liar',
  'recalled',
];

let holders = 0;
const greet = (name = `boot-${(holders += 1)}`): LeaseRequest => ({ hello: { sidecarId: 'by-hand', holderSecret: holderSecret(name) } });
/** In the form of the wire. */
const sharedRun = (agentId: string, of: Partial<RunOf> = {}) => {
  const { id, of: run } = runOf(agentId, { keyId, sub: 'sub-1', ...of });
  return { id, agentId, ...run, agents: [...run.agents] };
};

const limitOf = (id: string, originSub = `sub-${holders}`) => ({ limit: { originSub, id } });
const everything = 'workspace defaults.api';
const ask = (more: Partial<Ask> = {}): Ask => ({
  counter: limitOf(everything),
  number: 1,
  waiting: 1,
  revision: { epoch, number: written },
  ...more,
});
const asks = (...of: readonly Ask[]): LeaseRequest => ({ asks: { asks: [...of] } });

function open(bootId?: string): Lease {
  const lease = openLease(plane, key);
  lease.write(greet(bootId));
  return lease;
}

async function answerOf(lease: Lease, one: Ask): Promise<Answer> {
  lease.write(asks(one));
  const { answers } = await lease.next();
  const [answer] = answers?.answers ?? [];
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

test('a limit is granted by the rule that sets it, and without such a rule nothing is granted', async () => {
  const lease = open();
  expect((await answerOf(lease, ask({ waiting: 100 }))).grant).toEqual({
    id: expect.any(Number),
    tokens: 60,
    ttlMs: bounds.leaseMs,
    _ttlMs: 'ttlMs',
    max: 60,
    shared: false,
  });
  expect((await answerOf(lease, ask({ waiting: 5 }))).full).toMatchObject({ roomAfterMs: expect.any(Number), shared: false });
  expect((await answerOf(lease, ask({ counter: limitOf('workspace tools["a b.\\"c\\""].background') }))).grant).toMatchObject({ max: 4 });
  for (const id of ['workspace tools["none"].api', 'role:member defaults.api', 'nonsense'])
    expect((await answerOf(lease, ask({ counter: limitOf(id) }))).result).toBe('none');
});

test('a change of a limit takes effect at the next request', async () => {
  const lease = open();
  const id = 'workspace tools["changing"].api';
  const counter = limitOf(id);
  const changing = (rateLimit: number): Promise<number> => plane.writePolicy({ tools: { changing: { api: { rateLimit } } } });
  const asked = async (revision: number): Promise<Answer> => {
    const one = ask({ counter, waiting: 100, revision: { epoch, number: revision } });
    let answer = await answerOf(lease, one);
    // Until this control plane has received it.
    while (answer.result === 'later') answer = await answerOf(lease, one);
    return answer;
  };
  expect((await asked(await changing(10))).grant).toMatchObject({ tokens: 10, max: 10 });
  expect((await asked(await changing(15))).grant).toMatchObject({ tokens: 5, max: 15 });
  expect((await asked(await changing(12))).result).toBe('full');
});

test('the cap of a run is that of its agent, clamped as for every run', async () => {
  const created = await plane.ask('POST', '/api/v1/agents', { body: { name: 'capped', model: 'demo/echo', maxToolCalls: 7 } });
  const lease = open();
  const counter = { run: sharedRun(field(created, 'id')) };
  const revision = { epoch, number: await plane.revision() };
  let answer = await answerOf(lease, ask({ counter, revision, waiting: 0 }));
  while (answer.result === 'later') answer = await answerOf(lease, ask({ counter, revision, waiting: 0 }));
  expect(answer.grant).toMatchObject({ id: expect.any(Number), tokens: 7, max: 7, shared: false, ageMs: expect.any(Number) });
});

test('a revision of another control plane is granted nothing, and the stream continues', async () => {
  const lease = open();
  expect((await answerOf(lease, ask({ revision: { epoch: 'elsewhere', number: 1 } }))).result).toBe('later');
  expect((await answerOf(lease, ask())).result).toBe('grant');
});

test('messages that are written at once are answered one after the other, in their order', async () => {
  const lease = open();
  for (let number = 1; number <= 200; number += 1) lease.write(asks(ask({ number, counter: limitOf(everything, `burst-${number % 7}`) })));
  const numbers: number[] = [];
  while (numbers.length < 200) for (const { number } of (await lease.next()).answers?.answers ?? []) numbers.push(number);
  expect(numbers).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
});

test('the last message of a stream that ends is answered', async () => {
  const client = createQuotaClient(plane.address(), credentials.createInsecure(), {});
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const stream = client.lease(metadata);
  const results: unknown[] = [];
  stream.on('data', ({ answers }: LeaseResponse__Output) => results.push(answers?.answers[0]?.result));
  const ended = new Promise((resolve, reject) => stream.on('end', resolve).on('error', reject));
  stream.write(greet());
  stream.write(asks(ask()));
  stream.end();
  await ended;
  client.close();
  expect(results).toEqual(['grant']);
});

const settledBy = (grantId: number, count: number) => [{ grantId, used: [{ ageMs: 0, count }] }];

test.each<readonly [string, (grant: number) => readonly LeaseRequest[], RegExp]>([
  ['no hello first', () => [asks(ask())], /the first message must be hello/],
  ['a second hello', () => [greet(), greet()], /hello must be sent only once/],
  ['a secret of 31 bytes', () => [{ hello: { holderSecret: Buffer.alloc(31) } }], /hello\.holder_secret must be 32 bytes, is 31/],
  ['no secret', () => [{ hello: { sidecarId: 's' } }], /hello\.holder_secret must be 32 bytes, is 0/],
  ['an empty message', () => [greet(), {}], /a message must contain asks/],
  ['no asks', () => [greet(), asks()], /a message holds 1 to 1000 asks/],
  [
    'too many asks',
    () => [greet(), asks(...Array.from({ length: 1_001 }, (_, at) => ask({ counter: limitOf(everything, `s${at}`) })))],
    /1 to 1000 asks, not 1001/,
  ],
  ['a counter twice', () => [greet(), asks(ask(), ask({ number: 2 }))], /a message must name each counter only once/],
  ['an ask without a counter', () => [greet(), asks({ number: 1, revision: { epoch, number: 1 } })], /each with a counter and a revision/],
  ['an ask without a revision', () => [greet(), asks({ counter: limitOf(everything), number: 1 })], /each with a counter and a revision/],
  [
    'a run that says nothing of itself',
    () => [greet(), asks(ask({ counter: { run: { id: 'ab'.repeat(32), agentId: 'a' } } }))],
    /asks\[0\]\.counter\.run must contain its key_id/,
  ],
  [
    'a run under the id of another',
    () => [greet(), asks(ask({ counter: { run: { ...sharedRun('a'), id: sharedRun('a', { sessionId: 'other' }).id } } }))],
    /asks\[0\]\.counter\.run\.id must be the SHA-256 of the identity of the run/,
  ],
  [
    'a run with the cap of another agent',
    () => [greet(), asks(ask({ counter: { run: { ...sharedRun('a'), agentId: 'b' } } }))],
    /asks\[0\]\.counter\.run\.agent_id must be the last of its agents/,
  ],
  [
    'a run of a session without an end',
    () => [greet(), asks(ask({ counter: { run: sharedRun('a', { sessionId: 'x'.repeat(201) }) } }))],
    /session_id must be 1 to 200 characters/,
  ],
  [
    'a run of more agents than there are hops',
    () => [greet(), asks(ask({ counter: { run: sharedRun('a', { agents: Array.from({ length: 65 }, () => 'a') }) } }))],
    /agents must be at most 64/,
  ],
  [
    'a subject without an end',
    () => [greet(), asks(ask({ counter: limitOf(everything, 'x'.repeat(201)) }))],
    /origin_sub must be 1 to 200 characters/,
  ],
  [
    'too much settled',
    () => [greet(), asks(ask({ settled: Array.from({ length: 101 }, () => ({ grantId: 1 })) }))],
    /settled holds at most 100 grants, not 101/,
  ],
  ['a number beyond all numbers', () => [greet(), asks(ask({ number: '18446744073709551615' }))], /number must be an integer/],
  [
    'a grant that was never made',
    (grant) => [greet(), asks(ask({ counter: limitOf(everything, 'liar'), settled: settledBy(grant + 1_000, 0) }))],
    /was never made/,
  ],
  [
    'a grant of another sidecar',
    (grant) => [greet(), asks(ask({ counter: limitOf(everything, 'liar'), settled: settledBy(grant, 0) }))],
    /is another sidecar's/,
  ],
  [
    'more used than was granted',
    (grant) => [greet('liar'), asks(ask({ counter: limitOf(everything, 'liar'), settled: settledBy(grant, 61) }))],
    /61 calls of grant \d+ were reported as used, but it had 1?\d/,
  ],
])('%s: costs its own stream, and affects no other', async (_, messagesOf, refusal) => {
  const honest = open();
  const before = await answerOf(honest, ask({ waiting: 0 }));
  const victim = open('liar');
  const { grant } = await answerOf(victim, ask({ counter: limitOf(everything, 'liar'), waiting: 0 }));
  const liar = openLease(plane, key);
  for (const message of messagesOf(grant?.id ?? 0)) liar.write(message);
  expect(await liar.ended).toMatch(new RegExp(`^INVALID_ARGUMENT: .*${refusal.source}`));
  expect(before.result).toBe('grant');
  expect((await answerOf(honest, ask({ number: 2, waiting: 0 }))).result).toBe('grant');
  const back = ask({ counter: limitOf(everything, 'liar'), onlySettles: true, settled: settledBy(grant?.id ?? 0, 0) });
  expect((await answerOf(victim, back)).result).toBe('taken');
});

test('a message of 5 MB is refused before it is read, and ends only its own stream', async () => {
  const honest = open();
  const liar = open();
  liar.write(asks(ask({ counter: limitOf('x'.repeat(5_000_000)) })));
  expect(await liar.ended).toMatch(/^RESOURCE_EXHAUSTED: /);
  expect((await answerOf(honest, ask())).result).toBe('grant');
});

/** The server's end of a stream, controlled by a test; no written message leaves until the test permits it. */
function createStream() {
  const leaving: (() => void)[] = [];
  const stream = new Duplex({
    objectMode: true,
    highWaterMark: 2,
    read: () => undefined,
    write: (_chunk, _encoding, done) => void leaving.push(done),
  });
  stream.on('error', () => undefined);
  // The gRPC methods of the stream are not used here.
  const lease = Object.assign(stream, { sendMetadata: () => undefined }) as unknown as LeaseStream;
  return { stream, lease, leaving };
}

test('a sidecar that does not read its answers is not read from either', async () => {
  const { stream, lease, leaving } = createStream();
  let asked = 0;
  const link = {
    close: () => undefined,
    ask: (of: readonly QuotaAsk[]) =>
      Promise.resolve(of.map(({ counter, number }) => ({ counter, number, result: { kind: 'taken' as const } }))).finally(
        () => (asked += 1),
      ),
  };
  const actor = await authenticate(plane.deps, `Bearer ${key}`);
  const metrics = createGrpcMetrics(new Registry());
  serveLease(
    {
      ledger: { open: () => link },
      seats: createStreamSeats({ ofWorkspace: 1, ofKey: 1 }),
      stillStands: () => Promise.resolve(actor),
      looks: shareTimer(lookMs),
      metrics,
      log: { warn: () => undefined },
    },
    lease,
    actor,
  );
  stream.push({ hello: { sidecarId: 'by-hand', holderSecret: holderSecret('unread'), capabilities: [] } });
  const message = {
    asks: {
      asks: [{ ...ask(), counter: { limit: { originSub: 's', id: 'i' } }, onlySettles: true, settled: [], revision: { epoch, number: 0 } }],
    },
  };
  for (let count = 0; count < 10_000; count += 1) stream.push(message);
  for (let count = 0; count < 50; count += 1) await turn();
  // Some of them are read before the stream stops.
  const readAhead = asked;
  expect(readAhead).toBeLessThanOrEqual(16);
  expect(stream.writableLength).toBe(2);
  for (let count = 0; count < 3; count += 1) {
    while (leaving.length > 0) leaving.shift()?.();
    for (let turns = 0; turns < 50; turns += 1) await turn();
  }
  expect(asked).toBeLessThanOrEqual(readAhead + 8);
  expect(asked).toBeGreaterThan(readAhead);
  stream.emit('cancelled');
});

test('a workspace and a key have a maximum of streams; one more is refused until one has ended', async () => {
  const issue = () => plane.ask('POST', '/other/admin/keys', { key: plane.other, body: { name: 'k', scopes: ['sidecar.sync'] } });
  const [own, further] = [await issue(), await issue()];
  const streams = Array.from({ length: leaseStreams }, (_, at) => openLease(plane, field(at < leaseStreams - 5 ? own : further, 'key')));
  const counter = limitOf(everything);
  for (const stream of streams) {
    stream.write(greet());
    expect((await answerOf(stream, ask({ counter, revision: { epoch, number: 0 } }))).result).toBe('none');
  }
  expect(await openLease(plane, field(own, 'key')).ended).toBe('RESOURCE_EXHAUSTED: too many streams of leases are open for this key');
  expect(await openLease(plane, field(further, 'key')).ended).toBe(
    'RESOURCE_EXHAUSTED: too many streams of leases are open for this workspace',
  );
  expect((await answerOf(open(), ask())).result).toBe('grant');
  streams[0]?.close();
  for (;;) {
    const stream = openLease(plane, field(own, 'key'));
    stream.write(greet());
    stream.write(asks(ask()));
    const answered = await stream.next().catch(() => null);
    if (answered !== null) break;
  }
});

test('a client without a key, or with a key without the scope, is refused', async () => {
  expect(await openLease(plane, null).ended).toMatch(/^UNAUTHENTICATED: /);
  const { key: unscoped } = await plane.issueKey(['govern']);
  expect(await openLease(plane, unscoped).ended).toBe(
    'PERMISSION_DENIED: the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")',
  );
});

test('a stream whose key is revoked is ended', async () => {
  const issued = await plane.issueKey(['sidecar.sync']);
  const lease = openLease(plane, issued.key);
  lease.write(greet());
  expect((await answerOf(lease, ask())).result).toBe('grant');
  await plane.ask('DELETE', `/acme/admin/keys/${issued.id}`);
  expect(await lease.ended).toMatch(/^UNAUTHENTICATED: this key was revoked/);
});

test('with the database away a stream ends with UNAVAILABLE, and the next one is answered', async () => {
  const lease = open('survivor');
  const before = await answerOf(lease, ask());
  const connect = plane.pool.connect.bind(plane.pool);
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  // `pool.query` passes a callback. The control plane polls its revisions by it at any time.
  const refuse = (answered?: (error: Error) => void) => (answered === undefined ? Promise.reject(refused) : answered(refused));
  Object.assign(plane.pool, { connect: refuse });
  try {
    lease.write(asks(ask({ number: 2 })));
    expect(await lease.ended).toMatch(/^UNAVAILABLE: the database /);
  } finally {
    Object.assign(plane.pool, { connect });
  }
  const settled = settledBy(before.grant?.id ?? 0, 1);
  expect((await answerOf(open('survivor'), ask({ onlySettles: true, settled }))).result).toBe('taken');
});

test('a recall reaches the stream of the holder', async () => {
  const counter = limitOf(everything, 'recalled');
  const [holder, waiter] = [open(), open()];
  await answerOf(holder, ask({ counter, waiting: 60 }));
  expect((await answerOf(waiter, ask({ counter }))).later).toMatchObject({ held: true });
  expect((await holder.next()).recall?.counters).toMatchObject([{ limit: { originSub: 'recalled', id: everything } }]);
});

test('answers are counted by results and without a name', async () => {
  const text = await plane.registry.metrics();
  for (const result of ['grant', 'full', 'later', 'none', 'taken'])
    expect(text).toMatch(new RegExp(`tollgate_lease_asks_total\\{result="${result}"\\} [1-9]`));
  expect(text).toMatch(/tollgate_lease_tokens_granted_total [1-9]/);
  expect(text).toMatch(/tollgate_lease_lies_total 3\n/);
  expect(text).toMatch(/tollgate_lease_transaction_seconds_count [1-9]/);
});

test('a library is answered for its own subject, and for no other', async () => {
  const { key: own } = await plane.issueKey(['sidecar.library', 'govern'], { uid: 'sub-2' });
  const lease = openLease(plane, own);
  lease.write(greet());
  const revision = { epoch, number: await plane.revision() };
  const asked = async (sub: string): Promise<unknown> => {
    let answer = await answerOf(lease, ask({ counter: limitOf(everything, sub), revision }));
    for (let tries = 0; answer.result === 'later' && tries < 50; tries += 1)
      answer = await answerOf(lease, ask({ counter: limitOf(everything, sub), revision }));
    return answer.result;
  };
  expect(await asked('sub-2')).toBe('grant');
  expect(await asked('sub-3')).toBe('later');
  expect(await plane.registry.metrics()).toMatch(/tollgate_lease_demands_total [1-9]/);
});
