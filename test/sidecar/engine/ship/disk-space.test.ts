// A whole sidecar on a folder in which an earlier process left as much as the spool may hold.
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Sidecar } from '../../../../sidecar/doors/sidecar.ts';
import { startSidecar } from '../../../../sidecar/app/start.ts';
import { type AuditServer, type AuditStream, startAuditServer } from '../../../support/audit-server.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { keyText } from '../../../support/snapshots.ts';
import { openTestSpool, temporaryFolder } from '../../../support/spools.ts';

const bytesMax = 4_000;
const entry = JSON.stringify('x'.repeat(482));

async function start(spoolDir: string, { port }: Pick<AuditServer, 'port'>): Promise<Sidecar> {
  const sidecar = await startSidecar({
    form: 'process',
    controlPlane: `127.0.0.1:${port}`,
    key: keyText('sidecar'),
    plaintext: false,
    spoolDir,
    durability: 'kernel',
    spoolBytesMax: bytesMax,
    keepInput: true,
    sidecarId: 'sidecar-1',
    log: silentLog,
  });
  onTestFinished(() => sidecar.close(0));
  return sidecar;
}

test('it denies until the old entries are shipped, reports what fills the spool, and then continues without loss', async () => {
  const spoolDir = temporaryFolder();
  const dead = await openTestSpool({ folder: spoolDir, bytesMax });
  for (let n = 0; n < 8; n += 1) dead.append(entry);
  await dead.close();
  const server = await startAuditServer();
  const streams: AuditStream[] = [];
  // The server does not accept batches yet.
  server.onHello = (stream) => void streams.push(stream);
  const sidecar = await start(spoolDir, server);
  await vi.waitFor(() => expect(sidecar.shipping().adopted).toBe(1));
  expect(() => sidecar.spool.append(entry)).toThrow(expect.objectContaining({ why: 'full' }));
  expect(sidecar.notReady().join()).toContain('the spool holds 4000 of 4000 bytes, 4000 of them from before this process');
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  for (const stream of streams) stream.write({ credit: { records: server.credit } });
  await server.hasCommitted(8);
  await vi.waitFor(() => sidecar.spool.append(entry));
  await server.hasCommitted(9);
  expect([...server.committed.values()].map((records) => records.length).toSorted((a, b) => a - b)).toEqual([1, 8]);
});
