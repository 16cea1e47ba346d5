// Sidecars that share sessions and limits, while the control plane answers late or never, in virtual time. Calls go
// through the sessions of a door and are decided as there. The ledger is the control plane's. `TOLLGATE_TEST_CASES`
// raises the number of cases.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askLedger, type CounterSettings, type CounterState, freshCounter } from '../../../../control-plane/quota/rules/ledger.ts';
import { bounds, type QuotaAnswer, type QuotaAsk, quotaCounterKey } from '../../../../proto/contract/index.ts';
import { sessionBytes } from '../../../../sidecar/doors/entrance/entrance.ts';
import { SessionMemory } from '../../../../sidecar/doors/sessions/session-memory.ts';
import { createSessions } from '../../../../sidecar/doors/sessions/sessions.ts';
import { type JudgedCall, judge } from '../../../../sidecar/engine/govern/govern.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { randomFrom } from '../../../support/random.ts';
import { agent, ruleFor } from '../../../support/snapshots.ts';

const cases = Math.max(25, Math.ceil(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 200));
const seed = process.env['TOLLGATE_TEST_SEED'];
const options = { numRuns: cases, ...(seed === undefined ? {} : { seed: Number(seed) }) };
const timeout = Math.max(120_000, cases * 2_000);

interface Plan {
  readonly seed: number;
  readonly sidecars: number;
  /** The calls that agents may make together in one session, and the calls of the tool in any minute. */
  readonly cap: number;
  /** Null: the tool has no limit. */
  readonly limit: number | null;
  /** The maximum delay of each message of the control plane, in ms. */
  readonly delayMs: number;
  /** The value of `TOLLGATE_LEASE_WAIT_MS`. */
  readonly waitMs: number;
  /** The time within which a caller must be answered, in ms. Null: callers wait. */
  readonly budgetMs: number | null;
  /** How often a second a stream is lost. */
  readonly losses: number;
  readonly caps: 'count' | 'deny';
}

interface CallRecord {
  readonly calledAt: number;
  readonly answeredAt: number;
  readonly decision: string;
  readonly entry: string;
  readonly code: string;
  readonly isDry: boolean;
  readonly outage: boolean;
}

const tickMs = 50;
const lengthMs = 20_000;
const callsPerSecond = 6;

async function play(plan: Plan, isGoneWhenSlow = false) {
  const random = randomFrom(plan.seed);
  let now = 0;
  const events: { readonly at: number; readonly run: () => void }[] = [];
  const at = (time: number, run: () => void): void => {
    const place = events.findLastIndex((event) => event.at <= time) + 1;
    events.splice(place, 0, { at: time, run });
  };

  const states = new Map<string, CounterState>();
  const falseClaims: string[] = [];
  const answer = (holder: string, { counter, ...ask }: QuotaAsk): { readonly answer: QuotaAnswer; readonly recall: readonly string[] } => {
    const key = quotaCounterKey(counter);
    const max = Math.min(counter.kind === 'run' ? plan.cap : (plan.limit ?? 0), ask.max ?? Number.POSITIVE_INFINITY);
    const settings: CounterSettings = counter.kind === 'run' ? { kind: 'total', max } : { kind: 'window', windowSeconds: 60, max };
    const outcome = askLedger(states.get(key) ?? freshCounter(1e9 + now), settings, { ...ask, holder }, 1e9 + now);
    if ('falseClaim' in outcome) {
      falseClaims.push(outcome.falseClaim);
      return { answer: { counter, number: ask.number, result: { kind: 'taken' } }, recall: [] };
    }
    states.set(key, outcome.state);
    return { answer: { counter, number: ask.number, result: outcome.result }, recall: outcome.recall.map(({ holder: one }) => one) };
  };

  const sidecar = await createTestSidecar({
    world: {
      agents: [agent({ maxToolCalls: plan.cap })],
      documents: plan.limit === null ? [] : [ruleFor('mail.send', { permission: 'allow', rateLimit: plan.limit })],
      settings: {
        outage: {
          maxStalenessSeconds: 3_600,
          then: { interactive: 'last_known', subagent: 'last_known', background: 'last_known', api: 'last_known' },
          ...(plan.caps === 'deny' ? { caps: 'deny' } : {}),
        },
      },
    },
  });
  const govern = { ...sidecar.govern, clock: { now: () => now, wallTime: () => now } };

  const answered: CallRecord[] = [];
  const all = Array.from({ length: plan.sidecars }, (_, place) => {
    const holder = `sidecar-${place}`;
    const leases = new Leases({ onUrgent: () => at(now, tick), onActive: () => undefined, onWaited: () => undefined }, plan.waitMs);
    // A stream keeps the order.
    const arrives = { there: 0, back: 0 };
    let isOpen = true;
    let stream = 0;
    const carry = (way: 'there' | 'back', run: () => void): void => {
      const sent = stream;
      arrives[way] = Math.max(arrives[way], now + random() * plan.delayMs);
      at(arrives[way], () => {
        if (sent === stream && isOpen) run();
      });
    };
    function tick(): void {
      leases.endWaits(now);
      if (!isOpen) return;
      const asks = leases.asks(now);
      if (asks.length === 0) return;
      carry('there', () => {
        const told = asks.map((ask) => answer(holder, ask));
        for (const { answer: one, recall } of told)
          for (const other of all) if (recall.includes(other.holder)) other.carry('back', () => other.leases.recalled([one.counter], now));
        carry('back', () =>
          leases.answered(
            told.map((one) => one.answer),
            now,
          ),
        );
      });
    }
    const lose = (): void => {
      if (!isOpen) return;
      isOpen = false;
      stream += 1;
      leases.lost(now);
      at(now + 200 + random() * 4_000, () => {
        isOpen = true;
        leases.opened();
      });
    };
    if (isGoneWhenSlow) Object.defineProperty(leases, 'isGone', { get: () => leases.isAway });
    leases.policyChanged({ epoch: 'e', number: 1 }, now);
    leases.opened();
    for (let time = tickMs; time < lengthMs + 10_000; time += tickMs) at(time, tick);
    const sessions = createSessions({ counters: createLeasedCounters(leases, 60), govern }, new SessionMemory(sessionBytes));
    const call = (): void => {
      const calledAt = now;
      const claimed = { sessionId: 'shared', chain: ['agent-1'], delegatedTools: null, tier: 'api', client: { name: 'test' } } as const;
      const { run } = sessions.find({ sub: 'ann', keyId: 'key-1' }, claimed);
      const until = plan.budgetMs === null ? {} : { until: calledAt + plan.budgetMs };
      const tell = ({ result, entry }: JudgedCall): void => {
        const { decision, outage, code, decisionReason } = JSON.parse(entry);
        const heard = result.allowed ? 'allow' : 'deny';
        const isDry = String(decisionReason).includes('; of it ');
        answered.push({ calledAt, answeredAt: now, decision: heard, entry: decision, code, isDry, outage: outage === true });
      };
      const judged = judge(govern, run, { tool: 'mail.send', input: {} }, { forwards: true, ...until });
      if (judged instanceof Promise) void judged.then(tell);
      else tell(judged);
    };
    return { holder, leases, carry, call, lose };
  });

  for (let time = 0; time < lengthMs; time += (-Math.log(1 - random()) * 1_000) / callsPerSecond)
    at(time, () => all[Math.floor(random() * all.length)]?.call());
  if (plan.losses > 0)
    for (let time = 0; time < lengthMs; time += (-Math.log(1 - random()) * 1_000) / plan.losses)
      at(time, () => all[Math.floor(random() * all.length)]?.lose());

  let calls = 0;
  for (let event = events.shift(); event !== undefined; event = events.shift()) {
    ({ at: now } = event);
    event.run();
    // The result of a waiting decision is reported within this moment.
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
    calls += 1;
  }
  const used = all.reduce((sum, { leases }) => sum + leases.tally.used, 0);
  const allowed = answered.filter(({ decision }) => decision === 'allow');
  return { answered, allowed, used, falseClaims, calls };
}

const plans: fc.Arbitrary<Plan> = fc.record({
  seed: fc.integer({ min: 0, max: 0x7fffffff }),
  sidecars: fc.integer({ min: 1, max: 3 }),
  cap: fc.integer({ min: 1, max: 60 }),
  limit: fc.option(fc.integer({ min: 1, max: 60 })),
  delayMs: fc.constantFrom(2, 200, 3_000),
  waitMs: fc.constantFrom(10, bounds.leaseWaitMs, 5_000),
  budgetMs: fc.constantFrom(null, 300, 3_500),
  losses: fc.constant(0),
  caps: fc.constantFrom('count' as const, 'deny' as const),
});

test('a control plane that answers after 0 to 3 s: a denied call has no entry that allows, is not counted, and is answered in time', {
  timeout,
}, async () => {
  let allowed = 0;
  let denied = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const told = await play(plan);
      for (const { decision, entry, calledAt, answeredAt } of told.answered) {
        expect(entry).toBe(decision);
        expect(answeredAt - calledAt).toBeLessThanOrEqual(
          Math.min(plan.waitMs + 2 * tickMs, plan.budgetMs ?? Number.POSITIVE_INFINITY) + tickMs,
        );
      }
      // A call over a used-up limit counts towards the cap. A call without an answer counts nowhere.
      const tried = told.answered.filter(({ code, isDry }) => code === 'rate_limited' && !isDry).length;
      expect(told.used).toBeLessThanOrEqual(told.allowed.length * (plan.limit === null ? 1 : 2) + tried);
      expect(told.falseClaims).toEqual([]);
      allowed += told.allowed.length;
      denied += told.answered.length - told.allowed.length;
    }),
    options,
  );
  expect(Math.min(allowed, denied)).toBeGreaterThan(cases);
});

const within = ({ allowed }: Awaited<ReturnType<typeof play>>, cap: number): boolean => allowed.length <= cap;

test('while every stream is open, however slow, a session makes no more calls than its cap', { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const told = await play(plan);
      expect(within(told, plan.cap)).toBe(true);
      expect(told.answered.some(({ outage }) => outage)).toBe(false);
    }),
    options,
  );
});

test('the test detects a sidecar that counts locally while its stream is only slow', { timeout }, async () => {
  const mutant = fc.asyncProperty(plans, async (plan) => within(await play({ ...plan, limit: null, caps: 'count' }, true), plan.cap));
  const told = await fc.check(mutant, { ...options, numRuns: 4 * cases });
  expect(told.failed).toBe(true);
});

const losing = plans.map((plan) => ({ ...plan, limit: null, losses: 0.5, delayMs: 20 }));

test('with lost streams, each sidecar makes at most the cap of calls, marks what it counted locally, and none makes any where caps deny', {
  timeout,
}, async () => {
  let marked = 0;
  await fc.assert(
    fc.asyncProperty(losing, async (plan) => {
      const told = await play(plan);
      const alone = told.answered.filter(({ outage }) => outage);
      expect(told.allowed.length).toBeLessThanOrEqual(plan.caps === 'deny' ? plan.cap : plan.cap * plan.sidecars);
      expect(told.allowed.length - alone.length).toBeLessThanOrEqual(plan.cap);
      if (plan.caps === 'deny') expect(alone).toEqual([]);
      marked += alone.length;
    }),
    options,
  );
  expect(marked).toBeGreaterThan(0);
});
