// Grants of runs do not expire. A grant for a sidecar whose stream was lost before it received the answer must be found
// again, or the run would lose those calls.
import { bounds } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { askLedger, type CounterState, freshCounter } from '../../../../control-plane/quota/rules/ledger.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { SharedRunCalls } from '../../../../sidecar/engine/limits/shared-calls.ts';
import { runOf } from '../../../support/lease-names.ts';

const run = runOf('agent');
const max = 50;

function createWorld() {
  let now = 1_000;
  let state: CounterState = freshCounter(now);
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  leases.policyChanged({ epoch: 'e', number: 1 }, now);
  leases.opened();
  const calls = new SharedRunCalls(leases, run);
  return {
    leases,
    get granted() {
      return state.grants.reduce((sum, { tokens }) => sum + tokens, 0);
    },
    pass: (ms: number): void => void (now += ms),
    /** Sends the pending asks. The answers are received or lost. Returns the number of asks. */
    ask: (isHeard: boolean): number => {
      leases.endWaits(now);
      const asks = leases.asks(now);
      const answers = asks.map(({ counter, ...ask }) => {
        const outcome = askLedger(state, { kind: 'total', max }, { ...ask, holder: 'boot' }, now);
        if ('falseClaim' in outcome) throw new Error(outcome.falseClaim);
        ({ state } = outcome);
        return { counter, number: ask.number, result: outcome.result };
      });
      if (isHeard) leases.answered(answers, now);
      return asks.length;
    },
    reopen: (): void => {
      leases.lost(now);
      now += 100;
      leases.opened();
    },
    want: (): void => void calls.awaits(now),
    /** Returns how many calls can be made before the cap. */
    callAll: (answer: () => void): number => {
      let made = 0;
      for (let tries = 0; tries < 2 * max; tries += 1) {
        if (calls.hasCapacity(max, now, true)) {
          calls.take(now);
          made += 1;
        } else calls.awaits(now);
        now += 50;
        answer();
      }
      return made;
    },
  };
}

test('what was granted but not received is available after the stream was lost: no call of the cap is lost', () => {
  const world = createWorld();
  for (let times = 0; times < 4; times += 1) {
    world.want();
    expect(world.ask(false)).toBe(1);
    world.reopen();
  }
  expect(world.callAll(() => world.ask(true))).toBe(max);
});

test('and it is returned where no call needs it any more', () => {
  const world = createWorld();
  world.want();
  world.ask(false);
  world.pass(700_000);
  world.reopen();
  expect(world.granted).toBe(max);
  for (let ticks = 0; ticks < 4; ticks += 1) {
    world.ask(true);
    world.pass(bounds.leaseWaitMs);
  }
  expect(world.granted).toBe(0);
  expect(world.leases.size).toBe(0);
});

test('a run keeps its grant over a pause, and asks nothing', () => {
  const world = createWorld();
  world.want();
  world.ask(true);
  world.pass(50_000);
  expect(world.ask(true)).toBe(0);
  expect(world.granted).toBe(max);
  world.pass(20_000);
  expect(world.ask(true)).toBe(1);
  expect(world.granted).toBe(0);
});

test('a sidecar that closes asks for nothing whose answer it missed', () => {
  const world = createWorld();
  world.want();
  world.ask(false);
  world.reopen();
  expect(world.leases.release(2_000)).toEqual([]);
});
