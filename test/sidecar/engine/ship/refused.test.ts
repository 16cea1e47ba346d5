// A spool that the control plane rejects: it is put on hold, kept on disk, tried again later, and the other spools
// continue.
import type { Batch__Output } from '@tollgate/proto';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../sidecar/base/clock.ts';
import { createShipper, type Shipper } from '../../../../sidecar/engine/ship/shipper.ts';
import { adoptDead } from '../../../../sidecar/engine/spool/adoption.ts';
import { randomSpoolId, type Spool } from '../../../../sidecar/engine/spool/spool.ts';
import { listSpools } from '../../../../sidecar/engine/spool/spool-folder.ts';
import { diskFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { type AuditServer, type AuditStream, startAuditServer } from '../../../support/audit-server.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { openTestSpool, temporaryFolder } from '../../../support/spools.ts';

/** Leaves a spool of a dead process with this many entries. */
async function leave(folder: string, entries: number): Promise<string> {
  const spool = await openTestSpool({ folder });
  for (let n = 1; n <= entries; n += 1) spool.append(`{"left":${n}}`);
  await spool.close();
  return spool.backlog.id;
}

function shipperOf(folder: string, spool: Spool, server: AuditServer, clock = systemClock): Shipper {
  const adoption = { fs: diskFs, clock, log: silentLog, randomId: randomSpoolId, settle: async () => true };
  return createShipper(
    {
      clock,
      log: silentLog,
      random: () => 0.5,
      openStream: server.openStream,
      adopt: (max, isLeft) => adoptDead(adoption, { folder, workspace: 'acme', max, isLeft }),
      onStatus: () => undefined,
    },
    { sidecarId: 'sidecar-1', spool: spool.backlog, flushMs: 1, adoptEveryMs: 1_000 },
  );
}

const refusing = (server: AuditServer, isRefused: (spoolId: string) => boolean) => {
  server.onBatch = (stream: AuditStream, batch: Batch__Output) => {
    const { spoolId } = batch;
    if (isRefused(spoolId)) return void stream.write({ refused: { spoolId, code: 'wrong_secret', expected: 0 } });
    server.commit(batch);
    server.acknowledge(stream, spoolId);
  };
};

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
};

test('a rejected adopted spool frees its place, stays on disk, and counts; all others are shipped', async () => {
  const folder = temporaryFolder();
  const server = await startAuditServer();
  const [bad, good] = [await leave(folder, 3_000), await leave(folder, 7)];
  refusing(server, (id) => id === bad);
  const spool = await openTestSpool({ folder });
  const shipper = shipperOf(folder, spool, server);
  for (let n = 1; n <= 50; n += 1) spool.append(`{"own":${n}}`);
  await server.hasCommitted(57);
  await until(() => shipper.status().refusedSpools === 1 && shipper.status().records === 0);
  expect(shipper.status()).toMatchObject({ link: 'connected', adopted: 0, refusedSpools: 1, refusedRecords: 3_000 });
  expect([...server.committed.keys()].toSorted()).toEqual([good, spool.backlog.id].toSorted());
  await shipper.close({ deadlineMs: 5_000 });
  expect(listSpools(folder).map(({ id }) => id)).toEqual([bad]);
  expect(server.violations).toEqual([]);
});

test('the own rejected spool does not delay close, and its entries are left for the next process', async () => {
  const folder = temporaryFolder();
  const server = await startAuditServer();
  refusing(server, () => true);
  const spool = await openTestSpool({ folder });
  const shipper = shipperOf(folder, spool, server);
  spool.append('{"own":1}');
  await until(() => shipper.status().refusedSpools === 1);
  expect(spool.append('{"own":2}')).toBe(2);
  await shipper.close({ deadlineMs: 60_000 });
  expect(listSpools(folder).map(({ id }) => id)).toEqual([spool.backlog.id]);
});

test('after half a minute the own spool is tried again, from its first unacknowledged entry', async () => {
  const folder = temporaryFolder();
  const server = await startAuditServer();
  let refuses = true;
  refusing(server, () => refuses);
  const clock = createManualClock();
  const spool = await openTestSpool({ folder, clock });
  const shipper = shipperOf(folder, spool, server, clock);
  spool.append('{"own":1}');
  clock.advance(10);
  await until(() => shipper.status().refusedSpools === 1);
  refuses = false;
  clock.advance(29_000);
  expect(shipper.status().refusedSpools).toBe(1);
  clock.advance(1_000);
  await server.hasCommitted(1);
  await until(() => shipper.status().records === 0);
  expect(shipper.status().refusedSpools).toBe(0);
  const closing = shipper.close({ deadlineMs: 5_000 });
  clock.advance(10);
  await closing;
});

test('each batch shows the secret of its spool, which a later process finds in the folder', async () => {
  const folder = temporaryFolder();
  const server = await startAuditServer();
  const shown = new Map<string, string>();
  const { onBatch } = server;
  server.onBatch = (stream, batch) => {
    shown.set(batch.spoolId, batch.spoolSecret.toString('hex'));
    onBatch(stream, batch);
  };
  const first = await openTestSpool({ folder });
  first.append('{"left":1}');
  const secret = first.backlog.owned.secret.toString('hex');
  await first.close();
  const spool = await openTestSpool({ folder });
  spool.belongTo('a'.repeat(32));
  const shipper = shipperOf(folder, spool, server);
  spool.append('{"own":1}');
  await server.hasCommitted(2);
  expect(shown.get(first.backlog.id)).toBe(secret);
  expect(shown.get(spool.backlog.id)).toBe(spool.backlog.owned.secret.toString('hex'));
  expect(new Set(shown.values()).size).toBe(2);
  await shipper.close({ deadlineMs: 5_000 });
});
