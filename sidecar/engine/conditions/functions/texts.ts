// Functions of texts: the standard ones of CEL, and its strings extension. Positions count code points.
import { RE2JS } from 're2js';
import { builtLengthMax, type Environment, type Site, spend, subjectLengthMax, textSteps } from '../environment.ts';
import { isList, isJsonObject, Bytes, MapValue } from '../values.ts';
import { type Apply, built, type CelFunction, isAffordable, ofTexts } from './function.ts';

const surrogate = /[\uD800-\uDFFF]/;
const codePoints = (text: string): readonly string[] => Array.from(text);

/** The number of code points. */
export const lengthOf = (text: string): number => (surrogate.test(text) ? codePoints(text).length : text.length);

const size: CelFunction = {
  arity: [1, 1],
  apply: ([value], env, site) => {
    if (typeof value === 'string') return spend(env, textSteps(value.length)) ? BigInt(lengthOf(value)) : site.budget;
    if (isList(value)) return BigInt(value.length);
    if (value instanceof Bytes) return BigInt(value.data.length);
    if (value instanceof MapValue) return BigInt(value.entries.size);
    return isJsonObject(value) ? BigInt(Object.keys(value).length) : site.type;
  },
};

/** Compiles a pattern of RE2. Returns a text if it is not valid. */
function patternOf(source: string): { matches(subject: string): boolean } | string {
  try {
    const pattern = RE2JS.compile(source);
    return { matches: (subject) => pattern.matcher(subject).find() };
  } catch (error) {
    return `a pattern that is not valid: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function matched(pattern: { matches(subject: string): boolean }, subject: unknown, env: Environment, site: Site): unknown {
  if (typeof subject !== 'string') return site.type;
  if (subject.length > subjectLengthMax || !spend(env, subject.length >> 4)) return site.budget;
  return pattern.matches(subject);
}

// A pattern is a text of the condition itself: otherwise a caller could choose a pattern.
const matches: CelFunction = {
  arity: [2, 2],
  apply: (_, _env, site) => site.type,
  prepare: ([, source]) => {
    if (source === undefined) return 'a pattern that is no text in quotes';
    const pattern = patternOf(source);
    return typeof pattern === 'string' ? pattern : ([subject], env, site) => matched(pattern, subject, env, site);
  },
};

/** Returns the part of a text between two positions. */
function slice(text: string, from: number, to: number | undefined): string {
  return surrogate.test(text) ? codePoints(text).slice(from, to).join('') : text.slice(from, to);
}

const positionOf = (value: unknown): number | null => (typeof value === 'bigint' ? Number(value) : null);

/** A function of a text and integers. `min`: how many integers it needs. */
const atPositions = (
  min: number,
  max: number,
  apply: (text: string, positions: readonly number[], site: Site) => unknown,
): CelFunction => ({
  arity: [1 + min, 1 + max],
  apply: ([text, ...rest], env, site) => {
    const positions = rest.map(positionOf).filter((position) => position !== null);
    if (typeof text !== 'string' || positions.length < rest.length) return site.type;
    return isAffordable([text], env) ? apply(text, positions, site) : site.budget;
  },
});

const charAt = atPositions(1, 1, (text, [at = 0], site) =>
  at < 0 || at > lengthOf(text) ? site.unclear : slice(text, at, at + 1),
);

const substring = atPositions(1, 2, (text, [from = 0, to], site) => {
  const length = lengthOf(text);
  const end = to ?? length;
  return from < 0 || end > length || from > end ? site.unclear : slice(text, from, end);
});

/** Searches in code points. `isLast`: from the end. */
function search(isLast: boolean): CelFunction {
  const apply: Apply = ([text, wanted, from], env, site) => {
    if (typeof text !== 'string' || typeof wanted !== 'string') return site.type;
    const start = from === undefined ? undefined : positionOf(from);
    if (start === null) return site.type;
    if (!isAffordable([text, wanted], env)) return site.budget;
    const length = lengthOf(text);
    if (start !== undefined && (start < 0 || start > length)) return site.unclear;
    const units = start === undefined ? undefined : slice(text, 0, start).length;
    if (start !== undefined && start === length && wanted !== '') return -1n;
    const found = isLast ? text.lastIndexOf(wanted, units) : text.indexOf(wanted, units);
    return found < 0 ? -1n : BigInt(lengthOf(text.slice(0, found)));
  };
  return { arity: [2, 3], apply };
}

// White space of Unicode. JavaScript's `trim` differs: it removes U+FEFF and keeps U+0085.
const blank = '\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const blanksAtStart = new RegExp(`^[${blank}]+`);

function trimmed(text: string): string {
  const begun = text.replace(blanksAtStart, '');
  // A pattern for the end would be tried at every blank inside the text.
  let end = begun.length;
  while (end > 0 && isBlank.test(begun.charAt(end - 1))) end -= 1;
  return begun.slice(0, end);
}

const isBlank = new RegExp(`[${blank}]`);

const replace: CelFunction = {
  arity: [3, 4],
  apply: ([text, old, by, count], env, site) => {
    const max = count === undefined ? -1 : positionOf(count);
    if (typeof text !== 'string' || typeof old !== 'string' || typeof by !== 'string' || max === null) return site.type;
    if (!isAffordable([text, old, by], env)) return site.budget;
    if (max === 0) return text;
    const parts = old === '' ? ['', ...codePoints(text), ''] : text.split(old);
    const kept = max < 0 || max >= parts.length - 1 ? parts : [...parts.slice(0, max), parts.slice(max).join(old)];
    const length = text.length + (kept.length - 1) * by.length;
    return length > builtLengthMax ? site.budget : kept.join(by);
  },
};

const split: CelFunction = {
  arity: [2, 3],
  apply: ([text, separator, count], env, site) => {
    const max = count === undefined ? -1 : positionOf(count);
    if (typeof text !== 'string' || typeof separator !== 'string' || max === null) return site.type;
    if (!isAffordable([text, separator], env) || !spend(env, text.length >> 4)) return site.budget;
    if (max === 0) return [];
    if (max === 1) return [text];
    const parts = separator === '' ? codePoints(text) : text.split(separator);
    return max < 0 || parts.length <= max ? parts : [...parts.slice(0, max - 1), parts.slice(max - 1).join(separator)];
  },
};

const join: CelFunction = {
  arity: [1, 2],
  apply: ([list, separator = ''], env, site) => {
    if (!isList(list) || typeof separator !== 'string') return site.type;
    const texts = list.filter((item) => typeof item === 'string');
    if (texts.length < list.length) return site.type;
    const length = texts.reduce((sum, text) => sum + text.length, 0) + separator.length * Math.max(0, list.length - 1);
    return length > builtLengthMax || !spend(env, textSteps(length)) ? site.budget : texts.join(separator);
  },
};

const escapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

export const textFunctions: Readonly<Record<string, CelFunction>> = {
  size,
  matches,
  charAt,
  substring,
  replace,
  split,
  join,
  contains: ofTexts(2, ([text = '', part = '']) => text.includes(part)),
  startsWith: ofTexts(2, ([text = '', start = '']) => text.startsWith(start)),
  endsWith: ofTexts(2, ([text = '', end = '']) => text.endsWith(end)),
  indexOf: search(false),
  lastIndexOf: search(true),
  lowerAscii: ofTexts(1, ([text = '']) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  upperAscii: ofTexts(1, ([text = '']) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  trim: ofTexts(1, ([text = '']) => trimmed(text)),
  reverse: ofTexts(1, ([text = '']) => [...text].reverse().join('')),
  'strings.quote': ofTexts(1, ([text = ''], site) =>
    built(`"${text.toWellFormed().replace(/[\u0007\b\f\n\r\t\v\\"]/g, (one) => escapes[one] ?? one)}"`, site),
  ),
};
