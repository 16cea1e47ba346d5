// `matches`: patterns of RE2, which take time in proportion to the text. A pattern is a text of the condition itself:
// otherwise a caller could choose it.
import { RE2JS } from 're2js';
import { type Environment, type Site, spend, subjectLengthMax } from '../environment.ts';
import type { CelFunction } from './function.ts';

interface Pattern {
  /** Instructions of the compiled pattern. For each character, each of them may be tried. */
  readonly size: number;
  matches(subject: string): boolean;
}

/** The instructions that a pattern may have. */
const patternSizeMax = 2_000;

/** Compiles a pattern. Returns a text if that is not possible: what is wrong with it. */
function patternOf(source: string): Pattern | string {
  try {
    const pattern = RE2JS.compile(source);
    const size = pattern.programSize();
    if (size > patternSizeMax) return `a pattern that is too large: it has ${size} instructions, and may have ${patternSizeMax}`;
    return { size, matches: (subject) => pattern.matcher(subject).find() };
  } catch (error) {
    return `a pattern that is not valid: ${error instanceof Error ? error.message : String(error)}`;
  }
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
