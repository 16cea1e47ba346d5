// Requests of a frequent caller wait in a queue of its own. A caller that sends one request in between does not wait
// for that queue.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTurns } from '../../../../sidecar/doors/entrance/turns.ts';

function start(perTurn = 1) {
  const time = { now: 0 };
  const next: (() => void)[] = [];
  const begun: string[] = [];
  const turns = createTurns({ clock: { now: () => time.now }, nextTurn: (run) => void next.push(run), perTurn });
  return {
    time,
    begun,
    ask: (caller: string, name = caller): void => {
      const begin = (): void => void begun.push(name);
      if (turns.mayBegin(caller)) begin();
      else turns.wait(caller, begin);
    },
    /** Runs one turn of the event loop. False: nothing was due. */
    turn: (): boolean => {
      const due = next.splice(0);
      for (const run of due) run();
      return due.length > 0;
    },
  };
}

test('a single caller does not wait', () => {
  const { ask, begun, turn } = start();
  for (let n = 0; n < 100; n += 1) ask('ann');
  expect(begun).toHaveLength(100);
  expect(turn()).toBe(false);
});

test('a request of another caller during a flood starts at once', () => {
  const { ask, begun, turn } = start();
  ask('bob');
  for (let n = 0; n < 100; n += 1) ask('flood');
  expect(begun).toEqual(['bob', 'flood']);
  turn();
  ask('ann');
  expect(begun).toEqual(['bob', 'flood', 'flood', 'ann']);
  while (turn());
  expect(begun).toHaveLength(102);
});

test('after one second as the only caller, a caller no longer waits', () => {
  const { ask, begun, turn, time } = start();
  ask('ann');
  ask('bob');
  while (turn());
  time.now += 1_000;
  for (let n = 0; n < 10; n += 1) ask('bob');
  expect(begun).toHaveLength(12);
});

test('every request starts once, those of a caller in order, and no turn starts more of one caller than its maximum', () => {
  const step = fc.oneof(fc.constantFrom('ann', 'bob', 'cleo'), fc.constant(null), fc.integer({ min: 1, max: 1_500 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 3 }), (steps, perTurn) => {
      const { ask, begun, turn, time } = start(perTurn);
      const asked: string[] = [];
      let waited = 0;
      for (const one of steps) {
        if (typeof one === 'number') time.now += one;
        else if (one === null) {
          const before = begun.length;
          turn();
          const inTurn = begun.slice(before).map((name) => name.split(' ')[0]);
          for (const caller of new Set(inTurn)) expect(inTurn.filter((name) => name === caller).length).toBeLessThanOrEqual(perTurn);
        } else {
          asked.push(`${one} ${asked.length}`);
          ask(one, asked.at(-1));
          waited = Math.max(waited, asked.length - begun.length);
        }
      }
      while (turn());
      expect(begun.toSorted()).toEqual(asked.toSorted());
      for (const caller of ['ann', 'bob', 'cleo'])
        expect(begun.filter((name) => name.startsWith(caller))).toEqual(asked.filter((name) => name.startsWith(caller)));
    }),
  );
});
