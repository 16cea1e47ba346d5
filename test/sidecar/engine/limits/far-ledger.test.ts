// Limits over sidecars whose control plane is far away or slow, and nothing fails: calls that have capacity are admitted,
// and not one more. In virtual time. `npm run bench -- side-S8` measures the same with real programs.
import { expect, test } from 'vitest';
import { type FarPlan, playFar } from './far-world.ts';

const callsOf = (limit: number): number => limit + Math.max(2, Math.ceil(limit / 4));
const plan = { seed: 1, sidecars: 3, countersAtOnce: 20 } as const;
const distances = [
  { roundTripMs: 1, waitMs: 250 },
  { roundTripMs: 50, waitMs: 250 },
  { roundTripMs: 300, waitMs: 1_500 },
] as const;
const orders = ['in turn', 'at once'] as const;

test.each(
  distances.flatMap((distance) =>
    [3, 10, 60].flatMap((limit) => orders.flatMap((order) => [2, 10].map((commitMs) => ({ ...distance, limit, order, commitMs })))),
  ),
)(
  '$roundTripMs ms away, transactions of $commitMs ms, limit $limit, $order: 99 % of the calls with capacity are admitted',
  async (cell) => {
    const told = await playFar({ ...plan, ...cell, counters: Math.ceil(300 / callsOf(cell.limit)) });
    expect(told.beyond).toBe(0);
    expect(told.admitted).toBeGreaterThanOrEqual(told.withCapacity * 0.99);
  },
);

test('a sidecar that shares its limits with no other asks rarely', async () => {
  const alone: FarPlan = { ...plan, sidecars: 1, roundTripMs: 50, waitMs: 250, commitMs: 2, limit: 60, order: 'in turn', counters: 20 };
  const told = await playFar(alone);
  expect(told.admitted).toBe(told.withCapacity);
  expect(told.asks).toBeLessThan(20 * 12);
});
