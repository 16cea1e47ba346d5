// The memory that callers can take with costs.
import { FairMemory } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { createSessionCosts, type SpendingRun } from '../../../../sidecar/doors/sessions/session-costs.ts';

const dayMs = 24 * 3_600_000;
const run = (place: string): SpendingRun => ({ place, agents: [{ name: 'bot', cap: 100 }], usageOf: () => undefined, barred: () => null });
const amount = (cents: number) => ({ cents, least: cents });

test('a key that needs more memory than there is is refused for now, and what it has spent and reserved still counts', () => {
  const memory = new FairMemory<object>(20_000);
  const costs = createSessionCosts(memory);
  expect(costs.reserve(run('first'), 'a', amount(60), 0)).toMatchObject({ allowed: true });
  expect(costs.settle(run('first'), 'b', 40, 0)).toMatchObject({ allowed: true });
  let denied = null;
  for (let at = 0; at < 1_000 && denied === null; at += 1) {
    const verdict = costs.reserve(run(`session ${at}`), 'a', amount(1), 0);
    if (!verdict.allowed) denied = verdict;
  }
  expect(denied).toMatchObject({ code: 'sessions_full' });
  expect(costs.settle(run('new'), 'a', 1, 0)).toMatchObject({ code: 'sessions_full' });
  expect(costs.settle(run('first'), 'a', 59, 0)).toMatchObject({ allowed: true });
  expect(costs.spent('first', 'bot', 0)).toBe(99);
  // Another key has memory left.
  expect(createSessionCosts(memory).reserve(run('x'), 'a', amount(1), 0)).toMatchObject({ allowed: true });
});

test('a day after its last use an amount is forgotten, and all of its memory is free again', () => {
  const memory = new FairMemory<object>(100_000);
  const costs = createSessionCosts(memory);
  for (let at = 0; at < 300; at += 1) expect(costs.settle(run('s'), `id ${at}`, 0.1, at)).toMatchObject({ allowed: true });
  costs.reserve(run('s'), 'open', amount(1), 300);
  expect(costs.spent('s', 'bot', dayMs + 299)).toBeCloseTo(30);
  expect(costs.isEmpty).toBe(false);
  expect(costs.spent('s', 'bot', dayMs + 300)).toBe(0);
  expect(costs.isEmpty).toBe(true);
  expect(memory.has({}, 50_000)).toBe(true);
});

test('a run of which only the usage is left continues from there', () => {
  const costs = createSessionCosts(new FairMemory<object>(20_000));
  const left = { ...run('s'), usageOf: () => ({ spentCents: 95, addCost: () => undefined, end: () => undefined }) };
  expect(costs.reserve(left, 'a', amount(6), 0)).toMatchObject({ allowed: false, code: 'cap_budget' });
  expect(costs.reserve(left, 'a', amount(5), 0)).toMatchObject({ allowed: true });
});
