import { readdirSync } from 'node:fs';
import { credentials, status } from '@grpc/grpc-js';
import { type Batch__Output, createAuditClient } from '@tollgate/proto';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../../../sidecar/base/clock.ts';
import type { ShipStream } from '../../../../sidecar/engine/ship/shipment.ts';
import { createShipper, type Shipper, type ShipperConfig, type ShipperStatus } from '../../../../sidecar/engine/ship/shipper.ts';
import type { Backlog } from '../../../../sidecar/engine/spool/backlog.ts';
import { type AuditServer, type AuditStream, startAuditServer } from '../../../support/audit-server.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { acknowledgedThrough, adoptAll, onlySegment, openTestSpool, temporaryFolder } from '../../../support/spools.ts';

interface TestShipper extends Shipper {
  /** Resolves when the link is in the given state, or was in it since the last call. */
  reaches(link: ShipperStatus['link']): Promise<void>;
}

interface StartOptions extends Partial<ShipperConfig> {
  readonly spool: Backlog;
  readonly openStream: () => ShipStream;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly folder?: string;
}

function startShipper({ openStream, clock = systemClock, random = Math.random, folder, ...config }: StartOptions): TestShipper {
  let seen: string[] = [];
  let onChange = (): void => {};
  const shipper = createShipper(
    {
      openStream,
      adopt: () => (folder === undefined ? Promise.resolve([]) : adoptAll(folder)),
      clock,
      random,
      log: silentLog,
      onStatus({ link }) {
        seen.push(link);
        onChange();
      },
    },
    { sidecarId: 'sidecar-1', reconnectMs: { first: 1, max: 4 }, flushMs: 1, ...config },
  );
  onTestFinished(() => shipper.close({ deadlineMs: 0 }).catch(() => {}));
  async function reaches(link: ShipperStatus['link']): Promise<void> {
    while (!seen.includes(link)) {
      await new Promise<void>((resolve) => {
        onChange = resolve;
      });
    }
    seen = [];
  }
  return Object.assign(shipper, { reaches });
}

function entriesOf(count: number, from = 1): readonly string[] {
  return Array.from({ length: count }, (_, index) => JSON.stringify({ n: from + index }));
}

function numbered(entries: readonly string[]): readonly string[] {
  return entries.map((entry, index) => `${index + 1}: ${entry}`);
}

test('everything arrives, in order; after close nothing is left, not even the folder', async () => {
  const server = await startAuditServer();
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 10_000 });
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream });
  const entries = entriesOf(5_000);
  for (const entry of entries) spool.append(entry);
  await acknowledgedThrough(5_000, spool.backlog);
  expect(server.committed.get(spool.backlog.id)).toEqual(numbered(entries));
  expect(server.hellos).toEqual(['sidecar-1']);
  expect(server.violations).toEqual([]);
  spool.append('"the last"');
  await shipper.close({ deadlineMs: 10_000 });
  expect(server.committed.get(spool.backlog.id)?.at(-1)).toBe('5001: "the last"');
  expect(shipper.status()).toMatchObject({ link: 'closed', records: 0, lost: 0 });
  expect(readdirSync(folder)).toEqual([]);
});

test('a few entries wait for more, for flushMs and no longer, and nothing waits at close', async () => {
  const server = await startAuditServer();
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, clock, flushMs: 25 });
  await shipper.reaches('connected');
  for (const entry of entriesOf(3)) spool.append(entry);
  clock.advance(24);
  expect(server.batchSizes).toEqual([]);
  expect(shipper.status()).toMatchObject({ records: 3, oldestAgeMs: 24 });
  clock.advance(1);
  await server.hasCommitted(3);
  expect(server.batchSizes).toEqual([3]);
  spool.append('4');
  await shipper.close({ deadlineMs: 1 });
  expect(server.batchSizes).toEqual([3, 1]);
});

test('a batch can wait for batches of others, but not if callers wait for it or the process stops', async () => {
  const server = await startAuditServer();
  for (const isAwaited of [false, true]) {
    const spool = await openTestSpool({ folder: temporaryFolder() });
    const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, isAwaited });
    await shipper.reaches('connected');
    spool.append('1');
    await acknowledgedThrough(1, spool.backlog);
    spool.append('2');
    await shipper.close({ deadlineMs: 10_000 });
  }
  expect(server.canWait).toEqual([true, false, false, false]);
});

test('the number of unacknowledged records stays within the credit, and every spool progresses with small credits', async () => {
  for (const credit of [1, 7, 50]) {
    const server = await startAuditServer();
    server.credit = credit;
    const held: (() => void)[] = [];
    server.onBatch = (stream, batch) => {
      server.commit(batch);
      held.push(() => server.acknowledge(stream, batch.spoolId));
      setImmediate(() => held.shift()?.());
    };
    const spool = await openTestSpool({ folder: temporaryFolder() });
    startShipper({ spool: spool.backlog, openStream: server.openStream });
    for (const entry of entriesOf(100)) spool.append(entry);
    await acknowledgedThrough(100, spool.backlog);
    expect(server.violations).toEqual([]);
    expect(server.committed.get(spool.backlog.id)).toHaveLength(100);
  }
});

test('nothing is sent before the server sends its credit', async () => {
  const server = await startAuditServer();
  const streams: AuditStream[] = [];
  let greeted = (): void => {};
  const hello = new Promise<void>((resolve) => {
    greeted = resolve;
  });
  server.onHello = (stream) => {
    streams.push(stream);
    greeted();
  };
  const spool = await openTestSpool({ folder: temporaryFolder() });
  for (const entry of entriesOf(50)) spool.append(entry);
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream });
  await hello;
  expect(shipper.status()).toMatchObject({ link: 'connecting', records: 50 });
  expect(server.batchSizes).toEqual([]);
  streams[0]?.write({ credit: { records: 100 } });
  await acknowledgedThrough(50, spool.backlog);
  expect(server.batchSizes).toEqual([50]);
});

type Mishap = 'drop before commit' | 'drop before acknowledging' | 'acknowledge late' | 'refuse' | 'none';

test('whatever happens to the stream, every entry arrives exactly once and in order', async () => {
  const mishaps = fc.array(
    fc.constantFrom<Mishap>('drop before commit', 'drop before acknowledging', 'acknowledge late', 'refuse', 'none'),
    { maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(mishaps, fc.integer({ min: 1, max: 200 }), async (plan, credit) => {
      const server = await startAuditServer();
      server.credit = credit;
      const left = [...plan];
      server.onBatch = (stream, batch) => meet(server, stream, batch, left.shift() ?? 'none');
      const spool = await openTestSpool({ folder: temporaryFolder(), segmentBytes: 2_000 });
      const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream });
      const entries = entriesOf(400);
      for (const [index, entry] of entries.entries()) {
        spool.append(entry);
        if (index % 40 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await acknowledgedThrough(400, spool.backlog);
      expect(server.committed.get(spool.backlog.id)).toEqual(numbered(entries));
      expect(server.violations).toEqual([]);
      await shipper.close({ deadlineMs: 5_000 });
    }),
    { numRuns: 25 },
  );
});

function meet(server: AuditServer, stream: AuditStream, batch: Batch__Output, mishap: Mishap): void {
  if (mishap === 'drop before commit') return server.fail(stream);
  if (mishap === 'refuse') return server.fail(stream, status.PERMISSION_DENIED);
  server.commit(batch);
  if (mishap === 'drop before acknowledging') return server.fail(stream);
  if (mishap === 'acknowledge late') setImmediate(() => setImmediate(() => server.acknowledge(stream, batch.spoolId)));
  else server.acknowledge(stream, batch.spoolId);
}

test('a rejected key is tried again at the slowest pace, and the entries are kept until it is accepted', async () => {
  const server = await startAuditServer();
  const { onHello } = server;
  server.onHello = (stream) => server.fail(stream, status.UNAUTHENTICATED);
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  spool.append('1');
  const shipper = startShipper({
    spool: spool.backlog,
    openStream: server.openStream,
    clock,
    random: () => 0,
    reconnectMs: { first: 100, max: 30_000 },
  });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await shipper.reaches('waiting');
    expect(clock.waits[0]).toBe(15_000);
    expect(shipper.status()).toMatchObject({ records: 1, lastError: 'failed on request' });
    clock.advance(15_000);
  }
  await shipper.reaches('waiting');
  server.onHello = onHello;
  clock.advance(15_000);
  await acknowledgedThrough(1, spool.backlog);
  expect(shipper.status().lastError).toBeUndefined();
});

test('a failing server is tried again at growing intervals, which start over when something was committed', async () => {
  const server = await startAuditServer();
  server.onBatch = (stream) => server.fail(stream);
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  spool.append('1');
  const shipper = startShipper({
    spool: spool.backlog,
    openStream: server.openStream,
    clock,
    random: () => 0.5,
    reconnectMs: { first: 100, max: 500 },
  });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await shipper.reaches('waiting');
    const wait = clock.waits[0] ?? 0;
    waits.push(wait);
    if (attempt === 3) {
      server.onBatch = (stream, batch) => {
        server.commit(batch);
        server.acknowledge(stream, batch.spoolId);
        server.fail(stream);
      };
    }
    clock.advance(wait);
  }
  expect(waits).toEqual([50, 100, 200, 250, 50]);
});

test('when the control plane is reported as available, it stops waiting, and begins with the shortest wait', async () => {
  const server = await startAuditServer();
  const { onBatch } = server;
  server.onBatch = (stream) => server.fail(stream);
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  spool.append('1');
  const shipper = startShipper({
    spool: spool.backlog,
    openStream: server.openStream,
    clock,
    random: () => 0.5,
    reconnectMs: { first: 100, max: 30_000 },
  });
  for (const wait of [50, 100, 200, 400]) {
    await shipper.reaches('waiting');
    expect(clock.waits[0]).toBe(wait);
    clock.advance(wait);
  }
  await shipper.reaches('waiting');
  shipper.retryNow();
  await shipper.reaches('waiting');
  expect(clock.waits[0]).toBe(50);
  server.onBatch = onBatch;
  shipper.retryNow();
  await acknowledgedThrough(1, spool.backlog);
});

test('the timeout of an acknowledgement starts when something was sent, however long nothing was sent before', async () => {
  const server = await startAuditServer();
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, clock, progressMs: 1_000 });
  await shipper.reaches('connected');
  spool.append('1');
  clock.advance(1);
  await acknowledgedThrough(1, spool.backlog);
  const held = new Promise<() => void>((resolve) => {
    server.onBatch = (stream, batch) =>
      resolve(() => {
        server.commit(batch);
        server.acknowledge(stream, batch.spoolId);
      });
  });
  clock.advance(998);
  spool.append('2');
  clock.advance(1);
  const acknowledge = await held;
  clock.advance(999);
  acknowledge();
  await acknowledgedThrough(2, spool.backlog);
  expect(server.hellos).toHaveLength(1);
});

/** A shipper whose first attempt reaches a server that never answers, and whose next attempts are answered. */
async function unanswered() {
  const server = await startAuditServer();
  const { onHello } = server;
  const heard = new Promise<void>((resolve) => {
    server.onHello = () => resolve();
  });
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  spool.append('1');
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, clock, random: () => 0.5 });
  await heard;
  server.onHello = onHello;
  return { server, clock, spool, shipper };
}

test('when the control plane is reported as available, it gives up an unanswered attempt, and no fresh one', async () => {
  const { server, clock, spool, shipper } = await unanswered();
  clock.advance(999);
  shipper.retryNow();
  clock.advance(1);
  expect(server.hellos).toHaveLength(1);
  shipper.retryNow();
  await shipper.reaches('waiting');
  clock.advance(1);
  await acknowledgedThrough(1, spool.backlog);
});

test('on close, it gives up an unanswered attempt, and delivers by another', async () => {
  const { server, clock, shipper } = await unanswered();
  clock.advance(1_000);
  const closed = shipper.close({ deadlineMs: 5_000 });
  await shipper.reaches('waiting');
  clock.advance(1);
  await server.hasCommitted(1);
  await closed;
  expect(shipper.status()).toMatchObject({ link: 'closed', records: 0 });
});

test('what is left at the deadline is shipped by the next process, under the spool it was written to', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  const entries = entriesOf(100);
  for (const entry of entries) spool.append(entry);
  const unreachable = createAuditClient('127.0.0.1:1', credentials.createInsecure(), {});
  onTestFinished(() => unreachable.close());
  const shipper = startShipper({ spool: spool.backlog, openStream: () => unreachable.ship() });
  await shipper.reaches('waiting');
  await shipper.close({ deadlineMs: 20 });
  expect(shipper.status()).toMatchObject({ link: 'closed', records: 100 });
  expect(readdirSync(folder)).toEqual([spool.backlog.id]);

  const server = await startAuditServer();
  const successor = await openTestSpool({ folder });
  successor.append('"mine"');
  const next = startShipper({ spool: successor.backlog, openStream: server.openStream, folder });
  await server.hasCommitted(101);
  expect(server.committed.get(spool.backlog.id)).toEqual(numbered(entries));
  expect(server.committed.get(successor.backlog.id)).toEqual(['1: "mine"']);
  await next.close({ deadlineMs: 10_000 });
  expect(readdirSync(folder)).toEqual([]);
});

test('spools of processes that die later are found by periodic checks', async () => {
  const server = await startAuditServer();
  const folder = temporaryFolder();
  const clock = createManualClock();
  const spool = await openTestSpool({ folder, clock });
  const other = await openTestSpool({ folder });
  other.append('"from the other"');
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, clock, folder, adoptEveryMs: 60_000 });
  await shipper.reaches('connected');
  await other.close();
  while (!clock.waits.includes(60_000)) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(60_000);
  await server.hasCommitted(1);
  expect(server.committed.get(other.backlog.id)).toEqual(['1: "from the other"']);
});

test('a record that cannot be read back is shipped as lost, and counted once however often it is sent', async () => {
  const server = await startAuditServer();
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (const entry of entriesOf(5)) spool.append(entry);
  const segment = onlySegment(folder, spool.backlog.id);
  const bytes = segment.read();
  segment.write(bytes.fill(0, 30, 31));
  let drops = 2;
  const { onBatch } = server;
  server.onBatch = (stream, batch) => {
    if (drops > 0) server.fail(stream);
    else onBatch(stream, batch);
    drops -= 1;
  };
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream });
  await acknowledgedThrough(5, spool.backlog);
  expect(server.committed.get(spool.backlog.id)).toEqual([
    '1: {"n":1}',
    '2 lost: unreadable on disk',
    '3: {"n":3}',
    '4: {"n":4}',
    '5: {"n":5}',
  ]);
  expect(shipper.status().lost).toBe(1);
});

test('a transport that is full is not written to', async () => {
  const server = await startAuditServer();
  let writtenWhileFull = 0;
  let becameFull = (): void => {};
  const full = new Promise<void>((resolve) => {
    becameFull = resolve;
  });
  server.onHello = (stream) => {
    stream.write({ credit: { records: server.credit } });
    stream.pause();
    void full.then(() => stream.resume());
  };
  const spool = await openTestSpool({ folder: temporaryFolder() });
  const pad = 'x'.repeat(60_000);
  for (let n = 1; n <= 800; n += 1) spool.append(JSON.stringify({ n, pad }));
  function openStream(): ShipStream {
    const stream = server.openStream();
    let isFull = false;
    stream.on('drain', () => {
      isFull = false;
    });
    const write = stream.write.bind(stream);
    stream.write = (request: object) => {
      if (isFull) writtenWhileFull += 1;
      isFull = !write(request);
      if (isFull) becameFull();
      return !isFull;
    };
    return stream;
  }
  startShipper({ spool: spool.backlog, openStream });
  await full;
  await acknowledgedThrough(800, spool.backlog);
  expect(server.committed.get(spool.backlog.id)).toHaveLength(800);
  expect(writtenWhileFull).toBe(0);
});

test('after a lost acknowledgement nothing is sent again once the server reports that it has the entries', async () => {
  const server = await startAuditServer();
  const { onBatch } = server;
  server.onBatch = (stream, batch) => {
    server.commit(batch);
    server.credit = 10;
    server.onBatch = onBatch;
    server.fail(stream);
  };
  const spool = await openTestSpool({ folder: temporaryFolder(), segmentBytes: 500 });
  for (const entry of entriesOf(400)) spool.append(entry);
  startShipper({ spool: spool.backlog, openStream: server.openStream });
  await acknowledgedThrough(400, spool.backlog);
  expect(server.batchSizes).toEqual([400, 10]);
  spool.append('"next"');
  await acknowledgedThrough(401, spool.backlog);
  expect(server.batchSizes).toEqual([400, 10, 1]);
  expect(server.violations).toEqual([]);
});

test('an adopted spool is removed with its folder as soon as it is acknowledged', async () => {
  const server = await startAuditServer();
  const folder = temporaryFolder();
  const dead = await openTestSpool({ folder });
  dead.append('1');
  await dead.close();
  const spool = await openTestSpool({ folder });
  const shipper = startShipper({ spool: spool.backlog, openStream: server.openStream, folder });
  await server.hasCommitted(1);
  while (readdirSync(folder).length > 1) await new Promise((resolve) => setImmediate(resolve));
  expect(shipper.status()).toMatchObject({ link: 'connected', adopted: 0, records: 0 });
});

test('a spool of a dead process that cannot be read delays no other, and is shipped once it can be read', async () => {
  const folder = temporaryFolder();
  const dead = await openTestSpool({ folder });
  dead.append('"left"');
  await dead.close();
  const [left] = await adoptAll(folder);
  if (!left) throw new Error('no spool was left');
  let isBroken = true;
  const broken: Backlog = {
    ...left,
    get acknowledged() {
      return left.acknowledged;
    },
    get last() {
      return left.last;
    },
    get sent() {
      return left.sent;
    },
    readBatch: async (...asked) => {
      if (isBroken) throw new Error('EACCES');
      return left.readBatch(...asked);
    },
  };
  const spool = await openTestSpool({ folder: temporaryFolder() });
  const server = await startAuditServer();
  let streams = 0;
  const shipper = createShipper(
    {
      openStream: () => {
        streams += 1;
        return server.openStream();
      },
      adopt: async () => [broken],
      clock: systemClock,
      random: Math.random,
      log: silentLog,
      onStatus: () => {},
    },
    { sidecarId: 'sidecar-1', spool: spool.backlog, flushMs: 1, progressMs: 1_500 },
  );
  onTestFinished(() => shipper.close({ deadlineMs: 0 }).catch(() => {}));
  spool.append('"mine"');
  await acknowledgedThrough(1, spool.backlog);
  isBroken = false;
  await acknowledgedThrough(1, left);
  expect(streams).toBe(1);
});
