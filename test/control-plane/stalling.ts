// One of fifty sidecars never reads: its cost for the control plane, and that the others still receive each policy. CI
// runs this without a clock, and test/long with one.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { credentials, Metadata } from '@grpc/grpc-js';
import { createPolicyClient, type SyncResponse__Output } from '@tollgate/proto';
import { snapshotSchemaVersion } from '@tollgate/proto/contract';
import { expect, onTestFinished } from 'vitest';
import { startGate } from '../chaos/gate.ts';
import type { Measure } from '../chaos/measure.ts';
import { type Plane, startPlane } from '../support/plane.ts';

const sidecars = 50;
const rounds = { before: 10, stalled: 120 };
const bulkTools = 4_000;
/** The memory by which other code may vary, far less than the snapshots of `rounds.stalled`. */
const noiseBytes = 12 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function usedBytes(): number {
  collect();
  collect();
  const { external, heapUsed } = process.memoryUsage();
  return external + heapUsed;
}

/**
 * Echoes the hash of every snapshot and keeps only the newest revision, so that all memory is the control plane's. It
 * accepts no deltas.
 */
function acknowledge(address: string, key: string, sidecarId: string) {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const client = createPolicyClient(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const stream = client.sync(metadata);
  const acknowledger = { revision: -1, taken: 0, bytes: 0, onTaken: (): void => {}, pause: () => stream.pause() };
  stream.on('error', () => {});
  stream.on('data', ({ snapshot, unchanged }: SyncResponse__Output) => {
    const taken = snapshot ?? unchanged;
    if (taken?.revision == null) return;
    acknowledger.revision = taken.revision.number;
    acknowledger.taken += 1;
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

interface Pushing {
  readonly plane: Plane;
  readonly measure: Measure;
  readonly to: readonly Acknowledger[];
}

/** Writes a policy this many times, each once all of them have the previous one. */
async function push({ plane, measure, to }: Pushing, step: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const revision = await plane.writePolicy({ tools: { changing: { api: { rateLimit: (await plane.revision()) + 1 } } } });
    await measure(step, () => reaches(to, revision));
  }
}

/** The additional memory of the control plane while one sidecar does not read, and its bound. */
interface Held {
  readonly bytes: number;
  readonly bytesMax: number;
}

/** Steps: `a policy reaches all`, and once one does not read, `a policy reaches the others`. */
export async function expectOthersServed(measure: Measure): Promise<Held> {
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

  await push({ plane, measure, to: [...others, stalled] }, 'a policy reaches all', rounds.before);
  const before = usedBytes();
  stalled.pause();
  gate.freeze();
  const taken = others.map((other) => other.taken);
  await push({ plane, measure, to: others }, 'a policy reaches the others', rounds.stalled);
  const held = { bytes: usedBytes() - before, bytesMax: 2 * snapshotBytes + noiseBytes };
  // Each policy reached each of the others while it was silent: an update that waited for it would still be pending.
  expect(others.map((other, at) => other.taken - (taken[at] ?? 0))).toEqual(others.map(() => rounds.stalled));
  expect(stalled.revision).toBeLessThan((await plane.revision()) - rounds.stalled / 2);
  return held;
}
