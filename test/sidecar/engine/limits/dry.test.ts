// What a call is told that found no calls left here: only what the sidecar knows. And what it asks for in one message.
import { expect, test } from 'vitest';
import type { QuotaAsk, QuotaResult } from '../../../../proto/contract/index.ts';
import { sessionBytes } from '../../../../sidecar/doors/entrance/entrance.ts';
import { SessionMemory } from '../../../../sidecar/doors/sessions/session-memory.ts';
import { createSessions } from '../../../../sidecar/doors/sessions/sessions.ts';
import { type JudgedCall, judge } from '../../../../sidecar/engine/govern/govern.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { agent, ruleFor } from '../../../support/snapshots.ts';

const waitMs = 250;

/** An agent with a cap of 10 calls, and a tool with a limit. */
async function start(rateLimit: number, caps: 'count' | 'deny' = 'count') {
  const { govern } = await createTestSidecar({
    world: {
      agents: [agent({ maxToolCalls: 10 })],
      documents: [ruleFor('mail.send', { permission: 'allow', rateLimit })],
      settings: {
        outage: {
          maxStalenessSeconds: 3_600,
          then: { interactive: 'last_known', subagent: 'last_known', background: 'last_known', api: 'last_known' },
          ...(caps === 'deny' ? { caps } : {}),
        },
      },
    },
  });
  let now = 0;
  const clock = { now: () => now, wallTime: () => now };
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined }, waitMs);
  leases.policyChanged({ epoch: 'e', number: 1 }, now);
  leases.opened();
  const sessions = createSessions({ counters: createLeasedCounters(leases, 60), govern }, new SessionMemory(sessionBytes));
  return {
    leases,
    call: (): Promise<JudgedCall> => {
      const claimed = { sessionId: 's', chain: ['agent-1'], delegatedTools: null, tier: 'api', client: { name: 'test' } } as const;
      const { run } = sessions.find({ sub: 'ann', keyId: 'key-1' }, claimed);
      return Promise.resolve(judge({ ...govern, clock }, run, { tool: 'mail.send', input: {} }, { forwards: true }));
    },
    asks: (): readonly QuotaAsk[] => leases.asks(now),
    answer: (asks: readonly QuotaAsk[], resultOf: (ask: QuotaAsk) => QuotaResult): void =>
      leases.answered(
        asks.map((ask) => ({ counter: ask.counter, number: ask.number, result: resultOf(ask) })),
        now,
      ),
    pass: (ms: number): void => {
      now += ms;
      leases.endWaits(now);
    },
  };
}

const grant = (ask: QuotaAsk): QuotaResult => ({
  kind: 'grant',
  id: ask.number,
  tokens: 10,
  ttlMs: ask.counter.kind === 'run' ? null : 2_000,
  max: 10,
  shared: false,
  ageMs: 0,
});
const later = (held: boolean): QuotaResult => ({ kind: 'later', askAfterMs: 30, held });

const reasonOf = ({ entry }: JudgedCall): { readonly reason: string; readonly kind: unknown } => {
  const { decisionReason, kind } = JSON.parse(entry);
  return { reason: decisionReason, kind };
};

test('the first call of a session asks for its cap and for its limit in one message', async () => {
  const world = await start(10);
  const called = world.call();
  const asks = world.asks();
  expect(asks.map(({ counter, waiting }) => [counter.kind, waiting])).toEqual([
    ['run', 1],
    ['limit', 1],
  ]);
  world.answer(asks, grant);
  expect((await called).result.allowed).toBe(true);
});

test('without an answer in time, it is said that the control plane granted none', async () => {
  const world = await start(10);
  const called = world.call();
  world.asks();
  world.pass(waitMs);
  expect(reasonOf(await called).reason).toContain('the control plane granted none in time');
});

test('that others hold the calls is said only when the control plane has said so', async () => {
  for (const held of [true, false]) {
    const world = await start(10);
    const called = world.call();
    world.answer(world.asks(), (ask) => (ask.counter.kind === 'run' ? grant(ask) : later(held)));
    world.pass(waitMs);
    const { reason } = reasonOf(await called);
    expect(reason).toContain(held ? 'other sidecars hold what is left' : 'the control plane granted none in time');
    expect(reason.includes('other sidecars')).toBe(held);
  }
});

test('that others hold the calls is not said from an earlier answer', async () => {
  const world = await start(10);
  const first = world.call();
  world.answer(world.asks(), (ask) => (ask.counter.kind === 'run' ? grant(ask) : later(true)));
  world.pass(waitMs);
  expect(reasonOf(await first).reason).toContain('other sidecars hold what is left');
  world.pass(10_000);
  const second = world.call();
  world.asks();
  // Requests for other counters are answered.
  world.pass(waitMs - 1);
  world.answer([], grant);
  world.pass(1);
  expect(reasonOf(await second).reason).toContain('the control plane granted none in time');
});

test('a run that others hold is not counted alone when the stream is lost', async () => {
  const world = await start(10);
  const called = world.call();
  world.answer(world.asks(), (ask) => (ask.counter.kind === 'run' ? later(true) : grant(ask)));
  world.leases.lost(0);
  expect((await called).result).toMatchObject({ allowed: false, code: 'cap_tool_calls', kind: 'retry' });
});

test('without a stream, it is said that the control plane cannot be reached', async () => {
  const world = await start(10, 'deny');
  world.leases.lost(0);
  expect(reasonOf(await world.call()).reason).toContain('the control plane cannot be reached');
});

test('a limit of 0 is no reason to retry', async () => {
  const world = await start(0);
  const called = world.call();
  world.answer(world.asks(), grant);
  const judged = await called;
  expect(judged.result).toMatchObject({ allowed: false, kind: 'terminal', retryAfterMs: null });
});
