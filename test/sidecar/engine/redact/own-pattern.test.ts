// Patterns of a workspace: the cost of finding them. The tests of the engine cover the rest.
import { describe, expect, test } from 'vitest';
import { createNumbers, createRedactor } from '../../../../sidecar/engine/redact/index.ts';
import { ownPattern, ownPatternProblem } from '../../../../sidecar/engine/redact/own-pattern.ts';
import { OverBudget, workMax } from '../../../../sidecar/engine/redact/work.ts';

const fill = (unit: string, length: number): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/** Returns what is spent until the search ends, or until the budget is used up. */
function spentOn(pattern: string, text: string): { readonly matches: number; readonly spent: number; readonly over: boolean } {
  let spent = 0;
  const spend = (units: number): void => {
    spent += units;
    if (spent > workMax) throw new OverBudget('all spent');
  };
  try {
    return { matches: ownPattern('own', pattern).matches(text, spend).length, spent, over: false };
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
    return { matches: 0, spent, over: true };
  }
}

describe('a pattern that reads to the end for each of its matches', () => {
  test.each([
    ['a(?:.*b)?', 'a'],
    ['[a-y]+z|[a-y]', 'a'],
    ['(?:a|aa)+b|a', 'a'],
    ['(?s)a.*END|a', 'a'],
    ['id[0-9 ]+(?:.*END)?', 'id12 34 '],
    ['q|(?:[0-9]+)END', 'q'],
  ])('pays for it: %s', (pattern, unit) => {
    expect(ownPatternProblem(pattern)).toBeNull();
    const text = fill(unit, 200_000);
    const { spent, over } = spentOn(pattern, text);
    // Linear in the text, or stopped as soon as the budget is used up.
    if (over) expect(spent).toBeLessThan(workMax * 1.01);
    else expect(spent).toBeLessThan(text.length * 40);
  });

  test('has the whole value replaced, and no part of it passes', () => {
    const redactor = createRedactor({ off: [], patterns: [['own', 'a(?:.*b)?']], allow: [] }, []);
    expect(redactor.redactText('a'.repeat(200_000), createNumbers())).toMatchObject({
      text: '[redacted:over_budget]',
      findings: [{ kind: 'over_budget', count: 1 }],
    });
  });

  test('pays about sixteen times as much for four times the text', () => {
    const spent = (length: number): number => spentOn('a(?:.*b)?', 'a'.repeat(length)).spent;
    expect(spent(2_000) / spent(500)).toBeGreaterThan(12);
  });
});

describe('a harmless pattern', () => {
  test.each([
    ['EMP-[0-9]{6}', 'EMP-123456 '],
    ['EMP-[0-9]+', 'EMP-123456 '],
    ['(?i)project (?:alpha|beta|gamma) [0-9]{2,4}', 'Project Beta 234, '],
    ['[a-z.]+@corp\\.io', 'bob.x@corp.io, hello you '],
  ])('that matches all over a megabyte uses a small part of the budget of a call: %s', (pattern, unit) => {
    const text = unit.repeat(Math.floor(1_000_000 / unit.length));
    const { matches, spent } = spentOn(pattern, text);
    expect(matches).toBe(text.length / unit.length);
    expect(spent).toBeLessThan(workMax / 2);
  });

  test('has all of its matches replaced in a megabyte', () => {
    const redactor = createRedactor({ off: [], patterns: [['employee', 'EMP-[0-9]{6}']], allow: [] }, []);
    const line = `EMP-123456 ${'lorem ipsum dolor '.repeat(8)}`;
    const count = Math.floor(1_000_000 / line.length);
    const { text, findings } = redactor.redactText(line.repeat(count), createNumbers());
    expect(findings).toMatchObject([{ kind: 'employee', count }]);
    expect(text).toBe(line.replace('EMP-123456', '[redacted:employee#1]').repeat(count));
  });

  test('is found as RE2 finds it, however long the match is', () => {
    const text = `x a${'-'.repeat(20_000)}b y a`;
    const found = ownPattern('own', 'a(?:.*b)?').matches(text, () => {});
    expect(found.map(({ start, end }) => [start, end])).toEqual([
      [2, 20_004],
      [text.length - 1, text.length],
    ]);
  });
});
