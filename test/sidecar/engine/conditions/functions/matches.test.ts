// `matches`: RE2, which takes time in proportion to the text; the pattern is a text of the condition.
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
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
  ['((a{100}){100}){100}', 'a pattern that is too large'],
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

describe('a pattern that would take long to compile', () => {
  const compiled = vi.spyOn(RE2JS, 'compile');
  beforeEach(() => void compiled.mockClear());
  afterAll(() => compiled.mockRestore());
  const problem = (pattern: string): string | null => problemOf(`args.x.matches(${JSON.stringify(pattern)})`);

  test.each<readonly [what: string, pattern: string, words: string]>([
    ['repeats many parts', 'a{1000}'.repeat(500), 'calls matches with a pattern that is too large: its repetitions make about 500000'],
    [
      'repeats a long group',
      `(${'a'.repeat(3_000)}){1000}`,
      'calls matches with a pattern that is too large: its repetitions make about 3002000',
    ],
    ['repeats what is repeated', '(?:(?:(?:a{9}b){9}c){9}d){1,1000}', 'calls matches with a pattern that is too large'],
    ['ignores the case of long ranges', `(?i)${'[B-\u{1e900}]'.repeat(400)}`, 'calls matches with a pattern that ignores case, with'],
    [
      'ignores the case of long ranges, with escapes',
      'x(?i:[^\\x{80}-\\x{10ffff}])',
      'calls matches with a pattern that ignores case, with',
    ],
    [
      'has many named classes',
      '\\pL[\\PL]\\p{Lu}'.repeat(20),
      'calls matches with a pattern with 60 classes such as \\pL, and it may have 32',
    ],
  ])('is refused before it is compiled: one that %s', (_, pattern, words) => {
    expect(problem(pattern)).toContain(words);
    expect(compiled).not.toHaveBeenCalled();
  });

  test.each([
    '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
    '^[A-Za-z0-9]{1,64}@[a-z.]{1,253}$',
    '(?i)^[a-z\\x{e0}-\\x{24f}-]+$',
    '[\\x{80}-\\x{10ffff}]{100}',
    '(?-i)[\\x{80}-\\x{10ffff}]',
    '\\Qa{1000}(\\E{20}',
    '[]a{1000}[:alpha:]]{10}',
    '(?P<name>a)|(?s:b)|(?i)c{2,}{',
    '\\p{Greek}{10}',
  ])('is not: %s', (pattern) => {
    expect(problem(pattern)).toBe(null);
  });

  test('is compiled if it is small enough, whatever the estimate is', () => {
    fc.assert(
      fc.property(patterns, (pattern) => {
        const compiledSize = RE2JS.compile(pattern).programSize();
        const refused = problem(pattern);
        if (compiledSize <= 2_000) expect(refused).toBe(null);
        else expect(refused).toContain('too large');
      }),
      { numRuns: 60 },
    );
  });
});

describe('a long text', () => {
  const words = fc.array(fc.constantFrom('a', 'é', '😀', 'b', ' ', '\n', 'A', '1', 'x+', '[z', 'aaa'), { minLength: 1, maxLength: 12 });

  test('gets the answer that the pattern gives without an automaton', () => {
    fc.assert(
      fc.property(patterns, words, fc.nat(3_000), (pattern, parts, length) => {
        if (problemOf(`args.x.matches(${JSON.stringify(pattern)})`) !== null) return;
        const text = parts.join('').repeat(1 + Math.floor(length / parts.length));
        const answer = matches(pattern, text);
        if (answer !== 'budget') expect(answer).toBe(RE2JS.compile(pattern).matcher(text).find());
      }),
      { numRuns: 150 },
    );
  });

  test('gets it also if more patterns are used than have automatons', () => {
    const text = `${'a'.repeat(2_000)}7`;
    for (let round = 0; round < 2; round += 1)
      for (let n = 0; n < 20; n += 1) expect([n, matches(`a${n}$`, `${text}${n}`)]).toEqual([n, false]);
    for (let n = 0; n < 20; n += 1) expect([n, matches(`a7${n}$`, `${text}${n}`)]).toEqual([n, true]);
  });
});

const atoms = fc.constantFrom('a', 'é', '😀', '[a-z]', '[^\\]b-]', '\\d', '\\x{41}', '.', '\\Qx+\\E', '^', '\\b', '[[:alpha:]]');
const counts = fc.constantFrom('', '', '', '*', '+?', '?', '{3}', '{0}', '{2,}', '{0,40}', '{300}');
const patterns = fc
  .letrec<{ readonly pattern: string; readonly part: string }>((tie) => ({
    pattern: fc.array(tie('part'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    part: fc
      .tuple(
        fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          atoms,
          tie('pattern').map((inner) => `(${inner})`),
          tie('pattern').map((inner) => `(?:${inner}|b)`),
        ),
        counts,
      )
      .map(([part, count]) => part + count),
  }))
  .pattern.filter((pattern) => {
    try {
      RE2JS.compile(pattern);
      return true;
    } catch {
      return false;
    }
  });
