// One policy stream over virtual time: what happens when a sidecar does not answer, or claims to hold a revision that
// never existed.
import { bounds, policyNeeds } from '@tollgate/proto/contract';
import { EventEmitter } from 'node:events';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { shareTimer } from '../../control-plane/base/shared-timer.ts';
import { createStreamSeats } from '../../control-plane/grpc/stream-seats.ts';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';
import { serveSync, type SyncStream } from '../../control-plane/grpc/policy.ts';
import type { Follower, LiveWorkspace, PublishedView } from '../../control-plane/publish/publisher.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const hash = Buffer.alloc(32, 1);
const published: PublishedView = {
  epoch: 'e1',
  revision: 7,
  hash,
  raisedAt: 0,
  whole: () => Buffer.from('whole'),
  delta: () => null,
  drop: () => undefined,
};

function open(hello: object = {}, { seats = createStreamSeats({ ofWorkspace: 1, ofKey: 1 }), keyId = 'k' } = {}) {
  const warnings: string[] = [];
  const live = {
    epoch: 'e1',
    revision: 7,
    keyOf: () => ({ hash: 'h', scopes: ['sidecar.sync'], expiresAt: null }),
  } as unknown as LiveWorkspace;
  const written: unknown[] = [];
  const write = (message: unknown): boolean => written.push(message) > 0;
  const stream = Object.assign(new EventEmitter(), { write, end: () => undefined, writableNeedDrain: false });
  const ended: string[] = [];
  stream.on('error', ({ details }: { readonly details: string }) => ended.push(details));
  const present = { holds: () => undefined, refused: () => undefined, says: () => null, left: () => undefined };
  serveSync(
    {
      needs: policyNeeds,
      publisher: {
        follow: (_: number, follower: Follower) => {
          follower.offer(published, live);
          return () => undefined;
        },
        live: () => live,
      } as never,
      roster: { enters: () => present },
      seats,
      beats: shareTimer(bounds.heartbeatMs),
      wallTime: Date.now,
      random: () => 0.5,
      metrics: createGrpcMetrics(new Registry()),
      log: { info: () => undefined, warn: (_, message) => warnings.push(message) },
    },
    stream as unknown as SyncStream,
    {
      epoch: 'e1',
      revision: 0,
      workspaceId: 1,
      keyId,
      slug: 'acme',
      scopes: ['sidecar.sync'],
      credential: { hash: 'h' },
    } as unknown as Actor,
  );
  const say = (message: object): boolean => stream.emit('data', message);
  say({
    hello: { sidecarId: 's', bootId: 'b', form: 'FORM_PROCESS', held: null, heldHash: Buffer.alloc(0), capabilities: ['deltas'], ...hello },
  });
  return { warnings, ended, written, say, leave: () => stream.emit('cancelled') };
}

test('each heartbeat tells the time of the control plane', () => {
  const { written } = open();
  const [first] = written;
  const timeMs = vi.getMockedSystemTime()?.getTime() ?? 0;
  expect(first).toMatchObject({ heartbeat: { current: { epoch: 'e1', number: 7 }, timeMs } });
  vi.advanceTimersByTime(bounds.heartbeatMs);
  expect(written.at(-1)).toMatchObject({ heartbeat: { timeMs: timeMs + bounds.heartbeatMs } });
});

test('a sidecar that does not answer a policy within a minute loses its stream, and one that answers keeps it', () => {
  const silent = open();
  const good = open();
  good.say({ ack: { revision: { epoch: 'e1', number: 7 }, hash } });
  vi.advanceTimersByTime(59_000);
  expect(silent.ended).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(silent.ended).toEqual(['revision 7 was not answered within 60 s']);
  vi.advanceTimersByTime(120_000);
  expect(good.ended).toEqual([]);
});

test('when a sidecar holds a revision that does not exist yet, the stream waits for a moment and then warns once that a restore is needed', () => {
  const { warnings, ended } = open({ held: { epoch: 'e1', number: 9 }, heldHash: hash });
  vi.advanceTimersByTime(2_000);
  expect(warnings).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(warnings).toEqual([expect.stringContaining('tollgate-control-plane restore')]);
  expect(ended).toEqual([]);
});

test('a hash of the wrong length is rejected and not stored', () => {
  expect(open({ heldHash: Buffer.alloc(1_000_000) }).ended).toEqual(['hello.held_hash must be 32 bytes, is 1000000']);
});

test('a workspace can have only a bounded number of streams until one of them ends', () => {
  const seats = createStreamSeats({ ofWorkspace: 2, ofKey: 2 });
  const [first, second] = [open({}, { seats, keyId: 'a' }), open({}, { seats, keyId: 'b' })];
  expect(open({}, { seats }).ended).toEqual(['too many streams of policy are open for this workspace']);
  expect([...first.ended, ...second.ended]).toEqual([]);
  first.leave();
  expect(open({}, { seats }).ended).toEqual([]);
});

test('a key can have only a bounded number of streams, and other keys of its workspace can use the rest', () => {
  const seats = createStreamSeats({ ofWorkspace: 3, ofKey: 2 });
  const [first] = [open({}, { seats }), open({}, { seats })];
  expect(open({}, { seats }).ended).toEqual(['too many streams of policy are open for this key']);
  expect(open({}, { seats, keyId: 'other' }).ended).toEqual([]);
  first.leave();
  expect(open({}, { seats }).ended).toEqual([]);
});
