// A control plane that sends impossible messages, or none: entries stay until they were sent and acknowledged, the
// memory in use is bounded, and a later honest stream gets everything.
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../../../sidecar/base/clock.ts';
import type { ShipStream } from '../../../../sidecar/engine/ship/shipment.ts';
import { createShipper, type Shipper, type ShipperConfig } from '../../../../sidecar/engine/ship/shipper.ts';
import { type AuditServer, type AuditStream, startAuditServer } from '../../../support/audit-server.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { acknowledgedThrough, openTestSpool, temporaryFolder } from '../../../support/spools.ts';

interface FalsePlane {
  readonly server: AuditServer;
  readonly spool: Awaited<ReturnType<typeof openTestSpool>>;
  readonly start: (config?: Partial<ShipperConfig>, openStream?: () => ShipStream, clock?: Clock) => Shipper;
}

async function prepare(entries: number): Promise<FalsePlane> {
  const server = await startAuditServer();
  const spool = await openTestSpool({ folder: temporaryFolder(), segmentBytes: 4_000_000, bytesMax: 256 * 1024 ** 2 });
  for (let n = 1; n <= entries; n += 1) spool.append(JSON.stringify({ n }));
  function start(config: Partial<ShipperConfig> = {}, openStream = server.openStream, clock: Clock = systemClock): Shipper {
    const deps = {
      openStream,
      adopt: () => Promise.resolve([]),
      clock,
      random: Math.random,
      log: silentLog,
      onStatus: () => {},
    };
    const shipper = createShipper(deps, {
      sidecarId: 'sidecar-1',
      spool: spool.backlog,
      reconnectMs: { first: 1, max: 4 },
      flushMs: 1,
      ...config,
    });
    onTestFinished(() => shipper.close({ deadlineMs: 0 }).catch(() => {}));
    return shipper;
  }
  return { server, spool, start };
}

/** Returns the stream of the next batch, which is neither committed nor acknowledged. */
function nextBatch(server: AuditServer): Promise<AuditStream> {
  return new Promise((resolve) => {
    server.onBatch = (stream) => resolve(stream);
  });
}

test('entries that were never sent cannot be acknowledged, by any number, and nor can unknown spools', async () => {
  const { server, spool, start } = await prepare(100);
  server.credit = 5;
  const spoolId = spool.backlog.id;
  server.onHello = (stream) => {
    for (const sequence of [1, 100, 101, Number.MAX_SAFE_INTEGER, -1]) stream.write({ acknowledged: { spoolId, sequence } });
    stream.write({ acknowledged: { spoolId: 'f'.repeat(32), sequence: 100 } });
    stream.write({ acknowledged: { spoolId: '', sequence: 1 } });
    stream.write({ credit: { records: 5 } });
  };
  const first = nextBatch(server);
  start();
  const stream = await first;
  expect(spool.backlog.acknowledged).toBe(0);
  const second = nextBatch(server);
  stream.write({ acknowledged: { spoolId, sequence: Number.MAX_SAFE_INTEGER } });
  await second;
  expect(spool.backlog.acknowledged).toBe(5);
  expect(spool.backlog.status().records).toBe(95);
});

test('an acknowledgement that goes back changes nothing, and the rest arrives', async () => {
  const { server, spool, start } = await prepare(1_000);
  server.credit = 40;
  const { onBatch } = server;
  server.onBatch = (stream, batch) => {
    onBatch(stream, batch);
    for (const sequence of [1, 0, -7]) stream.write({ acknowledged: { spoolId: batch.spoolId, sequence } });
  };
  start();
  await acknowledgedThrough(1_000, spool.backlog);
  expect(server.committed.get(spool.backlog.id)).toHaveLength(1_000);
  expect(server.violations).toEqual([]);
});

for (const [what, misbehave] of [
  ['never answers', (server: AuditServer) => (server.onHello = () => undefined)],
  ['gives a credit of 0', (server: AuditServer) => (server.onHello = (stream) => void stream.write({ credit: { records: 0 } }))],
  ['takes everything and acknowledges nothing', (server: AuditServer) => (server.onBatch = () => undefined)],
] as const) {
  test(`a stream that ${what} is given up after a while without loss, and an honest one gets everything`, async () => {
    const { server, spool, start } = await prepare(300);
    const honest = { onHello: server.onHello, onBatch: server.onBatch };
    misbehave(server);
    let streams = 0;
    const shipper = start({ progressMs: 20 }, () => {
      streams += 1;
      if (streams === 3) {
        expect(shipper.status()).toMatchObject({ records: 300, lastError: expect.stringMatching(/for 20 ms$/) });
        Object.assign(server, honest);
      }
      return server.openStream();
    });
    await acknowledgedThrough(300, spool.backlog);
    expect(streams).toBeGreaterThanOrEqual(3);
    expect(server.committed.get(spool.backlog.id)).toHaveLength(300);
  });
}

test('a stream with nothing to ship is not given up', async () => {
  const clock = createManualClock();
  const { server, spool, start } = await prepare(1);
  let streams = 0;
  const shipper = start(
    {},
    () => {
      streams += 1;
      return server.openStream();
    },
    clock,
  );
  await acknowledgedThrough(1, spool.backlog);
  clock.advance(600_000);
  await turns();
  expect({ streams, ...shipper.status() }).toMatchObject({ streams: 1, link: 'connected' });
});

test('of an unlimited credit only the agreed maximum is used, and the rest stays on disk', async () => {
  const { server, spool, start } = await prepare(20_000);
  server.onHello = (stream) => {
    stream.write({ credit: { records: 4_294_967_295 } });
    stream.pause();
  };
  let sent = 0;
  let reached = (): void => {};
  const full = new Promise<void>((resolve) => {
    reached = resolve;
  });
  start({}, () => {
    const stream = server.openStream();
    const write = stream.write.bind(stream);
    stream.write = (request) => {
      sent += request.batch?.records.length ?? 0;
      if (sent >= 4_000) reached();
      return write(request);
    };
    return stream;
  });
  await full;
  await turns();
  expect(sent).toBe(4_000);
  expect(spool.backlog.status()).toMatchObject({ records: 20_000, lost: 0 });
});

async function turns(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('where a caller waits, an entry is sent at once, and entries that come meanwhile are sent together', async () => {
  const server = await startAuditServer();
  const clock = createManualClock();
  const spool = await openTestSpool({ folder: temporaryFolder(), clock, durability: 'remote' });
  const held: (() => void)[] = [];
  server.onBatch = (stream, batch) => {
    server.commit(batch);
    held.push(() => server.acknowledge(stream, batch.spoolId));
  };
  const shipper = createShipper(
    { openStream: server.openStream, adopt: () => Promise.resolve([]), clock, random: Math.random, log: silentLog, onStatus: () => {} },
    { sidecarId: 'sidecar-1', spool: spool.backlog, isAwaited: true },
  );
  onTestFinished(() => shipper.close({ deadlineMs: 0 }));
  const first = spool.appendAsync('1');
  await server.hasCommitted(1);
  const others = [];
  for (let n = 2; n <= 6; n += 1) {
    others.push(spool.appendAsync(`${n}`));
    await new Promise((resolve) => setImmediate(resolve));
  }
  held.shift()?.();
  expect(await first).toBe(1);
  await server.hasCommitted(6);
  held.shift()?.();
  expect(await Promise.all(others)).toEqual([2, 3, 4, 5, 6]);
  expect(server.batchSizes).toEqual([1, 5]);
});
