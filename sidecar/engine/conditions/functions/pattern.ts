// `matches`: patterns of RE2, which take time in proportion to the text. A pattern is a text of the condition itself:
// otherwise a caller could choose it.
import { RE2JS } from 're2js';
import { type Environment, type Site, spend, subjectLengthMax } from '../environment.ts';
import type { CelFunction } from './function.ts';
import { patternCost } from './pattern-cost.ts';

interface Pattern {
  /** Instructions of the compiled pattern. For each character, each of them may be tried. */
  readonly size: number;
  matches(subject: string): boolean;
}

/** The instructions that a pattern may have. */
const patternSizeMax = 2_000;

// Compiling takes long beyond these, although the text is short. The estimate of the size may be above the size, so it
// has a bound of its own, which a pattern without repetitions never exceeds.
const estimatedSizeMax = 4 * patternSizeMax;
const classesMax = 32;
const foldedMax = 4_096;

/** Returns what is wrong with a pattern that would take long to compile. Null: nothing is. */
function costProblem(source: string): string | null {
  const { size, classes, folded } = patternCost(source);
  if (size > estimatedSizeMax)
    return `a pattern that is too large: its repetitions make about ${size} instructions of it, and it may have ${patternSizeMax}`;
  if (classes > classesMax) return `a pattern with ${classes} classes such as \\pL, and it may have ${classesMax}`;
  return folded > foldedMax
    ? `a pattern that ignores case, with ${folded} characters in its ranges, and it may have ${foldedMax}; write it without (?i)`
    : null;
}

/** Compiles a pattern. Returns a text if that is not possible: what is wrong with it. */
function patternOf(source: string): Pattern | string {
  const costly = costProblem(source);
  if (costly !== null) return costly;
  try {
    const pattern = RE2JS.compile(source);
    const size = pattern.programSize();
    if (size > patternSizeMax) return `a pattern that is too large: it has ${size} instructions, and may have ${patternSizeMax}`;
    return { size, matches: (subject) => (subject.length < longMin ? pattern.matcher(subject).find() : testLong(source, subject)) };
  } catch (error) {
    return `a pattern that is not valid: ${error instanceof Error ? error.message : String(error)}`;
  }
}

// For long texts the library builds an automaton, with which it is up to a hundred times faster. It may take 8 MiB, and is
// kept as long as its pattern, so only some patterns have one.
const longMin = 1_024;
const automatonsMax = 8;
const automatons = new Map<string, RE2JS>();

function testLong(source: string, subject: string): boolean {
  const pattern = automatons.get(source) ?? RE2JS.compile(source);
  automatons.delete(source);
  automatons.set(source, pattern);
  const [oldest] = automatons.keys();
  if (automatons.size > automatonsMax && oldest !== undefined) automatons.delete(oldest);
  return pattern.test(subject);
}

/** A subject of 64 KiB and a pattern of 16 instructions take 2,048 steps. */
const matchSteps = (length: number, size: number): number => Math.ceil((length * size) / 512);

function matched(pattern: Pattern, subject: unknown, env: Environment, site: Site): unknown {
  if (typeof subject !== 'string') return site.type;
  if (subject.length > subjectLengthMax || !spend(env, matchSteps(subject.length, pattern.size))) return site.budget;
  return pattern.matches(subject);
}

export const patternFunctions: Readonly<Record<string, CelFunction>> = {
  matches: {
    arity: [2, 2],
    apply: (_operands, _env, site) => site.type,
    prepare: ([, source]) => {
      if (source === undefined) return 'a pattern that is no text in quotes';
      const pattern = patternOf(source);
      return typeof pattern === 'string' ? pattern : ([subject], env, site) => matched(pattern, subject, env, site);
    },
  },
};
