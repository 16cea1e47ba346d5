import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Decision, Limit, LimitSet } from '../../../../sidecar/engine/decide/decision.ts';
import { refuse } from '../../../../sidecar/engine/decide/refusal.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';

const limit = (id: string, max: number): Limit => ({ id, max, layer: 'workspace', path: id });
const setOf = (...limits: readonly Limit[]): LimitSet => ({ limits, found: null });

test('every limit of a set must allow the call, and the most specific one that does not is named', () => {
  const counters = createCounters(60);
  const ann = counters.allowanceOf('ann', 'enforced');
  const broad = limit('broad', 1);
  const narrow = limit('narrow', 1);
  ann.charge(setOf(broad), 0);
  expect(ann.firstFull(setOf(broad, narrow), 0)).toEqual({ limit: broad, retryAfterMs: 61_000, awaits: null, dry: null });
  ann.charge(setOf(narrow), 5_000);
  expect(ann.firstFull(setOf(broad, narrow), 5_000)).toEqual({ limit: narrow, retryAfterMs: 61_000, awaits: null, dry: null });
  expect(ann.firstFull(setOf(limit('other', 1)), 5_000)).toBeNull();
});

test('two subjects, and the enforced and the shadow fold, count separately; equal limits of one subject count together', () => {
  const counters = createCounters(60);
  const one = setOf(limit('a', 1));
  counters.allowanceOf('ann', 'enforced').charge(one, 0);
  expect(counters.allowanceOf('ann', 'enforced').firstFull(setOf(limit('a', 1)), 0)).not.toBeNull();
  expect(counters.allowanceOf('ann', 'enforced').firstFull(setOf(limit('a', 2)), 0)).toBeNull();
  expect(counters.allowanceOf('bob', 'enforced').firstFull(setOf(limit('a', 1)), 0)).toBeNull();
  expect(counters.allowanceOf('ann', 'shadow').firstFull(setOf(limit('a', 1)), 0)).toBeNull();
});

test('a set that was looked up for one subject, fold or set of counters is never counted for another', () => {
  const first = createCounters(60);
  const second = createCounters(60);
  const shared = setOf(limit('a', 1));
  first.allowanceOf('ann', 'enforced').charge(shared, 0);
  expect(second.allowanceOf('ann', 'enforced').firstFull(shared, 0)).toBeNull();
  second.allowanceOf('ann', 'enforced').charge(shared, 0);
  expect(first.allowanceOf('ann', 'enforced').firstFull(shared, 0)).not.toBeNull();
});

test('charges that have expired are removed, and nothing else', () => {
  const counters = createCounters(10);
  const ann = counters.allowanceOf('ann', 'enforced');
  const a = setOf(limit('a', 1));
  const b = setOf(limit('b', 1));
  ann.charge(a, 0);
  ann.charge(b, 5_000);
  counters.allowanceOf('bob', 'shadow').charge(setOf(limit('a', 1)), 0);
  counters.sweep(10_999);
  expect(counters.size).toBe(3);
  counters.sweep(11_000);
  expect(counters.size).toBe(1);
  expect(ann.firstFull(a, 11_000)).toBeNull();
  expect(ann.firstFull(b, 11_000)).not.toBeNull();
  counters.sweep(60_000);
  expect(counters.size).toBe(0);
});

type Action =
  | { readonly kind: 'call'; readonly sub: string; readonly ids: readonly string[] }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'window'; readonly seconds: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      sub: fc.constantFrom('ann', 'bob'),
      ids: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'sweep' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('window' as const), seconds: fc.constant(5) }) },
);

test('sweeping at any time, and caching lookups, change no decision', () => {
  const max = 2;
  let refused = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(action, fc.integer({ min: 0, max: 2_500 })), { maxLength: 80 }), (actions) => {
      const counters = createCounters(5);
      const calls: { readonly sub: string; readonly id: string; readonly step: number }[] = [];
      // As plans do, a set is stored and used for its subject repeatedly.
      const sets = new Map<string, LimitSet>();
      let now = 0;
      for (const [what, wait] of actions) {
        now += wait;
        const step = Math.floor(now / 1_000);
        if (what.kind === 'sweep') counters.sweep(now);
        else if (what.kind === 'window') counters.setWindow(what.seconds);
        else {
          const name = JSON.stringify([what.sub, what.ids]);
          const set = sets.get(name) ?? setOf(...what.ids.map((id) => limit(id, max)));
          sets.set(name, set);
          const used = (id: string): number =>
            calls.filter((call) => call.sub === what.sub && call.id === id && call.step >= step - 5).length;
          const full = what.ids.findLast((id) => used(id) >= max);
          const allowance = counters.allowanceOf(what.sub, 'enforced');
          expect(allowance.firstFull(set, now)?.limit.id).toBe(full);
          if (full === undefined) {
            allowance.charge(set, now);
            calls.push(...what.ids.map((id) => ({ sub: what.sub, id, step })));
          } else refused += 1;
        }
      }
    }),
    { numRuns: 1_000 },
  );
  expect(refused).toBeGreaterThan(100);
});

test('a longer or shorter window keeps what is counted', () => {
  const counters = createCounters(10);
  const ann = counters.allowanceOf('ann', 'enforced');
  const set = setOf(limit('a', 1));
  ann.charge(set, 0);
  counters.setWindow(60);
  expect(ann.firstFull(set, 20_000)).toEqual({ limit: set.limits[0], retryAfterMs: 41_000, awaits: null, dry: null });
  counters.setWindow(5);
  expect(ann.firstFull(set, 20_000)).toBeNull();
});

const decision = (fields: Partial<Decision>): Decision => ({ ...refuse('policy_denied', 'x'), decision: 'allow', ...fields });

test('a run counts what the decision tells it to count, and remembers the first cap that ended it', () => {
  const counters = createCounters(60);
  const usage = createRunUsage(counters, { originSub: 'ann', startedAt: 7 });
  const limits = setOf(limit('a', 2));
  const shadowLimits = setOf(limit('a', 1));
  usage.record(decision({ attempt: true, limits, shadowLimits }), 0);
  usage.record(decision({ attempt: false }), 0);
  usage.record(decision({ attempt: true, stop: 'max_tool_calls' }), 0);
  usage.record(decision({ attempt: true, stop: 'max_duration' }), 0);
  usage.addRound();
  usage.addCost(0.5);
  usage.addCost(0.25);
  expect(usage).toMatchObject({ startedAt: 7, toolCalls: 3, toolRounds: 1, spentCents: 0.75, stopped: 'max_tool_calls' });
  expect(usage.firstFull(limits, 0)).toBeNull();
  expect(usage.firstFullShadow(shadowLimits, 0)).not.toBeNull();
  expect(counters.size).toBe(2);
});
