// For the leases of running runs, `Leases.asks` checks only those that had activity or whose time has come. In every
// case it asks for exactly what a check of all leases would ask for.
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { QuotaAnswer, QuotaAsk, QuotaResult } from '../../../../proto/contract/index.ts';
import { Lease } from '../../../../sidecar/engine/limits/lease.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { SharedRunCalls } from '../../../../sidecar/engine/limits/shared-calls.ts';
import { runOf } from '../../../support/lease-names.ts';

const names = ['a', 'b', 'c', 'd'];
/** Times are whole steps, so that both checks happen at the same step. */
const stepMs = 50;

type Step =
  | { readonly kind: 'pass'; readonly steps: number }
  | { readonly kind: 'call'; readonly run: number; readonly max: number }
  | { readonly kind: 'limited'; readonly max: number }
  | { readonly kind: 'answer'; readonly with: 'grant' | 'full' | 'fullForNow' | 'later' | 'none'; readonly tokens: number }
  | { readonly kind: 'recall' | 'giveUp'; readonly run: number }
  | { readonly kind: 'lose' | 'open' | 'policy' };

const run = fc.integer({ min: 0, max: names.length - 1 });
const max = fc.constantFrom(1, 2, 5, 50);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('call' as const), run, max }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limited' as const), max }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('answer' as const),
      with: fc.constantFrom('grant' as const, 'grant' as const, 'full' as const, 'fullForNow' as const, 'later' as const, 'none' as const),
      tokens: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('pass' as const), steps: fc.constantFrom(1, 1, 2, 8, 30, 600, 1_200, 1_300) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('recall' as const, 'giveUp' as const), run }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('lose' as const, 'open' as const, 'policy' as const) }) },
);

interface LeaseReplay {
  readonly asks: readonly string[];
  /** The number of leases that were checked. */
  readonly looks: number;
  /** True if some leases were not checked. */
  readonly quiet: boolean;
}

function play(steps: readonly Step[]): LeaseReplay {
  let now = 1_000;
  let revision = 1;
  let grants = 0;
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  leases.policyChanged({ epoch: 'e', number: revision }, now);
  leases.opened();
  const runs = names.map((name) => new SharedRunCalls(leases, runOf(name)));
  const looked = vi.spyOn(Lease.prototype, 'ask');
  const unanswered: QuotaAsk[] = [];
  const asked: string[] = [];
  let active = 0;

  const call = (calls: SharedRunCalls, limit: number): void => {
    if (calls.hasCapacity(limit, now, true)) return calls.take(now);
    if (calls.isSpent(now)) return;
    const awaits = calls.awaits(now);
    if (awaits !== null)
      leases.wait(awaits, now, Number.POSITIVE_INFINITY, (isLast) => (isLast || calls.hasCapacity(limit, now, true) ? null : awaits));
  };
  const resultOf = ({ with: kind, tokens }: Extract<Step, { kind: 'answer' }>, ask: QuotaAsk): QuotaResult => {
    if (ask.onlySettles) return { kind: 'taken' };
    switch (kind) {
      case 'grant':
        return {
          kind: 'grant',
          id: (grants += 1),
          tokens,
          max: ask.max ?? 50,
          shared: tokens === 1,
          ageMs: null,
          ttlMs: ask.counter.kind === 'run' ? null : 2_020,
        };
      case 'full':
        return { kind: 'full', roomAfterMs: null, shared: true };
      case 'fullForNow':
        return { kind: 'full', roomAfterMs: 400 * tokens, shared: false };
      case 'later':
        return { kind: 'later', askAfterMs: 150 * tokens, held: false };
      case 'none':
        return { kind: 'none' };
    }
  };
  const tick = (): void => {
    leases.endWaits(now);
    // Sorted in an order that does not depend on the time of each check.
    const asks = leases
      .asks(now)
      .map((ask) => ({ ask, text: JSON.stringify([now, ask]) }))
      .toSorted((a, b) => (a.text < b.text ? -1 : 1));
    active += leases.size;
    unanswered.push(...asks.map(({ ask }) => ask));
    asked.push(...asks.map(({ text }) => text));
  };

  for (const one of steps) {
    switch (one.kind) {
      case 'pass':
        for (let n = 0; n < one.steps; n += 1) {
          now += stepMs;
          tick();
        }
        break;
      case 'call':
        call(runs[one.run] as SharedRunCalls, one.max);
        break;
      case 'limited': {
        const lease = leases.ofLimit('ann', { id: 'limit', max: one.max });
        if (lease.hasCapacity(now)) lease.take(now);
        else leases.touch(lease, now);
        break;
      }
      case 'answer': {
        const ask = unanswered.shift();
        if (ask === undefined) break;
        const answers: readonly QuotaAnswer[] = [{ counter: ask.counter, number: ask.number, result: resultOf(one, ask) }];
        leases.answered(answers, now);
        break;
      }
      case 'recall':
        leases.recalled([runOf(names[one.run] ?? '')], now);
        break;
      case 'giveUp':
        runs[one.run]?.release();
        break;
      case 'lose':
        unanswered.length = 0;
        leases.lost(now);
        break;
      case 'open':
        leases.opened();
        break;
      case 'policy':
        leases.policyChanged({ epoch: revision % 7 === 0 ? 'other' : 'e', number: (revision += 1) }, now);
        break;
    }
    tick();
  }
  const looks = looked.mock.calls.length;
  looked.mockRestore();
  return { asks: asked, looks, quiet: looks < active };
}

function playLookingAtAll(steps: readonly Step[]): LeaseReplay {
  const restless = vi.spyOn(Lease.prototype, 'hasNothingToAskUntil').mockReturnValue(null);
  try {
    return play(steps);
  } finally {
    restless.mockRestore();
  }
}

const cases = Math.ceil(Number(process.env['TOLLGATE_TEST_CASES'] ?? 5_000) * 0.1);

test('quiet leases are not checked, and no ask is later or smaller for it', { timeout: Math.max(60_000, cases * 100) }, () => {
  let quiet = 0;
  let asks = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const played = play(steps);
      if (played.quiet) quiet += 1;
      asks += played.asks.length;
      expect(played.asks).toEqual(playLookingAtAll(steps).asks);
    }),
    { numRuns: cases },
  );
  expect(quiet).toBeGreaterThan(cases * 0.2);
  expect(asks).toBeGreaterThan(cases);
});

test('a thousand running runs cost one check each, not one at every tick', () => {
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  leases.policyChanged({ epoch: 'e', number: 1 }, 0);
  leases.opened();
  const runs = Array.from({ length: 1_000 }, (_, at) => new SharedRunCalls(leases, runOf(`run-${at}`)));
  for (const calls of runs) calls.awaits(0);
  const answers = leases.asks(0).map(
    ({ counter, number }): QuotaAnswer => ({
      counter,
      number,
      result: { kind: 'grant', id: number, tokens: 10, max: 20, shared: false, ageMs: null, ttlMs: null },
    }),
  );
  leases.answered(answers, 0);
  const looked = vi.spyOn(Lease.prototype, 'ask');
  for (let now = stepMs; now < 50_000; now += stepMs) leases.asks(now);
  expect(looked).toHaveBeenCalledTimes(1_000);
  looked.mockRestore();
});
