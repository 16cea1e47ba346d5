// The times at which a collector is asked again.
import { expect, test } from 'vitest';
import type { ExportFailure, FailureKind } from '../../control-plane/audit/rules/exported.ts';
import { standardPace } from '../../control-plane/audit/export/pace.ts';
import { createSetbacks } from '../../control-plane/audit/export/setbacks.ts';

const failure = (kind: FailureKind, retryAfterMs: number | null = null): ExportFailure => ({
  kind,
  reason: `it was ${kind}`,
  words: '',
  retryAfterMs,
});

function begin(random = 1) {
  const clock = { at: 0 };
  return { clock, setbacks: createSetbacks({ now: () => clock.at, random: () => random }, standardPace) };
}

test('a temporary failure blocks all logs, twice as long each time, up to half a minute', () => {
  const { clock, setbacks } = begin();
  const waits: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    waits.push(setbacks.failed(1, failure('unreachable')));
    clock.at += (waits.at(-1) ?? 0) - 1;
    expect(setbacks.areAllBarred()).toBe(true);
    clock.at += 1;
    expect(setbacks.areAllBarred()).toBe(false);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(setbacks.problems()).toEqual(['it was unreachable (tried 8 times)']);
  setbacks.succeeded(2);
  expect(setbacks.problems()).toEqual([]);
  expect(setbacks.failed(1, failure('unreachable'))).toBe(1_000);
});

test('control planes wait different times: a random factor shortens the wait by up to half', () => {
  expect(begin(0).setbacks.failed(1, failure('timeout'))).toBe(500);
});

test('requests that were in flight together count as one failure', () => {
  const { setbacks } = begin();
  for (let n = 0; n < 4; n += 1) expect(setbacks.failed(n, failure('timeout'))).toBe(1_000);
});

test('the wait is as long as the collector asks for, up to an hour', () => {
  const { clock, setbacks } = begin();
  expect(setbacks.failed(1, failure('throttled', 120_000))).toBe(120_000);
  clock.at = 120_000;
  expect(setbacks.failed(1, failure('throttled', 1e9))).toBe(3_600_000);
});

test('a rejected log blocks only itself, for a long time', () => {
  const { clock, setbacks } = begin();
  expect(setbacks.failed(7, failure('refused'))).toBe(60_000);
  expect(setbacks.failed(8, failure('refused'))).toBe(60_000);
  expect([setbacks.areAllBarred(), setbacks.barred()]).toEqual([false, [7, 8]]);
  expect(setbacks.problems()).toEqual(['it was refused (2 workspaces, retried at intervals)']);
  clock.at = 60_000;
  expect(setbacks.barred()).toEqual([]);
  // The problem remains until the log is accepted.
  setbacks.succeeded(7);
  expect(setbacks.problems()).toEqual(['it was refused (one workspace, retried at intervals)']);
});
