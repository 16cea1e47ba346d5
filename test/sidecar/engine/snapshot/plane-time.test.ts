import { expect, test } from 'vitest';
import { createPolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { createClockWatch, planeTime } from '../../../../sidecar/engine/snapshot/plane-time.ts';

const hourMs = 3_600_000;
const there = Date.UTC(2026, 5, 25, 12);

/** `aheadMs`: how far the clock of the machine is ahead. */
function start(aheadMs: number) {
  const time = { now: 0, there, aheadMs };
  const clock = { now: () => time.now, wallTime: () => time.there + time.aheadMs };
  const cell = createPolicyCell(clock, 'acme');
  const lines: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  const log = {
    info: (fields: object, message: string) => void lines.push({ level: 'info', fields, message }),
    warn: (fields: object, message: string) => void lines.push({ level: 'warn', fields, message }),
  };
  const look = createClockWatch({ cell, clock, log });
  const beat = (count = 1): void => {
    for (let at = 0; at < count; at += 1) {
      time.now += 1_000;
      time.there += 1_000;
      cell.heard(null, time.there);
      look();
    }
  };
  return { time, clock, cell, lines, beat, look };
}

test.each([-hourMs, hourMs, -60_001, 60_001, -20 * 365 * 24 * hourMs])(
  'a clock that is ahead by %i ms is reported once, and the time of the control plane is known',
  (aheadMs) => {
    const { time, clock, cell, lines, beat } = start(aheadMs);
    beat(60);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { clockAheadSeconds: Math.round(aheadMs / 1000) },
      message: expect.stringContaining('differs from that of the control plane by more than a minute'),
    });
    expect(planeTime({ clock, cell })).toBe(time.there);
    expect(cell.status().clockAheadMs).toBe(aheadMs);
  },
);

test('the line has both times', () => {
  const { lines, beat } = start(hourMs);
  beat(4);
  expect(lines[0]?.fields).toEqual({
    clockAheadSeconds: 3_600,
    here: '2026-06-25T13:00:04.000Z',
    controlPlane: '2026-06-25T12:00:04.000Z',
  });
});

test.each([0, 59_999, -60_000])('a clock that is ahead by %i ms is not reported', (aheadMs) => {
  const { lines, beat } = start(aheadMs);
  beat(60);
  expect(lines).toEqual([]);
});

test('a clock that is set right is reported as right, and as wrong when it is wrong again', () => {
  const { time, lines, beat } = start(hourMs);
  beat(10);
  time.aheadMs = 0;
  beat(10);
  time.aheadMs = -hourMs;
  beat(10);
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'info', 'warn']);
});

test('heartbeats that were read late, by a process that was suspended, are not reported', () => {
  const { time, lines, beat, cell, look } = start(0);
  beat(10);
  time.there += hourMs;
  for (let late = 5; late > 0; late -= 1) {
    cell.heard(null, time.there - hourMs + late);
    look();
  }
  beat(10);
  expect(lines).toEqual([]);
});

test('nothing is reported before the control plane has sent its time, or of one whose clock was never set', () => {
  const { cell, clock, lines, look, time } = start(hourMs);
  for (time.now = 0; time.now < 60_000; time.now += 1_000) {
    cell.heard(null);
    look();
  }
  expect(planeTime({ clock, cell })).toBe(there + hourMs);
  for (; time.now < 120_000; time.now += 1_000) {
    cell.heard(null, time.now);
    look();
  }
  expect(lines).toEqual([]);
  expect(cell.status().clockAheadMs).toBeNull();
  expect(planeTime({ clock, cell })).toBe(there + hourMs);
});

test('while the control plane is away its time is computed from the last difference', () => {
  const { cell, clock, time, beat } = start(-hourMs);
  beat();
  cell.lost();
  time.there += 10 * hourMs;
  expect(planeTime({ clock, cell })).toBe(time.there);
});
