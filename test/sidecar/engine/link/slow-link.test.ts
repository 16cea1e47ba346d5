// A slow ledger: the sidecar asks for no more than the ledger can still answer, in messages that it can read. The
// remaining asks are sent after it has answered.
import { quotaService } from '@tollgate/proto';
import { bounds, type QuotaAnswer, type QuotaAsk } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { SharedRunCalls } from '../../../../sidecar/engine/limits/shared-calls.ts';
import { keepLeases } from '../../../../sidecar/engine/link/lease-keeper.ts';
import { asksOf } from '../../../../sidecar/engine/link/quota-stream.ts';
import { runOf } from '../../../support/lease-names.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { silentLog } from '../../../support/silent-log.ts';

interface Message {
  readonly asks: readonly QuotaAsk[];
  readonly answer: (answers: readonly QuotaAnswer[]) => void;
}

function start() {
  const clock = createManualClock();
  const soon: (() => void)[] = [];
  const messages: Message[] = [];
  let ticks = 0;
  const keeper = keepLeases({
    clock: {
      now: () => clock.now(),
      after: (ms, run) => {
        ticks += 1;
        return clock.after(ms, run);
      },
    },
    random: () => 0.5,
    soon: (run) => void soon.push(run),
    open: ({ opened }) => {
      soon.push(opened);
      return {
        ask: (asks) => new Promise((answer) => void messages.push({ asks, answer })),
        close: () => undefined,
      };
    },
    log: silentLog,
  });
  keeper.leases.policyChanged({ epoch: 'e', number: 1 }, clock.now());
  keeper.retryNow();
  const turns = async (): Promise<void> => {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      for (const run of soon.splice(0)) {
        run();
        quiet = 0;
      }
      await Promise.resolve();
    }
  };
  return {
    messages,
    ticks: () => ticks,
    /** One call for this run waits until its time is over. */
    wait: (n: number): void => {
      const awaits = new SharedRunCalls(keeper.leases, runOf('agent', { sessionId: `s-${n}` })).awaits(clock.now()) ?? [];
      keeper.leases.wait(awaits, clock.now(), Number.POSITIVE_INFINITY, () => awaits);
    },
    want: (n: number, agents: readonly string[] = ['agent']): void =>
      void new SharedRunCalls(keeper.leases, runOf('agent', { keyId: `key-${n % 50}`, sessionId: `s-${n}`, agents })).awaits(clock.now()),
    turns,
    pass: async (ms: number, stepMs = 50): Promise<void> => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs);
        await turns();
      }
    },
  };
}

const grantTo = ({ counter, number }: QuotaAsk): QuotaAnswer => ({
  counter,
  number,
  result: { kind: 'grant', id: number, tokens: 5, max: 10, shared: false, ageMs: null, ttlMs: null },
});

const asked = (messages: readonly Message[]): number => messages.reduce((sum, { asks }) => sum + asks.length, 0);

test('a lease that may be asked for again is not checked all the time while the ledger is late', async () => {
  const { wait, messages, pass, turns, ticks } = start();
  await turns();
  wait(1);
  await turns();
  const [first] = messages;
  const [one] = first?.asks ?? [];
  if (one === undefined) throw new Error('nothing was asked');
  first?.answer([{ counter: one.counter, number: one.number, result: { kind: 'later', askAfterMs: 210, held: false } }]);
  await turns();
  // The next message is not answered.
  wait(2);
  await pass(215, 1);
  expect(messages).toHaveLength(2);
  const before = ticks();
  await pass(30, 1);
  expect(ticks() - before).toBeLessThan(5);
});

test('while nothing is answered, at most two messages full of asks are in flight, and each run is asked for in the end', async () => {
  const { want, messages, pass, turns } = start();
  await turns();
  for (let n = 0; n < 5_000; n += 1) want(n);
  await pass(2_500);
  expect(asked(messages)).toBe(2 * bounds.leaseAsks);
  const heard = new Set<string>();
  for (let rounds = 0; rounds < 40 && heard.size < 5_000; rounds += 1) {
    for (const { asks, answer } of messages.splice(0)) {
      for (const { counter } of asks) heard.add(counter.id);
      answer(asks.map(grantTo));
    }
    await pass(100);
    expect(asked(messages)).toBeLessThanOrEqual(2 * bounds.leaseAsks);
  }
  expect(heard.size).toBe(5_000);
});

test('runs with long chains of agents are asked for in messages that the control plane can read', async () => {
  const { want, messages, turns, pass } = start();
  await turns();
  const chain = Array.from({ length: 64 }, (_, at) => `${at}-${'é'.repeat(190)}`);
  for (let n = 0; n < 500; n += 1) want(n, chain);
  await pass(50);
  expect(asked(messages)).toBe(500);
  for (const { asks } of messages) expect(quotaService.Lease.requestSerialize(asksOf(asks)).length).toBeLessThan(1_048_576);
});
