// Calls whose caller disconnects: at any moment, limits and caps count exactly the calls whose answer was delivered.
// Checked over windows of one process, and over leases from the ledger of the control plane, against a list of what was
// delivered.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judge } from '../../../../sidecar/engine/govern/govern.ts';
import { recordedForCaller } from '../../../../sidecar/engine/govern/recorded.ts';
import { openRun } from '../../../../sidecar/engine/govern/run.ts';
import { Grant } from '../../../../sidecar/engine/limits/grant.ts';
import { Lease } from '../../../../sidecar/engine/limits/lease.ts';
import { Window } from '../../../../sidecar/engine/limits/window.ts';
import { createNumbers } from '../../../../sidecar/engine/redact/index.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { startLedger } from '../../../support/one-ledger.ts';
import { agent, ruleFor } from '../../../support/snapshots.ts';

const cases = Math.ceil(Number(process.env['TOLLGATE_TEST_CASES'] ?? 5_000) * 0.03);
const windowSeconds = 60;

/** The moment when the caller of a call disconnects. */
const moments = ['never', 'before it is decided', 'while it waits', 'while it is recorded', 'once it is answered'] as const;

interface Step {
  readonly tool: 'github.read' | 'github.list';
  readonly goes: (typeof moments)[number];
  /** The time that passes before the call. */
  readonly passMs: number;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    tool: fc.constantFrom('github.read' as const, 'github.list' as const),
    goes: fc.constantFrom(...moments),
    passMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 3_000, max: 70_000 })),
  }),
  { minLength: 1, maxLength: 25 },
);

const max = 4;
const world = {
  agents: [agent({ maxToolCalls: 1_000 })],
  documents: [
    ruleFor('github.*', { rateLimit: max }),
    { ...ruleFor('github.*', { rateLimit: max - 1 }), id: { layer: 'role', role: 'member' } as const, mode: 'audit' as const },
  ],
};

async function play(told: readonly Step[], ledger: ReturnType<typeof startLedger> | null) {
  const sidecar = await createTestSidecar({ world, ...(ledger === null ? {} : { counters: ledger.counters }) });
  const { time, govern } = sidecar;
  const identity = { sub: 'ann', keyId: 'key-1', scopes: ['govern'] };
  const run = openRun(sidecar, {
    claim: { identity, hops: [{ agent: 'bot', tier: 'api', client: 'c' }] } as unknown as Parameters<typeof openRun>[1]['claim'],
    facts: { sessionId: 's', client: { name: 'c' }, runChain: ['bot'], chainClaimed: false },
    numbers: createNumbers(),
  });
  const delivered: number[] = [];
  const met = new Set<string>();
  let recording: () => void = () => undefined;
  Object.assign(sidecar, {
    spool: {
      append: () => 1,
      appendAsync: () => {
        recording();
        return Promise.resolve(1);
      },
    },
  });
  for (const { tool, goes, passMs } of told) {
    for (const until = time.now + passMs; ; time.now = Math.min(until, time.now + 200)) {
      ledger?.answer(time.now);
      if (time.now === until) break;
    }
    const leaving = new AbortController();
    if (goes === 'before it is decided') leaving.abort();
    recording = () => {
      if (goes === 'while it is recorded') leaving.abort();
    };
    const judging = judge(govern, run, { tool, input: {} }, { forwards: true, gone: leaving.signal });
    if (judging instanceof Promise) {
      met.add('waited');
      if (goes === 'while it waits') leaving.abort();
      ledger?.answer(time.now);
      ledger?.leases.endWaits(time.now + 1_000);
    }
    const expectsCapacity = delivered.filter((at) => Math.floor(time.now / 1000) - Math.floor(at / 1000) <= windowSeconds).length < max;
    const verdict = await recordedForCaller(sidecar, judging, leaving.signal);
    if (goes === 'once it is answered') leaving.abort();
    const isThere = goes === 'never' || goes === 'once it is answered' || (goes === 'while it waits' && !(judging instanceof Promise));
    met.add(verdict.allowed ? 'delivered' : verdict.decision.code);
    if (isThere && ledger === null) expect(verdict.allowed).toBe(expectsCapacity);
    if (!isThere) expect(verdict.allowed).toBe(false);
    if (verdict.allowed) delivered.push(time.now);
  }
  return { delivered, met, run, now: time.now };
}

test('limits of a single process count what was delivered', { timeout: 120_000 }, async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (told) => {
      for (const one of (await play(told, null)).met) met.add(one);
    }),
    { numRuns: cases },
  );
  expect([...met].toSorted()).toEqual(['caller_gone', 'delivered', 'rate_limited']);
});

test('limits of the ledger: once all is given back, the ledger has received every delivered call, and no other', {
  timeout: 120_000,
}, async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (told) => {
      const ledger = startLedger({ windowSeconds, max });
      const played = await play(told, ledger);
      for (const one of played.met) met.add(one);
      const heard = ledger.toldInAll(played.now);
      expect([heard.limit, ledger.leases.tally.used]).toEqual([played.delivered.length, played.delivered.length]);
    }),
    { numRuns: cases },
  );
  expect([...met].toSorted()).toEqual(['caller_gone', 'delivered', 'rate_limited', 'waited']);
});

test('what was reported to the ledger is not given back', () => {
  const lease = new Lease({ kind: 'limit', originSub: 'ann', id: 'a' });
  const revision = { epoch: 'e', number: 1 };
  const settledOf = (now: number) => lease.ask(now, 0, revision)?.settled.flatMap(({ used }) => used.map(({ count }) => count));
  lease.limitTo(5);
  lease.touch(0);
  const first = lease.ask(0, 1, revision);
  lease.answered(first?.number ?? 0, { kind: 'grant', id: 1, tokens: 5, ttlMs: 2_000, max: 5, shared: true, ageMs: null }, 0);
  lease.take(10);
  const early = lease.undoOf(10);
  lease.take(20);
  const late = lease.undoOf(20);
  early(30);
  expect(lease.tokens(30)).toBe(4);
  lease.recalled(40);
  expect(settledOf(50)).toEqual([1]);
  late(60);
  expect(settledOf(1_000)).toEqual([1]);
});

test('the report for a recalled grant does not contain a call that was given back before', () => {
  const grant = new Grant({ id: 1, tokens: 5, max: 5, ttlMs: 2_000 }, 0);
  grant.use(2, 100);
  grant.use(1, 400);
  expect(grant.unuse(90)).toBe(true);
  expect(grant.unuse(401)).toBe(false);
  expect([grant.left, grant.settled(500).used]).toEqual([
    3,
    [
      { ageMs: 400, count: 1 },
      { ageMs: 100, count: 1 },
    ],
  ]);
});

test('a call that is taken back leaves its window as if it had not happened, whatever came since', () => {
  const adds = fc.array(fc.record({ step: fc.integer({ min: 0, max: 30 }), isTakenBack: fc.boolean() }), { maxLength: 60 });
  fc.assert(
    fc.property(adds, fc.integer({ min: 1, max: 10 }), (made, seconds) => {
      const [window, other] = [new Window(seconds), new Window(seconds)];
      const inOrder = made.toSorted((a, b) => a.step - b.step);
      for (const { step, isTakenBack } of inOrder) {
        window.add(step);
        if (!isTakenBack) other.add(step);
      }
      for (const { step, isTakenBack } of inOrder) if (isTakenBack) window.remove(step);
      for (let step = inOrder.at(-1)?.step ?? 0; step <= 45; step += 1) expect(window.used(step)).toBe(other.used(step));
    }),
  );
});
