// `reserveCost` and `settleCost`: what a run may spend, also with many calls in parallel, and what it has spent.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CostReservation, CostVerdict } from '../../../../sidecar/engine/limits/costs.ts';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, settings } from '../../../support/snapshots.ts';

const start = async (maxBudgetCents: number, more: readonly ReturnType<typeof agent>[] = []) => {
  const sidecar = await createTestSidecar({ world: { agents: [agent({ maxBudgetCents }), ...more] } });
  return { sidecar, run: runOf(sidecar) };
};
const runOf = (sidecar: TestSidecar, name = 'bot'): Run => startRun(sidecar, { agent: name, tier: 'api' });

function granted(verdict: CostVerdict): CostReservation {
  if (verdict.allowed) return verdict;
  throw new Error(verdict.reason);
}

test('a cost that fits is reserved, and its unspent part can be reserved again', async () => {
  const { run } = await start(100);
  const first = granted(run.reserveCost(60));
  expect(first.cents).toBe(60);
  run.settleCost(first, 10);
  const second = granted(run.reserveCost(90));
  run.settleCost(second);
  expect(run.stopped).toBeNull();
  expect(run.reserveCost(0.000001)).toEqual({
    allowed: false,
    code: 'cap_budget',
    reason: 'cap_budget: 0.000001 cents do not fit: 0 of 100 are left (maxBudgetCents)',
    stopped: 'max_budget',
  });
  expect(run.stopped).toBe('max_budget');
});

test('a run that has spent its budget calls no more tools', async () => {
  const { run, sidecar } = await start(5);
  run.settleCost(granted(run.reserveCost(5)), 5);
  expect(await run.decide({ tool: 'mail.send', input: {} })).toMatchObject({ allowed: false, code: 'cap_budget' });
  expect(run.stopped).toBe('max_budget');
  expect(await sidecar.entries()).toMatchObject([{ code: 'cap_budget' }]);
});

test('where money is missing only because of other reservations, the run does not end', async () => {
  const { run } = await start(100);
  const first = granted(run.reserveCost(60));
  expect(run.reserveCost(60)).toMatchObject({ allowed: false, stopped: null, reason: expect.stringContaining('40 of 100 are left') });
  expect(run.stopped).toBeNull();
  run.settleCost(first, 30);
  expect(run.reserveCost(60)).toMatchObject({ allowed: true, cents: 60 });
});

test('with a least amount, what is left is granted', async () => {
  const { run } = await start(100);
  run.settleCost(granted(run.reserveCost(70)));
  expect(run.reserveCost(50, { least: 31 })).toMatchObject({ allowed: false, stopped: 'max_budget' });
  expect(run.reserveCost(50, { least: 10 })).toMatchObject({ allowed: true, cents: 30 });
});

test('a cost that exceeds its reservation counts in full', async () => {
  const { run } = await start(100);
  run.settleCost(granted(run.reserveCost(10)), 100);
  expect(run.reserveCost(1)).toMatchObject({ allowed: false, stopped: 'max_budget' });
});

test('whatever runs in parallel, reserved and spent amounts never exceed the cap', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 50 }),
      fc.array(fc.tuple(fc.double({ min: 0, max: 20, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean()), {
        maxLength: 40,
      }),
      async (cap, steps) => {
        const { run } = await start(cap);
        const open: CostReservation[] = [];
        let spent = 0;
        for (const [cents, part, settles] of steps) {
          const verdict = run.reserveCost(cents);
          if (verdict.allowed) open.push(verdict);
          const one = settles ? open.shift() : undefined;
          if (one !== undefined) {
            run.settleCost(one, one.cents * part);
            spent += one.cents * part;
          }
          expect(spent + open.reduce((sum, { cents: held }) => sum + held, 0)).toBeLessThanOrEqual(cap + 1e-3);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test('fractions of a cent add up exactly', async () => {
  const { run } = await start(1);
  for (let call = 0; call < 10; call++) run.settleCost(granted(run.reserveCost(0.1)));
  expect(run.reserveCost(0.000001)).toMatchObject({ allowed: false });
});

test('a delegated run spends from its own budget and from each above it', async () => {
  const helper = agent({ id: 'agent-2', name: 'helper', maxBudgetCents: 30 });
  const { run } = await start(50, [helper]);
  const child = run.delegate('helper');
  expect(child.reserveCost(31)).toMatchObject({ allowed: false, stopped: 'max_budget' });
  child.settleCost(granted(child.reserveCost(30)));
  const second = run.delegate('helper');
  expect(second.reserveCost(21)).toMatchObject({ allowed: false, reason: expect.stringContaining('20 of 50 are left to the run above') });
  expect([second.stopped, run.stopped]).toEqual(['max_budget', null]);
  expect(run.reserveCost(20)).toMatchObject({ allowed: true });
});

test('a free model runs on a budget of 0, and an unregistered agent has no cap', async () => {
  const { run, sidecar } = await start(0);
  expect(run.reserveCost(0)).toMatchObject({ allowed: true, cents: 0 });
  expect(run.reserveCost(0.01)).toMatchObject({ allowed: false, stopped: 'max_budget' });
  expect(runOf(sidecar, 'someone').reserveCost(1_000_000)).toMatchObject({ allowed: true });
});

test('a caller without permission to call cannot spend', async () => {
  const { run, sidecar } = await start(100);
  sidecar.take({ settings: settings({ frozen: true }) });
  expect(run.reserveCost(1)).toMatchObject({ allowed: false, code: 'workspace_frozen', stopped: null });
});

test('a changed cap applies from the next reservation on', async () => {
  const { run, sidecar } = await start(100);
  granted(run.reserveCost(50));
  sidecar.take({ agents: [agent({ maxBudgetCents: 60 })] });
  expect(run.reserveCost(20)).toMatchObject({ allowed: false });
  expect(run.reserveCost(10)).toMatchObject({ allowed: true });
});

test('invalid amounts, and unknown reservations, are errors', async () => {
  const { run, sidecar } = await start(100);
  for (const cents of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => run.reserveCost(cents)).toThrow('reserveCost takes cents');
    expect(() => run.settleCost(granted(run.reserveCost(1)), cents)).toThrow('settleCost takes cents');
  }
  const once = granted(run.reserveCost(1));
  run.settleCost(once);
  expect(() => run.settleCost(once)).toThrow('that is not settled yet');
  expect(() => runOf(sidecar).settleCost(granted(run.reserveCost(1)))).toThrow('a reservation of this run');
});
