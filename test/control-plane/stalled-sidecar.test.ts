// R9, its short form: one of fifty sidecars never reads, and costs no more than two snapshots and nobody else any time.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { credentials, Metadata } from '@grpc/grpc-js';
import { createPolicyClient, type SyncResponse__Output } from '@tollgate/proto';
import { snapshotSchemaVersion } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { startGate } from '../chaos/gate.ts';
import { type Plane, startPlane } from '../support/plane.ts';

const sidecars = 50;
const rounds = { before: 10, stalled: 120 };
const bulkTools = 4_000;
/** What other things of ours may come and go with, well below what `rounds.stalled` snapshots take. */
const noiseBytes = 12 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function usedBytes(): number {
  collect();
  collect();
  const { external, heapUsed } = process.memoryUsage();
  return external + heapUsed;
}

/** Echoes the hash of every snapshot and keeps nothing but the newest revision, so that all memory is the control plane's. It takes no deltas. */
function acknowledge(address: string, key: string, sidecarId: string) {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const client = createPolicyClient(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const stream = client.sync(metadata);
  const acknowledger = { revision: -1, bytes: 0, onTaken: (): void => {}, pause: () => stream.pause() };
  stream.on('error', () => {});
  stream.on('data', ({ snapshot, unchanged }: SyncResponse__Output) => {
    const taken = snapshot ?? unchanged;
    if (taken?.revision == null) return;
    acknowledger.revision = taken.revision.number;
    if (snapshot != null) acknowledger.bytes = snapshot.entries.reduce((sum, { key: name, value }) => sum + name.length + value.length, 0);
    stream.write({ ack: { revision: taken.revision, hash: taken.hash } });
    acknowledger.onTaken();
  });
  stream.write({ hello: { sidecarId, bootId: sidecarId, form: 'FORM_PROCESS', schemaVersion: snapshotSchemaVersion } });
  onTestFinished(() => {
    stream.cancel();
    client.close();
  });
  return acknowledger;
}

type Acknowledger = ReturnType<typeof acknowledge>;

const reaches = (of: readonly Acknowledger[], revision: number): Promise<void> =>
  new Promise((done) => {
    const look = (): void => {
      if (of.every((each) => each.revision >= revision)) done();
    };
    for (const each of of) each.onTaken = look;
    look();
  });

/** How long each write took until the last of them had it, in ms. */
async function push(plane: Plane, to: readonly Acknowledger[], times: number): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const revision = await plane.writePolicy({ tools: { changing: { api: { rateLimit: (await plane.revision()) + 1 } } } });
    const start = performance.now();
    await reaches(to, revision);
    tookMs.push(performance.now() - start);
  }
  return tookMs;
}

const median = (of: readonly number[]): number => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? Number.NaN;

test('a sidecar that never reads costs at most two snapshots, and no other sidecar a moment', { timeout: 120_000 }, async () => {
  const plane = await startPlane();
  onTestFinished(() => plane.close());
  const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
  const tools = Object.fromEntries(
    Array.from({ length: bulkTools }, (_, n) => [`bulk.tool-${n}`, { api: { permission: 'deny', rateLimit: n } }]),
  );
  await plane.ask('PUT', '/acme/admin/agentTypePolicies/bulk::api::bot', { body: { tools } });
  const gate = await startGate(plane.address());
  onTestFinished(() => gate.close());
  const others = Array.from({ length: sidecars - 1 }, (_, n) => acknowledge(plane.address(), key, `sidecar-${n}`));
  const stalled = acknowledge(gate.address, key, 'stalled');
  await reaches([...others, stalled], await plane.revision());
  const snapshotBytes = stalled.bytes;
  expect(snapshotBytes * rounds.stalled).toBeGreaterThan(2 * (2 * snapshotBytes + noiseBytes));

  const beforeMs = median(await push(plane, [...others, stalled], rounds.before));
  const before = usedBytes();
  stalled.pause();
  gate.freeze();
  const tookMs = median(await push(plane, others, rounds.stalled));
  expect(usedBytes() - before).toBeLessThan(2 * snapshotBytes + noiseBytes);
  // Not a measurement: who waited for it would wait for as long as it is silent.
  expect(tookMs).toBeLessThan(10 * beforeMs + 500);
  expect(stalled.revision).toBeLessThan(await plane.revision());
});
