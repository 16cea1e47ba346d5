// The rows of a search: one for each call, from pages of entries.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { itemOf, rowsOf } from '../../../console/audit/rows.ts';
import { at, type Entry, entryOf, resultEntryOf } from './entries.ts';

const shown = (entries: readonly Entry[], isWhole: boolean) =>
  rowsOf(entries.map(itemOf), isWhole).map(({ requestId, result }) => [requestId, result?.durationMs ?? null]);

describe('rows of the log', () => {
  test('a decision and its result are one row, in the place of the decision', () => {
    expect(shown([resultEntryOf('b', 7), entryOf('c'), entryOf('b'), entryOf('a')], true)).toEqual([
      ['c', null],
      ['b', 7],
      ['a', null],
    ]);
  });

  test('a result without its decision waits for older entries, and is a row if there are none', () => {
    const entries = [resultEntryOf('b', 7), entryOf('a')];
    expect(shown(entries, false)).toEqual([['a', null]]);
    expect(shown(entries, true)).toEqual([
      ['b', 7],
      ['a', null],
    ]);
  });

  test('an entry that was recorded twice is one row', () => {
    expect(shown([resultEntryOf('a', 7), entryOf('a'), entryOf('a')], true)).toEqual([['a', 7]]);
  });

  test('of any entries in any pages: each decided call once, in order, with its result; more pages only add rows', () => {
    const call = fc.record({
      result: fc.option(fc.integer({ min: 0, max: 1_000 })),
      isDecided: fc.boolean(),
      delay: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), fc.nat(80), (made, cut) => {
        const entries = made
          .flatMap(({ result, isDecided, delay }, n): readonly Entry[] => [
            ...(isDecided ? [entryOf(`r${n}`, { ts: at(n) })] : []),
            ...(result === null ? [] : [resultEntryOf(`r${n}`, result, { ts: at(n + delay) })]),
          ])
          .toSorted((one, other) => Date.parse(other.ts) - Date.parse(one.ts));
        const whole = shown(entries, true);
        const wanted = made.flatMap(({ result, isDecided }, n) => (isDecided || result !== null ? [[`r${n}`, result] as const] : []));
        expect(new Map(whole as [string, number | null][])).toEqual(new Map(wanted));
        expect(whole).toHaveLength(wanted.length);
        const part = shown(entries.slice(0, cut), false).map(([id]) => id);
        const later = whole.map(([id]) => id);
        expect(part.filter((id) => !later.includes(id))).toEqual([]);
      }),
    );
  });
});
