// Examples of what one ask is answered. `ledger-model.test.ts` checks what holds for all asks.
import { bounds } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import {
  askLedger,
  type CounterSettings,
  type CounterState,
  freshCounter,
  keptUntilMs,
  type LedgerAsk,
} from '../../control-plane/quota/rules/ledger.ts';

const start = 1_700_000_000_000;
const window = (max: number, windowSeconds = 60): CounterSettings => ({ kind: 'window', windowSeconds, max });
const total = (max: number): CounterSettings => ({ kind: 'total', max });

/** A counter that is asked repeatedly. */
function createCounter(settings: CounterSettings) {
  let state: CounterState = freshCounter(start);
  let numbers = 0;
  const counter = {
    settings,
    now: start,
    get state() {
      return state;
    },
    ask: (holder: string, ask: Partial<LedgerAsk> = {}) => {
      const outcome = askLedger(
        state,
        counter.settings,
        { holder, number: (numbers += 1), waiting: 0, onlySettles: false, made: null, settled: [], ...ask },
        counter.now,
      );
      if ('falseClaim' in outcome) throw new Error(outcome.falseClaim);
      ({ state } = outcome);
      return outcome;
    },
    /** Returns the id and the size of the grant. */
    grant: (holder: string, waiting = 0): { readonly id: number; readonly tokens: number } => {
      const { result } = counter.ask(holder, { waiting });
      if (result.kind !== 'grant') throw new Error(`answered ${result.kind}`);
      return result;
    },
    give: (holder: string, grantId: number, ...used: readonly { readonly ageMs: number; readonly count: number }[]) =>
      counter.ask(holder, { onlySettles: true, settled: [{ grantId, used }] }),
  };
  return counter;
}

describe('the size of a grant', () => {
  test('is half of what is left while one sidecar uses the limit alone', () => {
    const counter = createCounter(window(60));
    expect(counter.ask('a').result).toEqual({
      kind: 'grant',
      id: start * 1000,
      tokens: 30,
      ttlMs: bounds.leaseMs,
      max: 60,
      shared: false,
      ageMs: null,
    });
    expect(counter.grant('a').tokens).toBe(15);
  });

  test("is half of a sidecar's share when there are others", () => {
    const counter = createCounter(window(60));
    counter.grant('a');
    expect(counter.ask('b').result).toMatchObject({ tokens: 8, shared: true });
  });

  test('is the number of waiting calls, if that many are left', () => {
    const counter = createCounter(window(60));
    expect(counter.grant('a', 50).tokens).toBe(50);
    expect(counter.grant('b', 50).tokens).toBe(10);
  });

  test('is the last call where one is left', () => {
    expect(createCounter(window(1)).grant('a').tokens).toBe(1);
  });

  test('is nothing under a limit of 0, and waiting does not help', () => {
    expect(createCounter(window(0)).ask('a', { waiting: 1 }).result).toEqual({ kind: 'full', roomAfterMs: null, shared: false });
  });

  test('follows a raised limit at once, and a lowered one when the outstanding grants are settled', () => {
    const counter = createCounter(window(10));
    const { id } = counter.grant('a', 10);
    counter.settings = window(12);
    expect(counter.grant('a').tokens).toBe(1);
    counter.settings = window(4);
    expect(counter.ask('b', { waiting: 1 }).result.kind).toBe('later');
    counter.give('a', id);
    expect(counter.grant('b', 9).tokens).toBe(3);
  });
});

describe('recall', () => {
  test('holders of grants are named as soon as the rest is not enough for the waiting calls', () => {
    const counter = createCounter(window(10));
    counter.grant('a', 8);
    expect(counter.ask('b', { waiting: 2 }).recall).toEqual([]);
    expect(counter.ask('c', { waiting: 1 })).toMatchObject({ result: { kind: 'later' }, recall: [{ holder: 'a' }, { holder: 'b' }] });
  });

  test('a sidecar that only asks in advance takes grants from no holder', () => {
    const counter = createCounter(window(10));
    counter.grant('a', 10);
    expect(counter.ask('b', { waiting: 0 })).toMatchObject({ result: { kind: 'later' }, recall: [] });
  });

  test('a sidecar that asks is not recalled itself', () => {
    const counter = createCounter(window(10));
    counter.grant('a', 10);
    expect(counter.ask('a', { waiting: 3 })).toMatchObject({ result: { kind: 'full' }, recall: [] });
  });

  test('returned calls are granted to the sidecars that wait', () => {
    const counter = createCounter(window(10));
    const { id } = counter.grant('a', 10);
    expect(counter.ask('b', { waiting: 5 }).result.kind).toBe('later');
    counter.give('a', id, { ageMs: 0, count: 4 });
    expect(counter.grant('b', 6).tokens).toBe(6);
  });
});

describe('what counts, and for how long', () => {
  test('a call counts until a window and a step after its own step', () => {
    const counter = createCounter(window(1, 60));
    const { id } = counter.grant('a');
    counter.now += 1_500;
    counter.give('a', id, { ageMs: 400, count: 1 });
    expect(counter.ask('a', { waiting: 1 }).result).toEqual({ kind: 'full', roomAfterMs: 60_500, shared: false });
    counter.now += 60_499;
    expect(counter.ask('a', { waiting: 1 }).result.kind).toBe('full');
    counter.now += 1;
    expect(counter.grant('a').tokens).toBe(1);
  });

  test('a grant that is not settled counts as used at its last valid moment', () => {
    const counter = createCounter(window(1, 60));
    counter.grant('a');
    counter.now += bounds.leaseMs;
    expect(counter.ask('b', { waiting: 1 }).result).toEqual({ kind: 'full', roomAfterMs: 61_000, shared: false });
  });

  test('a grant that is settled twice counts once; one that is settled after it expired counts in full', () => {
    const counter = createCounter(window(10));
    const { id } = counter.grant('a', 10);
    counter.give('a', id, { ageMs: 0, count: 3 });
    counter.give('a', id, { ageMs: 0, count: 3 });
    expect(counter.state.charges).toEqual([[start / 1000, 3]]);
    const { id: late } = counter.grant('a', 7);
    counter.now += bounds.leaseMs;
    counter.give('a', late, { ageMs: 0, count: 1 });
    expect(counter.state.charges).toEqual([
      [start / 1000, 3],
      [start / 1000 + 2, 7],
    ]);
  });

  test('a use counts neither before its grant nor after its end, whatever age is reported', () => {
    const counter = createCounter(window(10));
    counter.now += 5_000;
    const { id } = counter.grant('a', 1);
    counter.now += 1_999;
    counter.give('a', id, { ageMs: 1e9, count: 1 });
    expect(counter.state.charges).toEqual([[start / 1000 + 5, 1]]);
  });

  test('everything still counts while the clock is behind an earlier time', () => {
    const counter = createCounter(window(1, 5));
    const { id } = counter.grant('a');
    counter.give('a', id, { ageMs: 0, count: 1 });
    counter.now -= 3_600_000;
    expect(counter.ask('a', { waiting: 1 }).result).toMatchObject({ kind: 'full', roomAfterMs: 6_000 });
  });

  test('in a long window no row grows large, and no call counts for less than the window', () => {
    const counter = createCounter(window(1_000_000, 86_400));
    for (let at = 0; at < 2_000; at += 1) {
      const { id } = counter.grant('a', 1);
      counter.give('a', id, { ageMs: 0, count: 1 });
      counter.now += 97_000;
    }
    expect(counter.state.charges.length).toBeLessThan(260);
    const counted = counter.state.charges.reduce((sum, [, count]) => sum + count, 0);
    const real = Math.floor(86_400 / 97);
    expect(counted).toBeGreaterThanOrEqual(real);
    expect(counted).toBeLessThanOrEqual(real + 6);
  });
});

describe('false reports', () => {
  const counter = createCounter(window(10));
  const { id } = counter.grant('a', 4);
  test.each([
    ['a grant that was never made', 'a', { grantId: id + 1, used: [] }],
    ['the grant of another', 'b', { grantId: id, used: [] }],
    [
      'more used than it held',
      'a',
      {
        grantId: id,
        used: [
          { ageMs: 0, count: 3 },
          { ageMs: 1, count: 3 },
        ],
      },
    ],
  ] as const)('%s is a false report, and changes nothing', (_, holder, settled) => {
    const outcome = askLedger(
      counter.state,
      window(10),
      { holder, number: 9, waiting: 1, onlySettles: false, made: null, settled: [settled] },
      start,
    );
    expect(outcome).toEqual({ falseClaim: expect.stringContaining(`grant ${settled.grantId}`) });
  });

  test('a grant from before a row was removed is not a false report: ids are never reused', () => {
    const fresh = freshCounter(start + 1);
    const settled = [{ grantId: id, used: [{ ageMs: 0, count: 99 }] }];
    expect(
      askLedger(fresh, window(10), { holder: 'a', number: 9, waiting: 0, onlySettles: true, made: null, settled }, start + 1),
    ).toMatchObject({
      result: { kind: 'taken' },
      state: { charges: [] },
    });
  });

  test('a sidecar that settles nothing gets a bounded number of grants, and leaves some to the others', () => {
    const greedy = createCounter(window(1_000_000));
    const answers = Array.from({ length: 40 }, () => greedy.ask('a').result.kind);
    expect(answers.filter((kind) => kind === 'grant')).toHaveLength(16);
    expect(greedy.ask('b', { waiting: 1 }).result.kind).toBe('grant');
  });
});

describe('the cap of a run', () => {
  test('a repeated ask gets the same grant, as long as that grant is valid', () => {
    const counter = createCounter(total(50));
    const first = counter.ask('a', { number: 7 });
    expect(first.result).toMatchObject({ kind: 'grant', tokens: 50 });
    expect(counter.ask('a', { number: 7, waiting: 40 }).result).toEqual(first.result);
    // The numbers of another sidecar are separate.
    expect(counter.ask('b', { number: 7, waiting: 1 }).result).toMatchObject({ kind: 'later' });
    if (first.result.kind === 'grant') counter.give('a', first.result.id, { ageMs: 0, count: 10 });
    expect(counter.ask('b', { number: 8, waiting: 1 }).result).toMatchObject({ kind: 'grant', tokens: 40, shared: true });
    expect(counter.ask('a', { number: 7 }).result).toMatchObject({ kind: 'later' });
  });

  test('a repeated ask reports the limit of its original grant, so that a lowered limit voids it', () => {
    const counter = createCounter(total(50));
    counter.ask('a', { number: 7 });
    counter.settings = total(10);
    expect(counter.ask('a', { number: 7 }).result).toMatchObject({ kind: 'grant', tokens: 50, max: 50 });
  });

  test('is granted without an end, and used calls never return', () => {
    const counter = createCounter(total(10));
    const { result } = counter.ask('a');
    expect(result).toMatchObject({ kind: 'grant', tokens: 10, ttlMs: null, shared: false, ageMs: 0 });
    if (result.kind === 'grant') counter.give('a', result.id, { ageMs: 0, count: 10 });
    counter.now += 40 * 3_600_000;
    expect(counter.ask('a', { waiting: 1 }).result).toEqual({ kind: 'full', roomAfterMs: null, shared: false });
  });

  test('reports to a new sidecar that others have used it, even when they hold nothing more', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    counter.give('a', id, { ageMs: 0, count: 1 });
    const { id: rest } = counter.grant('a');
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'later' });
    const alone = createCounter(total(10));
    const { id: only } = alone.grant('a');
    alone.give('a', only, { ageMs: 0, count: 1 });
    expect(alone.ask('b').result).toMatchObject({ shared: true });
    counter.give('a', rest);
    expect(counter.ask('b').result).toMatchObject({ shared: true });
    const unused = createCounter(total(10));
    const { id: returned } = unused.grant('a');
    unused.give('a', returned);
    expect(unused.ask('b').result).toMatchObject({ shared: false });
  });

  test('reports how long ago it was asked for first', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    counter.give('a', id, { ageMs: 0, count: 1 });
    counter.now += 90_000;
    expect(counter.ask('b').result).toMatchObject({ kind: 'grant', tokens: 9, shared: true, ageMs: 90_000 });
  });

  test('counts at least the calls that a holder knows of, where a restore has set the row back', () => {
    const counter = createCounter(total(10));
    expect(counter.ask('a', { made: 7 }).result).toMatchObject({ kind: 'grant', tokens: 3 });
    const other = createCounter(total(10));
    const { id } = other.grant('b');
    other.give('b', id, { ageMs: 0, count: 8 });
    expect(other.ask('a', { made: 7, waiting: 5 }).result).toMatchObject({ kind: 'grant', tokens: 2 });
    const window = createCounter({ kind: 'window', windowSeconds: 60, max: 10 });
    expect(window.ask('a', { made: 9, waiting: 10 }).result).toMatchObject({ kind: 'grant', tokens: 10 });
  });

  test('is charged what a sidecar used while the ledger was unavailable, even beyond its grant', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    counter.give('a', id, { ageMs: 0, count: 9 });
    expect(counter.grant('b', 3).tokens).toBe(1);
  });
});

describe('a holder of a run that does not return its grant', () => {
  test('is gone after a minute, and has used all of it', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    expect(counter.ask('b', { waiting: 1 })).toMatchObject({ result: { kind: 'later' }, recall: [{ holder: 'a', grantId: id }] });
    counter.now += 59_999;
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'later' });
    counter.now += 1;
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'later' });
    counter.now += 5_000;
    expect(counter.ask('b', { waiting: 1 }).result).toEqual({ kind: 'full', roomAfterMs: null, shared: true });
    // A holder that comes back then changes nothing.
    counter.give('a', id, { ageMs: 0, count: 1 });
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'full' });
  });

  test('is recalled once more before, because a recall may be lost', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    counter.ask('b', { waiting: 1 });
    counter.now += 3_600_000;
    expect(counter.ask('b', { waiting: 1 })).toMatchObject({
      result: { kind: 'later', held: true },
      recall: [{ holder: 'a', grantId: id }],
    });
    counter.now += 4_999;
    counter.give('a', id, { ageMs: 0, count: 4 });
    expect(counter.grant('b', 1).tokens).toBe(6);
  });

  test('counts as a sidecar that has used the run', () => {
    const counter = createCounter(total(10));
    counter.grant('a');
    for (const ms of [60_000, 5_000, 0]) {
      counter.ask('b', { waiting: 1 });
      counter.now += ms;
    }
    counter.settings = total(20);
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'grant', tokens: 10, shared: true });
  });

  test('keeps it while no other sidecar asks', () => {
    const counter = createCounter(total(10));
    const { id } = counter.grant('a');
    counter.now += 3_600_000;
    expect(counter.ask('b', { waiting: 1 }).result).toMatchObject({ kind: 'later' });
    counter.give('a', id, { ageMs: 0, count: 4 });
    expect(counter.grant('b', 1).tokens).toBe(6);
  });
});

test('while calls wait elsewhere, a sidecar gets nothing in advance, and what its own calls wait for', () => {
  const counter = createCounter(window(10));
  counter.grant('a', 4);
  expect(counter.ask('a', { waiting: 0, othersWaiting: 1 })).toMatchObject({ result: { kind: 'later' }, recall: [] });
  expect(counter.ask('a', { waiting: 1, othersWaiting: 1 }).result).toMatchObject({ kind: 'grant', tokens: 2 });
  expect(counter.ask('a', { waiting: 0 }).result).toMatchObject({ kind: 'grant' });
});

test('a row is kept until nothing in it counts, and an hour longer in case a clock is set back', () => {
  const counter = createCounter(window(10, 60));
  const { id } = counter.grant('a');
  expect(keptUntilMs(counter.state, counter.settings)).toBe(start + 63_000 + 3_600_000);
  counter.give('a', id);
  expect(keptUntilMs(counter.state, counter.settings)).toBe(start + 3_600_000);
});
