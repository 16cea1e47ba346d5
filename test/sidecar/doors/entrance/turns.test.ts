// Who asks often waits in a line of their own; who asks once in between does not wait for it.
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
    /** The event loop comes round once; false: nothing was due. */
    turn: (): boolean => {
      const due = next.splice(0);
      for (const run of due) run();
      return due.length > 0;
    },
  };
}

test('one caller alone waits for nothing', () => {
  const { ask, begun, turn } = start();
  for (let n = 0; n < 100; n += 1) ask('ann');
  expect(begun).toHaveLength(100);
  expect(turn()).toBe(false);
});

test('a caller that comes while another floods is begun at once', () => {
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

test('once a caller was alone for a second, it does not wait any more', () => {
  const { ask, begun, turn, time } = start();
  ask('ann');
  ask('bob');
  while (turn());
  time.now += 1_000;
  for (let n = 0; n < 10; n += 1) ask('bob');
  expect(begun).toHaveLength(12);
});

test('every request is begun once, those of a caller in their order, and in no turn more of one than it may have', () => {
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
