// JSON as the doors of the process read it: one value, of which every parser reads the same. What parsers disagree about
// is how gates are passed, so whatever they could read differently is refused: keys that are twice in an object, text
// behind the value, bytes that are not UTF-8, numbers that a double rounds, halves of surrogate pairs. A problem is told
// by its place and not by what stands there, which may be a secret.
import { bounds, excessIn, tooDeep, tooManyValues } from '@tollgate/proto/contract';

export type StrictJson =
  | {
      readonly value: unknown;
      /** Numbers that a double would round stand in it as texts. */
      readonly hasNumbersAsText?: true;
    }
  | { readonly problem: string };

interface StrictLimits {
  /** How many objects and lists may stand in each other. */
  readonly depth?: number;
  /** Values, those in values included. */
  readonly nodes?: number;
  /** False: numbers may be beyond what a double holds; whoever allows that must not forward what it parsed. */
  readonly exactNumbers?: boolean;
  /** Numbers that a double would round are no problem: they are read as the texts that they are written as. */
  readonly numbersAsText?: boolean;
}

// Made once: making one takes longer than reading a body.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value, or what is wrong with the bytes, in words that follow `the body`. */
export function parseStrict(bytes: Uint8Array, limits: StrictLimits = {}): StrictJson {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { problem: 'is not UTF-8' };
  }
  return parseStrictText(text, limits);
}

/** The same of a text that was decoded before. */
export function parseStrictText(
  text: string,
  { depth = bounds.jsonDepth, nodes = bounds.jsonNodes, exactNumbers = true, numbersAsText = false }: StrictLimits = {},
): StrictJson {
  if (text.startsWith('\uFEFF')) return { problem: 'begins with a byte order mark, which JSON does not have' };
  // Before anything is made of it: a text of brackets is thirty times as large as values.
  const excess = excessIn(text, { depth, nodes });
  if (excess !== null) return { problem: excess };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Its message quotes the text.
    const place = error instanceof SyntaxError ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    return { problem: `is not one JSON value${place === undefined ? '' : ` (at position ${place})`}` };
  }
  const inexact: Place[] = [];
  const problem = scan(text, { depth, nodes, exactNumbers, inexact: numbersAsText ? inexact : null });
  if (problem !== null) return { problem };
  return inexact.length === 0 ? { value } : { value: JSON.parse(quoted(text, inexact)), hasNumbersAsText: true };
}

/** The text with what stands at these places in quotes. */
function quoted(text: string, places: readonly Place[]): string {
  let behind = 0;
  const parts = places.map(({ start, end }) => {
    const part = `${text.slice(behind, start)}"${text.slice(start, end)}"`;
    behind = end;
    return part;
  });
  return parts.join('') + text.slice(behind);
}

interface ScanLimits {
  readonly depth: number;
  readonly nodes: number;
  readonly exactNumbers: boolean;
  /** Where numbers are noted that a double would round; null: they are a problem. */
  readonly inexact: Place[] | null;
}

interface Frame {
  /** Null for a list. */
  readonly keys: Set<string> | null;
  expectsKey: boolean;
}

/** Of a text that is JSON. */
function scan(text: string, limits: ScanLimits): string | null {
  // Most texts have neither, and then nothing of their strings needs a look but which keys they are.
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
    const end = !isString ? scalarEnd(text, at) : spells.hasEscapes ? stringEnd(text, at) : text.indexOf('"', at + 1) + 1;
    const problem = isString
      ? stringProblem(text, { start: at, end }, isKey ? frame : undefined, spells)
      : numberProblem(text, { start: at, end }, limits);
    if (problem !== null) return problem;
    at = end;
  }
  return null;
}

/** What strings of the text may hold. */
interface Spelling {
  readonly hasEscapes: boolean;
  readonly hasLoneSurrogates: boolean;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/** Behind the closing quote of the string that opens at `start`. */
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 92 /* \ */) at += 1;
    else if (code === 34 /* " */) return at + 1;
  }
}

/** Behind the number or word that begins at `start`. */
export function scalarEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && !isBlank(text.charCodeAt(end)) && !',]}'.includes(text.charAt(end))) end += 1;
  return end;
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

/** One text for equal numbers: `1.50e1`, `15` and `15.0` are `15e0`. */
function decimalOf(token: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const end = lastDigit(digits);
  if (end === 0) return '0';
  const sign = token.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

// Not by a regular expression, which would try every run of zeros.
function lastDigit(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end -= 1;
  return end;
}
