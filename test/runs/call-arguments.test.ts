// The arguments that a model writes, as policy and tool read them.
import { expect, test } from 'vitest';
import { parseArguments, shownArguments } from '../../control-plane/runs/tools/call-arguments.ts';

test('arguments are JSON that can be read in one way only', () => {
  expect(parseArguments(' {"a": [1, 2.50, "\\u00e9"]} ')).toEqual({ value: { a: [1, 2.5, 'é'] } });
  expect(parseArguments('')).toEqual({ value: {} });
  expect(parseArguments('{"a": ')).toEqual({ problem: 'the arguments are not JSON' });
  for (const [text, problem] of [
    ['{"amount": 1, "amount": 1000}', 'the text of the arguments names a key twice (at position 14)'],
    ['{"amount": 1, "\\u0061mount": 1000}', 'the text of the arguments names a key twice (at position 14)'],
    ['{"id": 9007199254740993}', 'the text of the arguments holds a number that would be rounded (at position 7); send it as a string'],
  ] as const) {
    expect(parseArguments(text)).toEqual({ problem, value: JSON.parse(text) });
    // The model sees what it wrote.
    expect(shownArguments(text)).toBe(text);
  }
  expect(shownArguments('[1]')).toBe('{"unreadable_arguments":"[1]"}');
});
