import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Callers, createCallers } from '../../../../../sidecar/doors/mcp/http/callers.ts';
import { createPolicyCell, type PolicyCell } from '../../../../../sidecar/engine/snapshot/cell.ts';
import { key, snapshotMessage, type World } from '../../../../support/snapshots.ts';

let cell: PolicyCell;
let callers: Callers;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  cell = createPolicyCell({ now: Date.now }, 'acme');
  callers = createCallers({ cell, wallTime: Date.now });
});
afterEach(() => {
  vi.useRealTimers();
});

const take = (world: World): unknown => expect(cell.offer(snapshotMessage(world))).toMatchObject({ ok: true });
const watch = () => callers.watch({ raw: new EventEmitter() } as unknown as FastifyReply, 'key-1');

test('all requests of a key end when it expires, by one timer, and the timer is removed with the last of them', () => {
  take({ keys: [key({ expiresAt: 1_000 })] });
  const [first, second, third] = [watch(), watch(), watch()];
  expect(vi.getTimerCount()).toBe(1);
  third.forget();
  vi.advanceTimersByTime(999);
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([first.signal.aborted, second.signal.aborted, third.signal.aborted]).toEqual([true, true, false]);
  first.forget();
  second.forget();
  expect(vi.getTimerCount()).toBe(0);
});

test('a key with an extended expiry is accepted until then, and one with a shortened expiry no longer', () => {
  take({ revision: 1, keys: [key({ expiresAt: 1_000 })] });
  const { signal } = watch();
  take({ revision: 2, keys: [key({ expiresAt: 3_000 })] });
  vi.advanceTimersByTime(2_000);
  expect(signal.aborted).toBe(false);
  take({ revision: 3, keys: [key({ expiresAt: 2_500 })] });
  vi.advanceTimersByTime(500);
  expect(signal.aborted).toBe(true);
});

test('a key that expires later than a timer can wait is accepted until then', () => {
  const days = 86_400_000;
  take({ keys: [key({ expiresAt: 60 * days })] });
  const { signal } = watch();
  vi.advanceTimersByTime(60 * days - 1);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
});
