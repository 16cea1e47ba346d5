// Parses JSON strictly, for the endpoints of the process. It accepts only one value that every parser reads in the same
// way. Attackers use differences between parsers to bypass gates. Therefore everything that parsers could read
// differently is refused: duplicate keys in an object, text after the value, bytes that are not UTF-8, numbers that a
// double rounds, and halves of surrogate pairs. A problem text gives the position and never the content, which may be a
// secret.
import { bounds, excessIn, isBlank, scalarEnd, stringEnd, tooDeep, tooManyValues } from '@tollgate/proto/contract';

export type StrictJson =
  | {
      readonly value: unknown;
      /** True: `value` contains an `InexactNumber`. */
      readonly hasInexactNumbers?: true;
    }
  | { readonly problem: string };

interface StrictLimits {
  /** Maximum nesting depth of objects and lists. */
  readonly depth?: number;
  /** Maximum number of values, nested values included. */
  readonly nodes?: number;
  /** False: numbers may exceed the precision of a double. Code that allows this must not forward the parsed value. */
  readonly exactNumbers?: boolean;
  /** True: numbers that a double would round are accepted, and become `InexactNumber`. */
  readonly keepsInexact?: boolean;
}

/**
 * A number that a double would round, in its original spelling. Its JSON is a string. It is no JSON value itself, so a
 * condition takes it neither for a text nor for a number.
 */
export class InexactNumber {
  readonly spelling: string;

  constructor(spelling: string) {
    this.spelling = spelling;
  }

  toJSON(): string {
    return this.spelling;
  }
}

// Created once: creating a decoder takes longer than reading a body.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the value, or a problem text that continues a sentence after the words `the body`. */
export function parseStrict(bytes: Uint8Array, limits: StrictLimits = {}): StrictJson {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { problem: 'is not UTF-8' };
  }
  return parseStrictText(text, limits);
}

/** Parses a text that is already decoded. */
export function parseStrictText(
  text: string,
  { depth = bounds.jsonDepth, nodes = bounds.jsonNodes, exactNumbers = true, keepsInexact = false }: StrictLimits = {},
): StrictJson {
  if (text.startsWith('\uFEFF')) return { problem: 'begins with a byte order mark, which JSON does not have' };
  // This check runs before parsing, because a text of brackets needs thirty times its size in memory after parsing.
  const excess = excessIn(text, { depth, nodes });
  if (excess !== null) return { problem: excess };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Uses only the position from the error message, because the message quotes the text.
    const place = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    return { problem: `is not one JSON value${place === undefined ? '' : ` (at position ${place})`}` };
  }
  const inexact: Place[] = [];
  const problem = scan(text, { depth, nodes, exactNumbers, inexact: keepsInexact ? inexact : null });
  if (problem !== null) return { problem };
  return inexact.length === 0 ? { value } : { value: JSON.parse(quoted(text, inexact), withInexact), hasInexactNumbers: true };
}

// The second half of a surrogate pair. No string of an accepted text begins with it, so no string is taken for a number.
const mark = '\uDC00';

const withInexact = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(mark) ? new InexactNumber(value.slice(mark.length)) : value;

/** Returns the text with quotes around the numbers at these places, and a mark before each number. */
function quoted(text: string, places: readonly Place[]): string {
  let behind = 0;
  const parts = places.map(({ start, end }) => {
    const part = `${text.slice(behind, start)}"${mark}${text.slice(start, end)}"`;
    behind = end;
    return part;
  });
  return parts.join('') + text.slice(behind);
}

interface ScanLimits {
  readonly depth: number;
  readonly nodes: number;
  readonly exactNumbers: boolean;
  /** Receives the places of numbers that a double would round. Null: such a number is a problem. */
  readonly inexact: Place[] | null;
}

interface Frame {
  /** The keys of the object so far. Null for a list. */
  readonly keys: Set<string> | null;
  expectsKey: boolean;
}

/** Checks a text that is valid JSON. Returns the first problem, or null. */
function scan(text: string, limits: ScanLimits): string | null {
  // Most texts have neither escapes nor lone surrogates. Then the strings are only checked for duplicate keys.
  const spells: Spelling = { hasEscapes: text.includes('\\'), hasLoneSurrogates: loneSurrogate.test(text) };
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  let nodes = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (isBlank(code) || code === 58 /* : */) {
      at += 1;
      continue;
    }
    if (code === 125 || code === 93 /* } ] */) {
      frames.pop();
      frame = frames.at(-1);
      at += 1;
      continue;
    }
    if (code === 44 /* , */) {
      if (frame?.keys != null) frame.expectsKey = true;
      at += 1;
      continue;
    }
    const isKey = frame?.expectsKey === true;
    if (!isKey && ++nodes > limits.nodes) return tooManyValues(limits.nodes);
    if (code === 123 || code === 91 /* { [ */) {
      if (frames.length >= limits.depth) return tooDeep(limits.depth);
      frame = code === 123 ? { keys: new Set(), expectsKey: true } : { keys: null, expectsKey: false };
      frames.push(frame);
      at += 1;
      continue;
    }
    const isString = code === 34; /* " */
    const end = isString ? stringEnd(text, at) : scalarEnd(text, at);
    const problem = isString
      ? stringProblem(text, { start: at, end }, isKey ? frame : undefined, spells)
      : numberProblem(text, { start: at, end }, limits);
    if (problem !== null) return problem;
    at = end;
  }
  return null;
}

/** What the strings of a text may contain. If it is true of a text, each string of the text must be checked for it. */
interface Spelling {
  readonly hasEscapes: boolean;
  readonly hasLoneSurrogates: boolean;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

const loneSurrogate = /\p{Cs}/u;

function stringProblem(text: string, { start, end }: Place, frame: Frame | undefined, spells: Spelling): string | null {
  const needsLook = spells.hasEscapes || spells.hasLoneSurrogates;
  if (frame === undefined && !needsLook) return null;
  const token = text.slice(start, end);
  const decoded = spells.hasEscapes && token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
  if (needsLook && loneSurrogate.test(decoded)) return `holds half of a surrogate pair (at position ${start})`;
  if (frame === undefined) return null;
  if (frame.keys?.has(decoded) === true) return `names a key twice (at position ${start})`;
  frame.keys?.add(decoded);
  frame.expectsKey = false;
  return null;
}

const isNumber = /^[-\d]/;

function numberProblem(text: string, { start, end }: Place, { exactNumbers, inexact }: ScanLimits): string | null {
  if (!exactNumbers) return null;
  const token = text.slice(start, end);
  if (!isNumber.test(token)) return null;
  const number = Number(token);
  if (String(number) === token) return null;
  if (Number.isFinite(number) && decimalOf(String(number)) === decimalOf(token)) return null;
  if (inexact === null) return `holds a number that would be rounded (at position ${start}); send it as a string`;
  inexact.push({ start, end });
  return null;
}

/** Returns the same text for equal numbers: `1.50e1`, `15` and `15.0` become `15e0`. */
function decimalOf(token: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const end = lastDigit(digits);
  if (end === 0) return '0';
  const sign = token.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

// Returns the length of the digits without trailing zeros. This is a loop, because a regular expression would try to
// match at every run of zeros.
function lastDigit(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end -= 1;
  return end;
}
