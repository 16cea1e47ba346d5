import { once } from 'node:events';
import { createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { policyService, type Status, type SyncResponse } from '@tollgate/proto';
import { bounds, snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createBackoff } from '../../../../sidecar/base/backoff.ts';
import { createPolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import type { SnapshotMessage } from '../../../../sidecar/engine/snapshot/verify.ts';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { followPolicy } from '../../../../sidecar/engine/link/follow.ts';
import { type PolicyServer, startPolicyServer } from '../../../support/policy-server.ts';
import { deltaBetween, keyText, ruleFor, snapshotMessage } from '../../../support/snapshots.ts';

afterEach(() => {
  vi.useRealTimers();
});

const key = keyText('sidecar');

/** The time of day of the sidecar's machine. */
const wallTime = 1_800_000_000_000;

/** A sidecar that follows that server. It reconnects at once unless `random` returns something else. */
function follow(
  server: Pick<PolicyServer, 'address'>,
  {
    random = () => 0,
    holds,
    readStatus = () => ({ version: '1.2.3' }),
  }: { readonly random?: () => number; readonly holds?: SnapshotMessage; readonly readStatus?: () => Status } = {},
) {
  const cell = createPolicyCell({ now: () => performance.now(), wallTime: () => wallTime }, 'acme');
  if (holds !== undefined) cell.restore(holds, 0);
  const taken: number[] = [];
  const events: { readonly event: string; readonly fields: object }[] = [];
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    for (const look of waiting) look();
  };
  const channel = createChannel({ controlPlane: server.address, key, plaintext: false, linkCredentials: null });
  let attempts = 0;
  const metadata = () => {
    attempts += 1;
    return channel.metadata();
  };
  const follower = followPolicy(
    {
      cell,
      channel: { ...channel, metadata },
      random,
      log: {
        info: (fields, event) => {
          events.push({ event, fields });
          wake();
        },
      },
      onTaken: () => void taken.push(cell.current?.revision ?? -1),
      readStatus,
      onRefused: () => undefined,
      onOpen: () => undefined,
      onState: wake,
    },
    { sidecarId: 'sidecar-1', bootId: 'boot-1', form: 'FORM_LIBRARY' },
  );
  onTestFinished(() => follower.close());
  /** Resolves once the condition holds. It is checked whenever something was logged or changed. */
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((done) => {
      const look = (): void => {
        if (!isSo()) return;
        waiting = waiting.filter((other) => other !== look);
        done();
      };
      waiting.push(look);
      look();
    });
  const lost = (): readonly unknown[] =>
    events.filter(({ event }) => event === 'policy stream lost').map(({ fields }) => Object(fields).waitMs);
  return { cell, follower, taken, until, lost, attempts: () => attempts };
}

const snapshot = (message: SnapshotMessage) => ({ snapshot: { ...message, entries: [...message.entries] } });
const heartbeat = (number: number) => ({ heartbeat: { current: { epoch: 'e1', number } } });

test('hello contains its identity, its key, and what it holds: nothing at first', async () => {
  const server = await startPolicyServer();
  follow(server);
  const stream = await server.accept();
  expect(stream.authorization).toBe(`Bearer ${key}`);
  expect((await stream.next()).hello).toEqual({
    sidecarId: 'sidecar-1',
    bootId: 'boot-1',
    form: 'FORM_LIBRARY',
    schemaVersion: snapshotSchemaVersion,
    held: null,
    heldHash: Buffer.alloc(0),
    capabilities: ['deltas', 'agent-ceiling', 'outage-caps', 'conditions', 'approvals'],
  });
});

test('hello contains the revision and the hash of what it holds', async () => {
  const server = await startPolicyServer();
  const holds = snapshotMessage({ revision: 8 });
  follow(server, { holds });
  const { hello } = await (await server.accept()).next();
  expect(hello?.held).toEqual({ epoch: 'e1', number: 8 });
  expect(hello?.heldHash.equals(holds.hash)).toBe(true);
});

test('a good snapshot is accepted, passed on to be stored, and acknowledged with the hash of what was built', async () => {
  const server = await startPolicyServer();
  const { cell, taken, follower } = follow(server);
  const stream = await server.accept();
  await stream.next();
  const message = snapshotMessage({ revision: 3 });
  stream.send(snapshot(message));
  const { ack } = await stream.next();
  expect(ack?.revision).toEqual({ epoch: 'e1', number: 3 });
  expect(ack?.hash.equals(message.hash)).toBe(true);
  expect(cell.status()).toMatchObject({ revision: 3, connected: true });
  expect(taken).toEqual([3]);
  expect(follower.problem).toBeNull();
});

test('a bad snapshot is rejected with code and place; the old one stays and is not stored again, and the stream continues', async () => {
  const server = await startPolicyServer();
  const { cell, taken } = follow(server);
  const stream = await server.accept();
  await stream.next();
  stream.send(snapshot(snapshotMessage({ revision: 3 })));
  await stream.next();
  const before = cell.current;
  stream.send(snapshot({ ...snapshotMessage({ revision: 4 }), hash: Buffer.alloc(32) }));
  expect((await stream.next()).nack).toEqual({
    revision: { epoch: 'e1', number: 4 },
    code: 'hash_mismatch',
    message: expect.stringContaining('not as announced'),
  });
  expect(cell.current).toBe(before);
  expect(taken).toHaveLength(1);
  stream.send(snapshot(snapshotMessage({ revision: 5 })));
  expect((await stream.next()).ack?.revision?.number).toBe(5);
});

test('an older revision is rejected, and one of another epoch is accepted', async () => {
  const server = await startPolicyServer();
  const { cell } = follow(server);
  const stream = await server.accept();
  await stream.next();
  stream.send(snapshot(snapshotMessage({ revision: 9 })));
  await stream.next();
  stream.send(snapshot(snapshotMessage({ revision: 8 })));
  expect((await stream.next()).nack?.code).toBe('revision_backwards');
  stream.send(snapshot(snapshotMessage({ revision: 1, epoch: 'e2' })));
  expect((await stream.next()).ack?.revision).toEqual({ epoch: 'e2', number: 1 });
  expect(cell.status()).toMatchObject({ epoch: 'e2', revision: 1 });
});

test('the revision that it holds is renumbered, and only that one', async () => {
  const server = await startPolicyServer();
  const holds = snapshotMessage({ revision: 2 });
  const { cell, taken } = follow(server, { holds });
  const stream = await server.accept();
  await stream.next();
  stream.send({ unchanged: { revision: { epoch: 'e1', number: 6 }, hash: holds.hash } });
  expect((await stream.next()).ack?.revision?.number).toBe(6);
  expect(cell.status()).toMatchObject({ revision: 6, connected: true });
  stream.send({ unchanged: { revision: { epoch: 'e1', number: 7 }, hash: Buffer.alloc(32, 1) } });
  expect((await stream.next()).nack?.code).toBe('hash_mismatch');
  expect(cell.status()).toMatchObject({ revision: 6 });
  expect(taken).toEqual([]);
});

const denied = (revision: number, tool: string): SnapshotMessage =>
  snapshotMessage({ revision, documents: [ruleFor(tool, { permission: 'deny' })] });

const delta = (before: SnapshotMessage, after: SnapshotMessage): SyncResponse => {
  const { changed, removed, ...head } = deltaBetween(before, after);
  return { delta: { ...head, changed: [...changed], removed: [...removed] } };
};

test('a delta is accepted, passed on to be stored, and acknowledged with the hash of the whole', async () => {
  const server = await startPolicyServer();
  const { cell, taken, follower } = follow(server, { holds: denied(3, 'a.b') });
  const stream = await server.accept();
  await stream.next();
  const after = denied(5, 'a.c');
  stream.send(delta(denied(3, 'a.b'), after));
  const { ack } = await stream.next();
  expect(ack).toEqual({ revision: { epoch: 'e1', number: 5 }, hash: snapshotHash(after.entries) });
  expect(cell.current).toMatchObject({ revision: 5, hash: after.hash });
  expect({ taken, told: follower.told }).toEqual({ taken: [5], told: true });
});

test('a bad delta is rejected with the revision it led to; the whole snapshot is accepted, and then the next delta', async () => {
  const server = await startPolicyServer();
  const { cell, taken } = follow(server, { holds: denied(3, 'a.b') });
  const stream = await server.accept();
  await stream.next();
  const before = cell.current;
  const after = denied(5, 'a.c');
  stream.send({ delta: { ...delta(denied(3, 'a.b'), after).delta, hash: Buffer.alloc(32) } });
  expect((await stream.next()).nack).toEqual({
    revision: { epoch: 'e1', number: 5 },
    code: 'hash_mismatch',
    message: expect.stringContaining('not as announced'),
  });
  expect(cell.current).toBe(before);
  stream.send(delta(denied(4, 'a.b'), after));
  expect((await stream.next()).nack?.code).toBe('wrong_base');
  expect({ held: cell.current === before, taken }).toEqual({ held: true, taken: [] });
  stream.send(snapshot(after));
  expect((await stream.next()).ack?.revision?.number).toBe(5);
  stream.send(delta(after, denied(6, 'a.d')));
  expect((await stream.next()).ack?.revision?.number).toBe(6);
  expect(taken).toEqual([5, 6]);
});

test('a message that cannot be decoded ends the stream, is reported, changes nothing, and leads to the slowest retry', async () => {
  const holds = denied(3, 'a.b');
  const whole = policyService.Sync.responseSerialize(delta(holds, denied(4, 'a.c')));
  for (const [bytes, problem] of [
    [whole.subarray(0, whole.length - 5), 'parsing error'],
    [Buffer.concat([whole, Buffer.from([0xff])]), 'parsing error'],
    [Buffer.alloc(bounds.grpcMessageBytes + 1), 'larger than'],
  ] as const) {
    const server = await startPolicyServer({
      encode: (message) => (message.move == null ? policyService.Sync.responseSerialize(message) : bytes),
    });
    const { cell, until, lost, taken } = follow(server, { holds, random: () => 0.5 });
    const stream = await server.accept();
    await stream.next();
    const before = cell.current;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    stream.send({ move: {} });
    await until(() => lost().length === 1);
    expect(cell.status()).toMatchObject({
      revision: 3,
      connected: false,
      lastNack: { code: 'malformed', message: expect.stringContaining(problem) },
    });
    expect({ lost: lost(), held: cell.current === before, taken }).toEqual({ lost: [22_500], held: true, taken: [] });
    const next = server.accept();
    vi.advanceTimersByTime(22_501);
    vi.useRealTimers();
    const again = await next;
    expect((await again.next()).hello?.held?.number).toBe(3);
    again.send(delta(holds, denied(5, 'a.c')));
    expect((await again.next()).ack?.revision?.number).toBe(5);
    expect(cell.status()).toMatchObject({ revision: 5, lastNack: null });
  }
});

test('the status is sent once the stream is accepted, then when it has changed, and at most every two seconds', async () => {
  const server = await startPolicyServer();
  let unrecorded = 0;
  let reads = 0;
  follow(server, {
    readStatus: () => {
      reads += 1;
      return { version: '1.2.3', unrecorded };
    },
  });
  const stream = await server.accept();
  await stream.next();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  expect(reads).toBe(0);
  stream.send(heartbeat(1));
  expect(await stream.nextStatus()).toMatchObject({ version: '1.2.3', spoolRecords: 0, unrecorded: 0 });
  unrecorded = 1;
  vi.advanceTimersByTime(bounds.statusMs - 1);
  expect(reads).toBe(1);
  unrecorded = 2;
  vi.advanceTimersByTime(1);
  // It is unchanged and not sent.
  vi.advanceTimersByTime(10 * bounds.statusMs);
  expect(reads).toBe(12);
  unrecorded = 3;
  vi.advanceTimersByTime(bounds.statusMs);
  expect([(await stream.nextStatus()).unrecorded, (await stream.nextStatus()).unrecorded]).toEqual([2, 3]);
  // The next stream does not know the status, and is the only one that receives it.
  stream.end();
  const again = await server.accept();
  again.send(heartbeat(2));
  expect((await again.nextStatus()).unrecorded).toBe(3);
  reads = 0;
  vi.advanceTimersByTime(bounds.statusMs);
  expect(reads).toBe(1);
});

test('a heartbeat keeps the policy fresh and contains the current revision', async () => {
  const server = await startPolicyServer();
  const { cell, until } = follow(server);
  const stream = await server.accept();
  stream.send(heartbeat(12));
  await until(() => cell.freshness.connected);
  expect(cell.status()).toMatchObject({ announced: 12, revision: null });
});

test('a heartbeat tells the time of the control plane, and one of an earlier version does not', async () => {
  const server = await startPolicyServer();
  const { cell, until } = follow(server);
  const stream = await server.accept();
  stream.send(heartbeat(1));
  await until(() => cell.freshness.connected);
  expect(cell.freshness).not.toHaveProperty('aheadMs');
  stream.send({ heartbeat: { timeMs: wallTime + 90_000 } });
  await until(() => cell.freshness.aheadMs !== undefined);
  expect(cell.freshness.aheadMs).toBe(90_000);
});

test('a stream that ends or fails is opened again, with what is held in its hello', async () => {
  const server = await startPolicyServer();
  const { cell, until, follower } = follow(server);
  const first = await server.accept();
  await first.next();
  const message = snapshotMessage({ revision: 3 });
  first.send(snapshot(message));
  await first.next();
  first.end();
  const second = await server.accept();
  expect((await second.next()).hello?.held).toEqual({ epoch: 'e1', number: 3 });
  expect(cell.status()).toMatchObject({ connected: false, revision: 3, refused: null });
  expect(follower.problem).toBe('the control plane ended the stream');
  second.fail(status.UNAVAILABLE, 'the database is not reachable now');
  const third = await server.accept();
  expect(follower.problem).toBe('the database is not reachable now');
  third.send(heartbeat(3));
  await until(() => follower.problem === null);
  expect(cell.status()).toMatchObject({ connected: true, revision: 3 });
});

test('a server that goes away is connected again when it is back', async () => {
  const server = await startPolicyServer();
  const { until, lost, cell } = follow(server);
  const first = await server.accept();
  first.send(heartbeat(1));
  await until(() => cell.freshness.connected);
  server.stop();
  await until(() => lost().length >= 2);
  const back = await startPolicyServer({ port: Number(server.address.split(':')[1]) });
  const again = await back.accept();
  again.send(heartbeat(2));
  await until(() => cell.freshness.connected);
  expect(cell.status().announced).toBe(2);
});

test('waits grow with every failure, and start over after contact with the control plane', async () => {
  // The full jitter, in a hundredth of the time: only the waits matter here.
  const server = await startPolicyServer();
  const { until, lost, follower } = follow(server, { random: () => 0.05 });
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    const stream = await server.accept();
    stream.fail(status.UNAVAILABLE, 'not now');
    await until(() => lost().length === attempt);
  }
  expect(lost()).toEqual([5, 10, 20, 40]);
  const stream = await server.accept();
  stream.send(heartbeat(1));
  await until(() => follower.problem === null);
  stream.end();
  await until(() => lost().length === 5);
  expect(lost().at(-1)).toBe(5);
});

test('an address that does not answer is tried again within a second, however long that lasts', async () => {
  const server = await startPolicyServer();
  // The full jitter, in a hundredth of the time.
  const { until, lost, attempts } = follow(server, { random: () => 0.01 });
  await server.accept();
  server.stop();
  // Logged after 1, 2, 4, 8 and 16 of them.
  await until(() => lost().length >= 5);
  expect(attempts()).toBeGreaterThanOrEqual(16);
  expect(Math.max(...lost().map(Number)) / 0.01).toBeLessThanOrEqual(bounds.reconnectMs.unreachable);
});

test('a policy that takes long to arrive is waited for, for a minute: nothing else can arrive meanwhile', async () => {
  const server = await startPolicyServer();
  const { cell, until, follower } = follow(server);
  const stream = await server.accept();
  await stream.next();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  stream.send(heartbeat(1));
  await until(() => cell.status().announced === 1);
  vi.advanceTimersByTime(59_999);
  stream.send(snapshot(snapshotMessage()));
  await until(() => cell.status().revision === 1);
  stream.send(heartbeat(2));
  await until(() => cell.status().announced === 2);
  vi.advanceTimersByTime(59_999);
  expect(cell.status()).toMatchObject({ connected: true });
  vi.advanceTimersByTime(1);
  expect(cell.status()).toMatchObject({ connected: false });
  expect(follower.problem).toBe('the control plane sent nothing for 60 s');
  vi.useRealTimers();
});

test('silence of five heartbeats on an open stream counts as lost', async () => {
  const server = await startPolicyServer();
  const { cell, until, follower } = follow(server);
  const stream = await server.accept();
  await stream.next();
  stream.send(snapshot(snapshotMessage()));
  await stream.next();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  stream.send(heartbeat(1));
  await until(() => cell.status().announced === 1);
  vi.advanceTimersByTime(4_999);
  expect(cell.status()).toMatchObject({ connected: true });
  vi.advanceTimersByTime(1);
  expect(cell.status()).toMatchObject({ connected: false, revision: 1, refused: null });
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await stream.gone;
  const again = await server.accept();
  expect((await again.next()).hello?.held).toEqual({ epoch: 'e1', number: 1 });
  expect(follower.problem).toBe('the control plane sent nothing for 5 s');
});

test('a server that accepts the connection and never answers on it is not reported as connected', async () => {
  const deaf = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void deaf.close());
  await once(deaf, 'listening');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { follower } = follow({ address: `127.0.0.1:${Object(deaf.address()).port}` });
  vi.advanceTimersByTime(5_000);
  expect(follower.problem).toBe('no connection within 5 s');
});

test.each([
  [status.UNAUTHENTICATED, 0, 15_000],
  [status.UNAUTHENTICATED, 0.999, 29_985],
  [status.PERMISSION_DENIED, 0.5, 22_500],
])(
  'a key that is rejected (%i, chance %f) denies everything, is tried again at the slowest pace, and recovers',
  async (code, chance, waitMs) => {
    const server = await startPolicyServer();
    const { cell, until, lost } = follow(server, { random: () => chance });
    const stream = await server.accept();
    await stream.next();
    stream.send(snapshot(snapshotMessage()));
    await stream.next();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    stream.fail(code, 'this key was revoked');
    await until(() => cell.refused !== null);
    expect(cell.status()).toMatchObject({ refused: 'this key was revoked', connected: false, revision: 1 });
    expect(lost()).toEqual([waitMs]);
    let opened = false;
    const next = server.accept().then((accepted) => {
      opened = true;
      return accepted;
    });
    vi.advanceTimersByTime(waitMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(opened).toBe(false);
    vi.advanceTimersByTime(2);
    vi.useRealTimers();
    const again = await next;
    await again.next();
    expect(cell.refused).toBe('this key was revoked');
    again.send(heartbeat(1));
    await until(() => cell.refused === null);
  },
);

test('closing leaves the stream, and nothing that would reconnect', async () => {
  const server = await startPolicyServer();
  const { cell, follower, until, attempts, lost } = follow(server);
  const stream = await server.accept();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  stream.send(heartbeat(2));
  await until(() => cell.status().announced === 2);
  follower.close();
  expect(cell.status()).toMatchObject({ connected: false });
  follower.close();
  await stream.gone;
  vi.advanceTimersByTime(120_000);
  expect({ attempts: attempts(), lost: lost() }).toEqual({ attempts: 1, lost: [] });
});

test('closing during a wait for a retry ends the wait', async () => {
  const server = await startPolicyServer();
  const { follower, lost, until, attempts } = follow(server, { random: () => 0.9 });
  const stream = await server.accept();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  stream.fail(status.UNAVAILABLE, 'not now');
  await until(() => lost().length === 1);
  follower.close();
  vi.advanceTimersByTime(120_000);
  expect(attempts()).toBe(1);
});

test('when told to move, it opens the next stream before it leaves the one it has', async () => {
  const server = await startPolicyServer();
  const { cell, until, lost, follower } = follow(server);
  const first = await server.accept();
  await first.next();
  first.send(snapshot(snapshotMessage({ revision: 3 })));
  await first.next();
  let left = false;
  void first.gone.then(() => {
    left = true;
  });
  first.send({ move: {} });
  const second = await server.accept();
  expect((await second.next()).hello?.held).toEqual({ epoch: 'e1', number: 3 });
  expect({ left, connected: cell.freshness.connected }).toEqual({ left: false, connected: true });
  second.send(heartbeat(4));
  await first.gone;
  await until(() => cell.status().announced === 4);
  expect({ connected: cell.freshness.connected, lost: lost(), problem: follower.problem }).toEqual({
    connected: true,
    lost: [],
    problem: null,
  });
  second.send(snapshot(snapshotMessage({ revision: 5 })));
  expect((await second.next()).ack?.revision?.number).toBe(5);
});

test('a move that fails costs nothing: the current stream is good, and its messages are accepted', async () => {
  const server = await startPolicyServer();
  const { cell, until, lost } = follow(server);
  const first = await server.accept();
  await first.next();
  first.send({ move: {} });
  const second = await server.accept();
  second.fail(status.UNAVAILABLE, 'not now');
  // A message that is sent during the move may be for the stream that it leaves. Only later messages count.
  await second.gone;
  await expect
    .poll(() => {
      first.send(heartbeat(7));
      return cell.status().announced;
    })
    .toBe(7);
  first.send(snapshot(snapshotMessage({ revision: 7 })));
  expect((await first.next()).ack?.revision?.number).toBe(7);
  await until(() => cell.freshness.connected);
  expect(lost()).toEqual([]);
});

test('where both the stream that it leaves and the next one fail, the stream is lost at once and opened again', async () => {
  const server = await startPolicyServer();
  const { cell, until, lost } = follow(server);
  const first = await server.accept();
  first.send(heartbeat(1));
  await until(() => cell.freshness.connected);
  first.send({ move: {} });
  const second = await server.accept();
  first.fail(status.UNAVAILABLE, 'gone');
  second.fail(status.UNAVAILABLE, 'gone too');
  await until(() => lost().length === 1);
  expect(cell.freshness.connected).toBe(false);
  (await server.accept()).send(heartbeat(2));
  await until(() => cell.freshness.connected);
});

test('a key that is rejected during a move is rejected, even if the stream that it leaves is still open', async () => {
  const server = await startPolicyServer();
  const { cell, until } = follow(server);
  const first = await server.accept();
  first.send(heartbeat(1));
  await until(() => cell.freshness.connected);
  first.send({ move: {} });
  const second = await server.accept();
  second.fail(status.UNAUTHENTICATED, 'this key was revoked');
  await until(() => cell.refused !== null);
  expect(cell.status()).toMatchObject({ refused: 'this key was revoked', connected: false });
  await first.gone;
});

test('closing during a move leaves both streams', async () => {
  const server = await startPolicyServer();
  const { cell, until, follower } = follow(server);
  const first = await server.accept();
  first.send(heartbeat(1));
  await until(() => cell.freshness.connected);
  first.send({ move: {} });
  const second = await server.accept();
  follower.close();
  await Promise.all([first.gone, second.gone]);
  expect(cell.freshness.connected).toBe(false);
});

test('backoff: full jitter under a ceiling that doubles to its maximum and starts over', () => {
  const ceilings = createBackoff({ random: () => 1 - Number.EPSILON, firstMs: 100, maxMs: 1_000 });
  expect(Array.from({ length: 6 }, () => ceilings.next())).toEqual([99, 199, 399, 799, 999, 999]);
  ceilings.reset();
  expect(ceilings.next()).toBe(99);
  const floor = createBackoff({ random: () => 0, firstMs: 100, maxMs: 1_000 });
  expect(Array.from({ length: 6 }, () => floor.next())).toEqual([0, 0, 0, 0, 0, 0]);
});

test('a channel is plain on loopback or where that was configured, else TLS; an invalid address is rejected', () => {
  const isSecure = (controlPlane: string, plaintext = false): boolean =>
    createChannel({ controlPlane, key, plaintext, linkCredentials: null }).credentials()._isSecure();
  for (const address of ['127.0.0.1:8081', 'localhost:1', '[::1]:8081', '127.1.2.3:65535']) expect(isSecure(address)).toBe(false);
  for (const address of ['tollgate.example:443', '10.0.0.1:8081', '[fd00::1]:8081', '127.0.0.1.example.com:1', 'localhost.evil:1'])
    expect(isSecure(address)).toBe(true);
  expect(isSecure('10.0.0.1:8081', true)).toBe(false);
  for (const address of ['', 'host', 'host:', ':8081', 'http://host:1', 'host:123456', 'a b:1', '::1:8081'])
    expect(() => createChannel({ controlPlane: address, key, plaintext: false, linkCredentials: null })).toThrow(
      /must have the form host:port/,
    );
});
