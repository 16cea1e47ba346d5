// One audit stream with an intake that the test controls. Whatever a sidecar sends, the batches that wait for the log
// are bounded in number and in bytes.
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { auditService } from '@tollgate/proto';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import type { AuditBatch, IngestResult } from '../../control-plane/audit/rules/audit-batch.ts';
import { shareTimer } from '../../control-plane/base/shared-timer.ts';
import { lookMs } from '../../control-plane/grpc/watch-key.ts';
import { decodeShipRequest } from '../../control-plane/grpc/ship-request.ts';
import { serveShip } from '../../control-plane/grpc/audit.ts';
import { createIntake } from '../../control-plane/grpc/intake.ts';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';

const standard = { records: 64_000, streamRecordsMin: 64, ofWorkspace: 100, ofKey: 100, bytes: 256 * 1_048_576 };
const spoolId = 'a'.repeat(32);

/** Starts a control plane that stores nothing until `release` is called. */
function start(bounds: Partial<typeof standard> = {}) {
  const intake = createIntake({ ...standard, ...bounds });
  const waiting: (() => void)[] = [];
  let isOpen = false;
  const ingest = async (batch: AuditBatch): Promise<IngestResult> => {
    if (!isOpen) await new Promise<void>((go) => waiting.push(go));
    return { acknowledged: batch.last };
  };
  const metrics = createGrpcMetrics(new Registry());
  const open = (keyId: string) => {
    const answers: string[] = [];
    const stream = new Duplex({
      objectMode: true,
      read: () => undefined,
      write: (response: object, _encoding, done) => {
        answers.push(Object.keys(response)[0] ?? '');
        done();
      },
    });
    const ended: { readonly code: number; readonly details: string }[] = [];
    stream.on('error', (how) => void ended.push(how as never));
    const actor = { workspaceId: 1, slug: 'acme', keyId, scopes: ['sidecar.sync'] } as unknown as Actor;
    serveShip(
      { ingest, intake, metrics, stillStands: async () => actor, looks: shareTimer(lookMs), log: { warn: () => undefined } },
      stream as never,
      actor,
    );
    onTestFinished(() => void stream.emit('cancelled'));
    stream.push({ hello: { sidecarId: 's', capabilities: [] }, bytes: 10 });
    return { stream, answers, ended, leave: () => stream.emit('cancelled') };
  };
  return {
    open,
    /** The number of batches that are being stored. */
    storing: () => waiting.length,
    /** Stores the batches that are being stored now, the first last. */
    releaseNow: () => {
      for (const go of waiting.splice(0).reverse()) go();
    },
    release: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
  };
}

/** A batch as it is after reading. `bytes` is its size on the wire. */
const batch = (sequence: number, bytes: number, fields: object = {}) => ({
  batch: {
    spoolId,
    spoolSecret: Buffer.alloc(32),
    workspaceId: '',
    records: [{ sequence, content: { entry: Buffer.from('{}') } }],
    ...fields,
  },
  bytes,
});

async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await turn();
}

test('batches without records, however long their other fields are, are read a few at a time and rejected in order', async () => {
  const { open, release } = start();
  const { stream, answers, ended } = open('key');
  stream.push(batch(1, 100));
  const spoolSecret = Buffer.alloc(2_000_000);
  for (let n = 0; n < 1_000; n += 1) stream.push(batch(2, 2_000_000, { spoolSecret, records: [] }));
  await settled();
  expect(stream.readableLength).toBeGreaterThan(900);
  release();
  await expect.poll(() => answers.length).toBe(1_002);
  expect(answers.slice(0, 2)).toEqual(['credit', 'acknowledged']);
  expect(new Set(answers.slice(2))).toEqual(new Set(['refused']));
  expect(ended).toEqual([]);
});

test('batches that arrive while another is stored are stored together, and acknowledged in their order', async () => {
  const { open, storing, releaseNow } = start();
  const { stream, answers } = open('key');
  stream.push(batch(1, 100));
  await settled();
  for (const n of [2, 3, 4]) stream.push(batch(n, 100));
  await settled();
  expect(storing()).toBe(1);
  releaseNow();
  await settled();
  expect(storing()).toBe(3);
  releaseNow();
  await expect.poll(() => answers.length).toBe(5);
});

test('a batch counts with the full length of its message, whatever part of it is used', async () => {
  const { open, release } = start();
  const { stream, answers } = open('key');
  for (let n = 1; n <= 100; n += 1) stream.push(batch(n, 2_000_000));
  await settled();
  expect(stream.readableLength).toBeGreaterThanOrEqual(96);
  release();
  await expect.poll(() => answers.length).toBe(101);
});

test('the length of a message is its length on the wire, unknown fields included', () => {
  const known = auditService.Ship.requestSerialize({ batch: { spoolId, records: [{ sequence: 1, entry: Buffer.from('{}') }] } });
  // Field 15, 100 bytes.
  const encoded = Buffer.concat([known, Buffer.from([0x7a, 100]), Buffer.alloc(100)]);
  expect(decodeShipRequest(encoded)).toMatchObject({ batch: { spoolId }, bytes: known.length + 102 });
});

test('many small batches are read a few at a time', async () => {
  const { open, release } = start();
  const { stream, answers } = open('key');
  for (let n = 1; n <= 1_000; n += 1) stream.push(batch(n, 100));
  await settled();
  expect(stream.readableLength).toBeGreaterThan(900);
  release();
  await expect.poll(() => answers.length).toBe(1_001);
});

test('the pending bytes of all streams are bounded: a flood from one key ends its own streams, and another key continues', async () => {
  const { open, release } = start({ bytes: 16_000_000 });
  const flood = Array.from({ length: 20 }, () => open('flood'));
  for (const { stream } of flood) for (let n = 1; n <= 3; n += 1) stream.push(batch(n, 2_000_000));
  await settled();
  const cut = flood.filter(({ ended }) => ended.length > 0);
  expect(cut.length).toBeGreaterThan(15);
  expect(cut[0]?.ended).toEqual([{ code: 14, details: 'too many batches of this key wait to be stored; connect again' }]);
  const honest = open('honest');
  honest.stream.push(batch(1, 2_000_000));
  await settled();
  expect(honest.ended).toEqual([]);
  release();
  await expect.poll(() => honest.answers).toEqual(['credit', 'acknowledged']);
});

test('stored batches and ended streams release their share of the memory budget', async () => {
  const { open, release } = start({ bytes: 17_000_000 });
  for (let round = 0; round < 10; round += 1) {
    const { stream, ended, leave } = open('key');
    for (let n = 1; n <= 3; n += 1) stream.push(batch(n, 1_000_000));
    await settled();
    // The first batch of each stream is on its way to the log and uses memory budget until it is stored.
    expect(ended.length).toBe(round < 6 ? 0 : 1);
    leave();
  }
  release();
  await settled();
  const last = open('key');
  for (let n = 1; n <= 8; n += 1) last.stream.push(batch(n, 1_000_000));
  await expect.poll(() => last.answers.length).toBe(9);
});

test('a key can have only a bounded number of streams until one of them ends, and another key has its own bound', () => {
  const { open } = start({ ofKey: 2 });
  const [first] = [open('key'), open('key')];
  expect(open('key').ended).toEqual([{ code: 8, details: 'too many audit streams are open for this key' }]);
  expect(open('other').ended).toEqual([]);
  first.leave();
  expect(open('key').ended).toEqual([]);
});

test('a workspace can have only a bounded number of streams', () => {
  const { open } = start({ ofWorkspace: 2 });
  open('key');
  open('other');
  expect(open('third').ended).toEqual([{ code: 8, details: 'too many audit streams are open for this workspace' }]);
});
