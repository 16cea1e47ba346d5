// The tail of page "Live": what it shows, and that its size is bounded whatever arrives.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTail, rowsMax, type Tail } from '../../../console/live/tail.ts';
import { at, entryOf, resultEntryOf } from './entries.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const all = (): Tail =>
  createTail(
    () => true,
    (run) => run(),
  );
const flush = (): void => void vi.runAllTimers();
const idsOf = (tail: Tail): readonly string[] => tail.view().rows.map(({ requestId }) => requestId);
/** Calls with the numbers of `from` to `to`, oldest first. */
const calls = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => entryOf(`r${from + index}`, { ts: at(from + index) }));
const names = (from: number, to: number): readonly string[] => calls(from, to).map(({ requestId }) => requestId);

describe('the tail of the live page', () => {
  test('shows the newest calls, newest first, and not more than its bound', () => {
    const tail = all();
    for (const entry of calls(1, rowsMax + 70)) {
      tail.take(entry);
      flush();
    }
    expect(idsOf(tail)).toEqual(names(71, rowsMax + 70).toReversed());
  });

  test('keeps the newest calls of a flood that arrives while nothing is painted', () => {
    const frames: (() => void)[] = [];
    const tail = createTail(
      () => true,
      (run) => void frames.push(run),
    );
    for (const entry of calls(1, 20 * rowsMax)) tail.take(entry);
    flush();
    expect(frames).toHaveLength(1);
    expect(idsOf(tail)).toEqual([]);
    frames[0]?.();
    expect(idsOf(tail)).toEqual(
      names(19 * rowsMax + 1, 20 * rowsMax)
        .slice(-idsOf(tail).length)
        .toReversed(),
    );
    expect(idsOf(tail)).toHaveLength(rowsMax);
  });

  test('asks for one frame, however many entries arrive before it', () => {
    const frame = vi.fn<(run: () => void) => void>((run) => run());
    const tail = createTail(() => true, frame);
    const changed = vi.fn<() => void>();
    const stop = tail.subscribe(changed);
    for (const entry of calls(1, 50)) tail.take(entry);
    flush();
    expect([frame.mock.calls.length, changed.mock.calls.length]).toEqual([1, 1]);
    stop();
    tail.take(entryOf('later'));
    flush();
    expect(changed.mock.calls.length).toBe(1);
  });

  test('held: rows stay as they are and arrivals are counted; then the newest are shown', () => {
    const tail = all();
    tail.addRecorded(calls(1, 3).toReversed());
    tail.hold(true);
    for (const entry of calls(4, 2_003)) tail.take(entry);
    tail.take(resultEntryOf('r2003', 5));
    flush();
    expect([idsOf(tail), tail.view().held]).toEqual([['r3', 'r2', 'r1'], 2_000]);
    tail.hold(false);
    expect(tail.view()).toMatchObject({ held: 0, isHeld: false });
    expect(idsOf(tail)).toHaveLength(rowsMax);
    expect(idsOf(tail).slice(0, 3)).toEqual(['r2003', 'r2002', 'r2001']);
    expect(tail.view().rows[0]?.result?.durationMs).toBe(5);
  });

  test('held while a lost connection is made again: what was missed waits too, and is sorted in', () => {
    const tail = all();
    tail.addRecorded(calls(1, 3).toReversed());
    tail.hold(true);
    tail.take(entryOf('r6', { ts: at(6) }));
    tail.addRecorded(calls(1, 6).toReversed());
    flush();
    expect([idsOf(tail), tail.view().held]).toEqual([['r3', 'r2', 'r1'], 3]);
    tail.hold(false);
    expect(idsOf(tail)).toEqual(['r6', 'r5', 'r4', 'r3', 'r2', 'r1']);
  });

  test('what was missed does not displace what is newer', () => {
    const tail = all();
    for (const entry of calls(1_000, 1_000 + rowsMax - 1)) tail.take(entry);
    flush();
    tail.addRecorded(calls(1, 200).toReversed());
    expect(idsOf(tail)).toEqual(names(1_000, 1_000 + rowsMax - 1).toReversed());
  });

  test('the result of a call joins its row, in the same batch, later, and from the log', () => {
    const tail = all();
    tail.take(entryOf('a'));
    tail.take(resultEntryOf('a', 1));
    tail.take(entryOf('b'));
    tail.take(entryOf('c'));
    flush();
    tail.take(resultEntryOf('b', 2));
    flush();
    tail.addRecorded([resultEntryOf('c', 3)]);
    expect(Object.fromEntries(tail.view().rows.map(({ requestId, result }) => [requestId, result?.durationMs]))).toEqual({
      a: 1,
      b: 2,
      c: 3,
    });
  });

  test('shows only outcomes that are wanted', () => {
    const tail = createTail(
      (outcome) => outcome === 'deny',
      (run) => run(),
    );
    tail.take(entryOf('yes', { decision: 'deny', code: 'policy_denied' }));
    tail.take(entryOf('no'));
    tail.addRecorded([entryOf('not'), entryOf('too', { decision: 'deny', code: 'policy_denied' })]);
    flush();
    expect(idsOf(tail).toSorted()).toEqual(['too', 'yes']);
  });

  const second = fc.integer({ min: 0, max: 3_000 });
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('take' as const), from: second, count: fc.integer({ min: 1, max: 700 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('fill' as const), from: second, count: fc.integer({ min: 0, max: 300 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('hold' as const), isHeld: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('frame' as const) }) },
  );

  test('after any steps: bounded, no call twice, sorted after each fill, and unchanged while held', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const tail = all();
        for (const one of steps) {
          const before = tail.view();
          if (one.do === 'take') for (const entry of calls(one.from, one.from + one.count - 1)) tail.take(entry);
          else if (one.do === 'fill') tail.addRecorded(calls(one.from, one.from + one.count - 1).toReversed());
          else if (one.do === 'hold') tail.hold(one.isHeld);
          else flush();
          const { rows, isHeld, held } = tail.view();
          expect(rows.length).toBeLessThanOrEqual(rowsMax);
          expect(new Set(idsOf(tail)).size).toBe(rows.length);
          if (before.isHeld && isHeld && before.rows.length > 0) expect(rows).toBe(before.rows);
          if (!isHeld) expect(held).toBe(0);
          const times = rows.map(({ ts }) => Date.parse(ts));
          if (one.do === 'fill' && rows !== before.rows) expect(times).toEqual(times.toSorted((a, b) => b - a));
        }
      }),
      { numRuns: 60 },
    );
  });
});
