// `matches`: RE2, which takes time in proportion to the text; the pattern is a text of the condition.
import { describe, expect, test } from 'vitest';
import { answerOf, problemOf } from './answers.ts';

const matches = (pattern: string, x: unknown) => answerOf(`args.x.matches(${JSON.stringify(pattern)})`, { x });

describe('a pattern', () => {
  test.each<readonly [pattern: string, text: string, answer: boolean]>([
    ['b', 'abc', true],
    ['^b', 'abc', false],
    ['^a.c$', 'abc', true],
    ['^abc$', 'abc\n', false],
    ['^abc$', 'abc\nx', false],
    ['(?m)^abc$', 'x\nabc\nx', true],
    ['^a.c$', 'a\nc', false],
    ['(?s)^a.c$', 'a\nc', true],
    ['(?i)^ABC$', 'abc', true],
    ['^\\p{L}+$', 'ÄÖß文', true],
    ['^.$', '😀', true],
    ['^..$', '😀', false],
    ['^\\d+$', '\u0661', false],
    ['^\\w+$', 'ä', false],
    ['^[[:alpha:]]+$', 'abc', true],
    ['\\bgit\\b', 'a git b', true],
    ['^(?:git|npm) ', 'npm i', true],
    ['', '', true],
  ])('%s in %j: %s', (pattern, text, answer) => {
    expect(matches(pattern, text)).toBe(answer);
  });

  test('takes time in proportion to the text', () => {
    // A backtracking engine would take longer than the age of the universe.
    expect(matches('^(a+)+$', `${'a'.repeat(60_000)}!`)).toBe(false);
    expect(matches('^(a|aa)+$', `${'a'.repeat(60_000)}!`)).toBe(false);
    expect(matches('(x+x+)+y', 'x'.repeat(20_000))).toBe(false);
  });

  test('sees at most 65,536 code units', () => {
    expect(matches('b', `${'a'.repeat(65_535)}b`)).toBe(true);
    expect(matches('b', `${'a'.repeat(65_536)}b`)).toBe('budget');
  });

  test.each([1, null, ['b'], { b: 1 }])('of %j is undecided', (value) => {
    expect(matches('b', value)).toBe('type');
  });
});

test.each([
  ['(', 'a pattern that is not valid'],
  ['a**', 'a pattern that is not valid'],
  ['(?=a)', 'a pattern that is not valid'],
  ['(?<!a)b', 'a pattern that is not valid'],
  ['(a)\\1', 'a pattern that is not valid'],
  ['a{1001}', 'a pattern that is not valid'],
  ['((a{100}){100}){100}', 'a pattern that is not valid'],
  ['[z-a]', 'a pattern that is not valid'],
  ['\\pX', 'a pattern that is not valid'],
])('the pattern %s is refused', (pattern, problem) => {
  expect(problemOf(`args.x.matches(${JSON.stringify(pattern)})`)).toContain(problem);
});

test.each(['args.x.matches(args.pattern)', 'args.x.matches("a" + args.pattern)', 'matches(args.x, args.pattern)', '"a".matches(args.x)'])(
  '%s is refused: a caller could choose the pattern',
  (source) => {
    expect(problemOf(source)).toContain('a pattern that is no text in quotes');
  },
);
