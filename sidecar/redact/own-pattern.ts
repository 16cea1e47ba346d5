// Patterns that a workspace writes itself. RE2: their time is linear in the text, and in the size of the program that
// they compile to, which is bounded.
import { RE2JS, RE2JSException } from 're2js';
import type { Span } from './marks.ts';

/** A pattern of a workspace's own. */
export interface OwnPattern {
  readonly kind: string;
  /** What asking whether it matches costs for each character, and what finding its matches costs. */
  readonly cost: { readonly toTest: number; readonly toMatch: number };
  readonly test: (text: string) => boolean;
  readonly matches: (text: string) => readonly Span[];
}

const lengthMax = 500;
// `EMP-[0-9]{6}` is 12, a mail address at one's own domain 14; `\d{1,60}` is 121.
const sizeMax = 128;

/** Null, or what is wrong with a pattern, in words that follow its path. */
export function ownPatternProblem(pattern: string): string | null {
  if (pattern.length > lengthMax) return `must be at most ${lengthMax} characters, is ${pattern.length}`;
  try {
    const compiled = RE2JS.compile(pattern);
    const size = compiled.programSize();
    if (size > sizeMax) return `takes ${size} steps, at most ${sizeMax} are allowed: write fewer or shorter repeats`;
    return compiled.test('') ? 'matches the empty text, and so everything' : null;
  } catch (error) {
    if (error instanceof RE2JSException) return `is no RE2 pattern: ${error.message}`;
    throw error;
  }
}

/** `pattern` has no problem: it was checked when it was written, and by the sidecar that verified it. */
export function ownPattern(kind: string, pattern: string): OwnPattern {
  const compiled = RE2JS.compile(pattern);
  const size = compiled.programSize();
  return {
    kind,
    // Measured: a small pattern is tested at 30 MB/s and more and matched at 8; a bad one takes 50 ns for each step.
    cost: { toTest: size <= 32 ? 0.25 : size / 4, toMatch: Math.max(1, size / 4) },
    test: (text) => compiled.test(text),
    matches: (text) => {
      const matcher = compiled.matcher(text);
      const spans: Span[] = [];
      while (matcher.find()) if (matcher.end() > matcher.start()) spans.push({ start: matcher.start(), end: matcher.end() });
      return spans;
    },
  };
}
