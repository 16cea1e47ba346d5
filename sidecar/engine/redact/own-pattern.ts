// Compiles the patterns that a workspace writes itself. They are RE2: the time to find one match is linear in the
// length of the text and in the size of the compiled program. That size is bounded. Finding all matches can take
// longer: `a(?:.*b)?` reads to the end of the text for each match. Therefore the read characters are counted and
// charged to the call.
import { MatcherInput, RE2JS, RE2JSException } from 're2js';
import type { Span } from './marks.ts';
import { candidateCost, type Work } from './work.ts';

/** A pattern of a workspace. */
export interface OwnPattern {
  readonly kind: string;
  /** The cost of `test` for each character of the text. */
  readonly testCost: number;
  readonly test: (text: string) => boolean;
  /**
   * Returns all matches. The text may be read many times, so `spend` is called for the characters that are read. An
   * error from `spend` ends the search.
   */
  readonly matches: (text: string, spend: Work['spend']) => readonly Span[];
}

const lengthMax = 500;
// The maximum size of a compiled pattern. For comparison: `EMP-[0-9]{6}` has size 12, a mail address at the workspace's
// own domain 14, and `\d{1,60}` 121.
const sizeMax = 128;

/** Returns the problem with a pattern, in words that follow its path. Null: there is no problem. */
export function ownPatternProblem(pattern: string): string | null {
  if (pattern.length > lengthMax) return `must be at most ${lengthMax} characters, is ${pattern.length}`;
  try {
    const compiled = RE2JS.compile(pattern);
    const size = compiled.programSize();
    if (size > sizeMax) return `takes ${size} steps, at most ${sizeMax} are allowed: write fewer or shorter repeats`;
    return compiled.test('') ? 'matches the empty text, and so everything' : null;
  } catch (error) {
    if (error instanceof RE2JSException) return `is not an RE2 pattern: ${error.message}`;
    throw error;
  }
}

/** `pattern` must be valid: it was checked when it was written, and by the sidecar that verified it. */
export function ownPattern(kind: string, pattern: string): OwnPattern {
  const compiled = RE2JS.compile(pattern);
  const size = compiled.programSize();
  // Measured: reading a character takes up to 5 ns for each step of the program.
  const readCost = Math.max(1, size / 16);
  return {
    kind,
    // Measured: a small pattern is tested at 30 MB/s and more. A bad one takes 50 ns for each step.
    testCost: size <= 32 ? 0.25 : size / 4,
    test: (text) => compiled.test(text),
    matches: (text, spend) => {
      const read = new CountedText(text, (characters) => spend(characters * readCost));
      const matcher = compiled.matcher(MatcherInput.utf16(read));
      const spans: Span[] = [];
      while (matcher.find()) {
        spend(candidateCost);
        if (matcher.end() > matcher.start()) spans.push({ start: matcher.start(), end: matcher.end() });
      }
      return spans;
    },
  };
}

// Measured: in the time in which a matcher reads one character, `indexOf` passes this number of characters.
const passedInOneRead = 16;

/** A text that counts how many of its characters are read. A matcher reads its input only through these two methods. */
class CountedText extends String {
  readonly #text: string;
  readonly #count: (characters: number) => void;

  constructor(text: string, count: (characters: number) => void) {
    super(text);
    this.#text = text;
    this.#count = count;
  }

  override charCodeAt(at: number): number {
    this.#count(1);
    return this.#text.charCodeAt(at);
  }

  override indexOf(wanted: string, from = 0): number {
    const found = this.#text.indexOf(wanted, from);
    this.#count(1 + ((found === -1 ? this.#text.length : found) - from) / passedInOneRead);
    return found;
  }
}
