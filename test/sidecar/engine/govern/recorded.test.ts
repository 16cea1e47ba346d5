// Calls whose entry cannot be recorded, however and whenever the spool fails. A call that was answered with a denial or
// an error has no remaining `allow` entry and was not counted. A permitted call has one entry and was counted once.
// Checked over windows of one process, and over limits and caps leased from a ledger, against a list of what was
// answered.
import type { AuditEntry } from '@tollgate/proto/contract';
import { runIdOf } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { judge } from '../../../../sidecar/engine/govern/govern.ts';
import { createOwedEntries } from '../../../../sidecar/engine/govern/owed-entries.ts';
import { recorded, recordedForCaller, recordedInTurn } from '../../../../sidecar/engine/govern/recorded.ts';
import { type GovernedRun, resumeRun } from '../../../../sidecar/engine/govern/run.ts';
import type { Verdict } from '../../../../sidecar/engine/govern/verdict.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { createNumbers } from '../../../../sidecar/engine/redact/index.ts';
import { AuditUnavailable, type UnavailableCause } from '../../../../sidecar/engine/spool/unavailable.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { startLedger } from '../../../support/one-ledger.ts';
import { agent, ruleFor } from '../../../support/snapshots.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const cases = Math.ceil(Number(process.env['TOLLGATE_TEST_CASES'] ?? 5_000) * 0.04);
const windowSeconds = 60;
const max = 4;
const world = {
  agents: [agent({ maxToolCalls: 1_000 })],
  documents: [
    ruleFor('github.*', { rateLimit: max }),
    { ...ruleFor('github.*', { rateLimit: max - 1 }), id: { layer: 'role', role: 'member' } as const, mode: 'audit' as const },
  ],
};

/** What the spool does with one entry: accepts it, rejects it, or both, at once or late. */
const faults = ['takes', 'full', 'busy', 'unwritable', 'unconfirmed', 'bug', 'bug after it', 'late', 'late and refused'] as const;
type Fault = (typeof faults)[number];

interface Step {
  readonly tool: 'github.read' | 'mail.send' | 'mail.other';
  readonly door: 'library' | 'waits' | 'in time' | 'caller';
  readonly entry: Fault;
  /** The fault of entries that take the permit back. */
  readonly takesBack: Fault;
  readonly passMs: number;
}

const fault = fc.oneof({ weight: 2, arbitrary: fc.constant<Fault>('takes') }, { weight: 3, arbitrary: fc.constantFrom(...faults) });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    tool: fc.constantFrom('github.read' as const, 'github.read' as const, 'mail.send' as const, 'mail.other' as const),
    door: fc.constantFrom('library' as const, 'waits' as const, 'in time' as const, 'caller' as const),
    entry: fault,
    takesBack: fault,
    passMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 3_000, max: 70_000 })),
  }),
  { minLength: 1, maxLength: 25 },
);

/** One call more than the limit allows. */
const overLimit: readonly Step[] = Array.from({ length: max + 1 }, () => ({
  tool: 'github.read',
  door: 'library',
  entry: 'takes',
  takesBack: 'takes',
  passMs: 0,
}));

/** A spool with configured faults, and the entries that it holds. */
function failing() {
  const held: AuditEntry[] = [];
  const late: (() => void)[] = [];
  const how = { entry: 'takes' as Fault, takesBack: 'takes' as Fault };
  const take = (json: string): number => held.push(JSON.parse(json) as AuditEntry);
  const refusal = (why: UnavailableCause) => new AuditUnavailable(why, 'as the test says');
  const append = (json: string): number => {
    const kind = json.includes('"PostToolUse"') ? how.takesBack : how.entry;
    if (kind === 'takes' || kind === 'late') return take(json);
    if (kind === 'bug after it' || kind === 'unconfirmed') take(json);
    if (kind === 'unconfirmed') throw refusal('unconfirmed');
    if (kind === 'bug' || kind === 'bug after it') throw new Error('a bug');
    throw refusal(kind === 'late and refused' ? 'unwritable' : kind);
  };
  return {
    held,
    how,
    /** Delivers the late results now. */
    arrive: () => {
      for (const one of late.splice(0)) one();
    },
    spool: {
      // A synchronous append cannot be late, and cannot wait for a confirmation.
      append: (json: string) => {
        if (how.entry === 'unconfirmed') how.entry = 'full';
        return append(json);
      },
      appendAsync: (json: string): Promise<number> => {
        const kind = json.includes('"PostToolUse"') ? how.takesBack : how.entry;
        if (!kind.startsWith('late')) return new Promise((done) => done(append(json)));
        return new Promise((done, fail) => {
          late.push(() => (kind === 'late' ? done(take(json)) : fail(refusal('unwritable'))));
        });
      },
    },
  };
}

function openShared({ counters, cell, govern }: TestSidecar): GovernedRun {
  const identity = { sub: 'ann', keyId: 'key-1', scopes: ['govern'] };
  const of = { keyId: 'key-1', sub: 'ann', sessionId: 's', agents: ['agent-1'] };
  const usage = createRunUsage(counters, {
    originSub: 'ann',
    startedAt: govern.clock.now(),
    shared: { id: runIdOf(of), agentId: 'agent-1', of },
  });
  return resumeRun(cell, {
    claim: { identity, hops: [{ agent: 'bot', tier: 'api', client: 'c' }] },
    facts: { sessionId: 's', client: { name: 'c' }, runChain: ['bot'], chainClaimed: false },
    numbers: createNumbers(),
    usage,
  });
}

interface DecidedAndAnswered {
  /** The decision, recorded or not. */
  readonly decided: Verdict;
  /** Null: the door received an error. */
  readonly answered: Verdict | null;
}

async function ask(
  sidecar: TestSidecar,
  run: GovernedRun,
  { door, tool }: Step,
  hurry: () => void,
  arrive: () => void,
): Promise<DecidedAndAnswered> {
  const { govern } = sidecar;
  const judging = judge(govern, run, { tool, input: {} }, { forwards: true });
  if (judging instanceof Promise) hurry();
  const recording = async (): Promise<Verdict> => {
    switch (door) {
      case 'library':
        return recorded(sidecar, judging);
      case 'waits':
        return recordedInTurn(sidecar, judging);
      case 'in time':
        return recordedInTurn(sidecar, judging, govern.clock.now() + 100);
      case 'caller':
        return recordedForCaller(sidecar, judging, new AbortController().signal);
    }
  };
  const answering = recording().catch(() => null);
  // A caller with a deadline is answered before the late result comes. The other callers wait for it.
  if (door === 'in time') await vi.advanceTimersByTimeAsync(200);
  else for (let turn = 0; turn < 3; turn += 1) await new Promise((next) => setImmediate(next));
  arrive();
  return { decided: (await judging).result, answered: await answering };
}

interface ReplayCounts {
  /** The times of the calls with a limit that were answered with a permit. */
  readonly limited: readonly number[];
  readonly permitted: number;
  /** A call that policy denied counts as an attempt, recorded or not. */
  readonly attempts: number;
  readonly now: number;
}

/** `met` collects the situations that occurred. */
async function play(told: readonly Step[], ledger: ReturnType<typeof startLedger> | null, met: Set<string>): Promise<ReplayCounts> {
  const base = await createTestSidecar({ world, ...(ledger === null ? {} : { counters: ledger.counters }) });
  const { time } = base;
  const spool = failing();
  const sidecar: TestSidecar = Object.assign(base, { spool: spool.spool, owed: createOwedEntries() });
  const run = openShared(sidecar);
  const limited: number[] = [];
  const permitted = new Set<string>();
  let attempts = 0;
  const hurry = (): void => {
    ledger?.answer(time.now);
    ledger?.leases.endWaits(time.now + 1_000);
  };
  for (const step of told) {
    for (const until = time.now + step.passMs; ; time.now = Math.min(until, time.now + 200)) {
      ledger?.answer(time.now);
      if (time.now === until) break;
    }
    Object.assign(spool.how, { entry: step.entry, takesBack: step.takesBack });
    const isLimited = step.tool === 'github.read';
    const used = limited.filter((at) => Math.floor(time.now / 1000) - Math.floor(at / 1000) <= windowSeconds).length;
    const { decided, answered } = await ask(sidecar, run, step, hurry, spool.arrive);
    met.add(answered === null ? 'error' : answered.decision.code);
    // A call that was answered with a denial or an error has released its place in the limit.
    if (ledger === null) expect(decided.allowed).toBe(step.tool !== 'mail.other' && !(isLimited && used >= max));
    if (!decided.allowed && decided.decision.attempt) attempts += 1;
    if (answered?.allowed !== true) continue;
    permitted.add(answered.requestId);
    if (isLimited) limited.push(time.now);
  }
  spool.arrive();
  Object.assign(spool.how, { entry: 'takes', takesBack: 'takes' });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(standing(spool.held)).toEqual([...permitted]);
  expect(run.usage.toolCalls).toBe(permitted.size + attempts);
  return { limited, permitted: permitted.size, attempts, now: time.now };
}

/** Returns the requests that are permitted according to the log. */
function standing(held: readonly AuditEntry[]): readonly string[] {
  const takenBack = new Set(held.filter(({ outcome }) => outcome?.action === 'block').map(({ requestId }) => requestId));
  return held
    .filter(({ hookEvent, decision, requestId }) => hookEvent === 'PreToolUse' && decision === 'allow' && !takenBack.has(requestId))
    .map(({ requestId }) => requestId);
}

test('over windows of one process, the remaining entries and the counts are those of permitted calls', { timeout: 120_000 }, async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (told) => {
      await play(told, null, met);
    }),
    { numRuns: cases, examples: [[overLimit]] },
  );
  expect([...met].toSorted()).toEqual(['agent_tools', 'allowed', 'audit_unavailable', 'error', 'rate_limited']);
});

test('over leases the ledger receives the permitted calls, and no others', { timeout: 120_000 }, async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (told) => {
      const ledger = startLedger({ windowSeconds, max });
      const { limited, permitted, attempts, now } = await play(told, ledger, met);
      expect(ledger.toldInAll(now)).toEqual({ limit: limited.length, run: permitted + attempts });
    }),
    { numRuns: cases, examples: [[overLimit]] },
  );
  expect([...met].toSorted()).toEqual(['agent_tools', 'allowed', 'audit_unavailable', 'error', 'rate_limited']);
});

// docs/design/semantics.md on durability `remote`: a lease is valid for less time than an entry is waited for.
test('a call whose entry is confirmed too late is taken back in the log and in the process; what the ledger already counted expires with the window', async () => {
  const ledger = startLedger({ windowSeconds, max: 1 });
  const base = await createTestSidecar({ world, counters: ledger.counters, durability: 'remote' });
  const { time, govern } = base;
  const held: AuditEntry[] = [];
  let expire: () => void = () => undefined;
  const appendAsync = (json: string): Promise<number> => {
    held.push(JSON.parse(json) as AuditEntry);
    return new Promise((done, fail) => {
      expire = () => fail(new AuditUnavailable('unconfirmed', 'as the test says'));
      if (json.includes('"PostToolUse"')) done(1);
    });
  };
  const sidecar: TestSidecar = Object.assign(base, { spool: { append: () => 1, appendAsync }, owed: createOwedEntries() });
  const run = openShared(sidecar);
  const decide = () => {
    const judging = judge(govern, run, { tool: 'github.read', input: {} }, { forwards: true });
    // One lease of the limit, one of the run, and no more.
    for (let asks = 0; asks < 4; asks += 1) ledger.answer((time.now += 50));
    ledger.leases.endWaits(time.now + 1_000);
    return judging;
  };
  const answering = recordedInTurn(sidecar, decide());
  await vi.advanceTimersByTimeAsync(0);
  expect(held).toHaveLength(1);
  for (const until = time.now + 5_000; time.now < until; time.now += 50) ledger.answer(time.now);
  expire();
  expect(await answering).toMatchObject({ allowed: false, code: 'audit_unavailable' });
  expect(held.map(({ hookEvent, decision, outcome }) => [hookEvent, decision, outcome?.code])).toEqual([
    ['PreToolUse', 'allow', undefined],
    ['PostToolUse', 'allow', 'audit_unavailable'],
  ]);
  expect([standing(held), run.usage.toolCalls]).toEqual([[], 0]);
  expect((await decide()).result.decision.code).toBe('rate_limited');
  for (const until = time.now + (windowSeconds + 2) * 1_000; time.now < until; time.now += 50) ledger.answer(time.now);
  expect((await decide()).result.decision.code).toBe('allowed');
});

test('entries that take permits back wait while the spool rejects them, bounded in number and characters; entries over the bound, or that can never be written, count as unrecorded', async () => {
  const written: string[] = [];
  let why: UnavailableCause | null = 'full';
  const owing = {
    unrecorded: 0,
    spool: {
      append: () => 1,
      appendAsync: (json: string) =>
        why === null ? Promise.resolve(written.push(json)) : Promise.reject(new AuditUnavailable(why, 'as said')),
    },
  };
  const owed = createOwedEntries({ entries: 3, characters: 10 });
  for (const entry of ['aa', 'bb', 'cccc', 'd']) await owed.write(owing, entry);
  expect(owing.unrecorded).toBe(1);
  await vi.advanceTimersByTimeAsync(100_000);
  why = null;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(written).toEqual(['aa', 'bb', 'cccc']);
  why = 'busy';
  for (const entry of ['xxxxxxxxx', 'yy']) await owed.write(owing, entry);
  expect(owing.unrecorded).toBe(2);
  why = 'oversized';
  await owed.write(owing, 'z');
  expect(owing.unrecorded).toBe(3);
  await owed.close();
  expect([owing.unrecorded, written.length]).toEqual([4, 3]);
});
