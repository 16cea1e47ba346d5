// Functions of texts: the standard ones of CEL, and its strings extension. Positions count code points.
import {
  builtLengthMax,
  elementSteps,
  type Environment,
  ownKeys,
  rewriteSteps,
  searchSteps,
  type Site,
  spend,
  textSteps,
} from '../environment.ts';
import { Bytes, isJsonObject, isList, MapValue } from '../values.ts';
import { codePoints, lengthOf, slice } from './code-points.ts';
import { type Apply, built, type CelFunction, isAffordable, ofTexts } from './function.ts';

function sizeOf(value: unknown, env: Environment, site: Site): unknown {
  if (typeof value === 'string') return spend(env, textSteps(value.length)) ? BigInt(lengthOf(value)) : site.budget;
  if (isList(value)) return BigInt(value.length);
  if (value instanceof Bytes) return BigInt(value.data.length);
  if (value instanceof MapValue) return BigInt(value.entries.size);
  if (!isJsonObject(value)) return site.type;
  const keys = ownKeys(value, env);
  return keys === null ? site.budget : BigInt(keys.length);
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

const charAt = atPositions(1, 1, (text, [at = 0], site) => (at < 0 || at > lengthOf(text) ? site.unclear : slice(text, at, at + 1)));

const substring = atPositions(1, 2, (text, [from = 0, to], site) => {
  const length = lengthOf(text);
  const end = to ?? length;
  return from < 0 || end > length || from > end ? site.unclear : slice(text, from, end);
});

/** A function of two texts, of which the first is searched for the second. */
const searching = (apply: (text: string, wanted: string) => unknown): CelFunction => ({
  arity: [2, 2],
  apply: ([text, wanted], env, site) => {
    if (typeof text !== 'string' || typeof wanted !== 'string') return site.type;
    return spend(env, searchSteps(text, wanted)) ? apply(text, wanted) : site.budget;
  },
});

/** A function of two texts, which compares the second with an end of the first. */
const atEnd = (apply: (text: string, end: string) => boolean): CelFunction => ({
  arity: [2, 2],
  apply: ([text, end], env, site) => {
    if (typeof text !== 'string' || typeof end !== 'string') return site.type;
    return spend(env, textSteps(end.length)) ? apply(text, end) : site.budget;
  },
});

/** Searches in code points. `isLast`: from the end. */
function search(isLast: boolean): CelFunction {
  const apply: Apply = ([text, wanted, from], env, site) => {
    if (typeof text !== 'string' || typeof wanted !== 'string') return site.type;
    const start = from === undefined ? undefined : positionOf(from);
    if (start === null) return site.type;
    if (!spend(env, searchSteps(text, wanted))) return site.budget;
    const length = lengthOf(text);
    if (start !== undefined && (start < 0 || start > length)) return site.unclear;
    if (start !== undefined && start === length && wanted !== '') return -1n;
    const units = start === undefined ? undefined : slice(text, 0, start).length;
    const found = isLast ? text.lastIndexOf(wanted, units) : text.indexOf(wanted, units);
    return found < 0 ? -1n : BigInt(lengthOf(text.slice(0, found)));
  };
  return { arity: [2, 3], apply };
}

// White space of Unicode. JavaScript's `trim` differs: it removes U+FEFF and keeps U+0085.
const blank = '\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const blanksAtStart = new RegExp(`^[${blank}]+`);
const isBlank = new RegExp(`[${blank}]`);

function trimmed(text: string): string {
  const begun = text.replace(blanksAtStart, '');
  // A pattern for the end would be tried at every blank inside the text.
  let end = begun.length;
  while (end > 0 && isBlank.test(begun.charAt(end - 1))) end -= 1;
  return begun.slice(0, end);
}

/** Counts the steps for taking a text apart. */
const canSplit = (text: string, separator: string, env: Environment): boolean =>
  spend(env, searchSteps(text, separator) + rewriteSteps(text.length));

const replace: CelFunction = {
  arity: [3, 4],
  apply: ([text, old, by, count], env, site) => {
    const max = count === undefined ? -1 : positionOf(count);
    if (typeof text !== 'string' || typeof old !== 'string' || typeof by !== 'string' || max === null) return site.type;
    if (!canSplit(text, old, env)) return site.budget;
    if (max === 0) return text;
    const parts = old === '' ? ['', ...codePoints(text), ''] : text.split(old);
    const kept = max < 0 || max >= parts.length - 1 ? parts : [...parts.slice(0, max), parts.slice(max).join(old)];
    return joined(kept, by, env, site);
  },
};

const split: CelFunction = {
  arity: [2, 3],
  keepsInput: true,
  apply: ([text, separator, count], env, site) => {
    const max = count === undefined ? -1 : positionOf(count);
    if (typeof text !== 'string' || typeof separator !== 'string' || max === null) return site.type;
    if (!canSplit(text, separator, env)) return site.budget;
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
    if (!spend(env, elementSteps(list.length))) return site.budget;
    const texts = list.filter((item) => typeof item === 'string');
    return texts.length < list.length ? site.type : joined(texts, separator, env, site);
  },
};

function joined(texts: readonly string[], separator: string, env: Environment, site: Site): unknown {
  const length = texts.reduce((sum, text) => sum + text.length, 0) + separator.length * Math.max(0, texts.length - 1);
  return length > builtLengthMax || !spend(env, textSteps(length)) ? site.budget : texts.join(separator);
}

/** A function that changes a text character by character. */
const rewriting = (rewrite: (text: string) => string): CelFunction => ({
  arity: [1, 1],
  apply: ([text], env, site) => {
    if (typeof text !== 'string') return site.type;
    return spend(env, rewriteSteps(text.length)) ? built(rewrite(text), site) : site.budget;
  },
});

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
  size: { arity: [1, 1], apply: ([value], env, site) => sizeOf(value, env, site) },
  charAt,
  substring,
  replace,
  split,
  join,
  contains: searching((text, part) => text.includes(part)),
  startsWith: atEnd((text, start) => text.startsWith(start)),
  endsWith: atEnd((text, end) => text.endsWith(end)),
  indexOf: search(false),
  lastIndexOf: search(true),
  lowerAscii: rewriting((text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  upperAscii: rewriting((text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  trim: ofTexts(1, ([text = '']) => trimmed(text)),
  reverse: rewriting((text) => codePoints(text).toReversed().join('')),
  'strings.quote': rewriting(
    (text) => `"${text.replace(/\p{Cs}/gu, '\ufffd').replace(/[\u0007\b\f\n\r\t\v\\"]/g, (one) => escapes[one] ?? one)}"`,
  ),
};
