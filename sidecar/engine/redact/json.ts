// Rewrites the strings and numbers of a JSON text and leaves everything else unchanged: blanks, the order of keys, and
// digits that no number type could hold. Thus the result always is JSON of the same shape.
import { childPath, isBlank, scalarEnd, stringEnd } from '@tollgate/proto/contract';

export interface Leaf {
  /** The text of the leaf, without quotes and escapes. */
  readonly text: string;
  /**
   * The key of the leaf. For an item of a list: the key of the list. For `{"name": …, "value": …}`: the value of
   * `name`.
   */
  readonly name: string;
  /** The key whose value is the object that contains the leaf: `password` for `{"password": {"old": …}}`. */
  readonly outer: string;
  /**
   * For a leaf with a general key such as `number` or `value`: the type that its object states, for example `phone` of
   * `{"type": "phone", "number": …}`. Empty if there is none.
   */
  readonly sort: string;
  readonly isKey: boolean;
  /** Returns the path of the leaf, with rewritten keys. For a key: the path of its object. */
  readonly path: () => string;
}

/** Returns the new text of a leaf. If it equals the old text, the leaf is not changed. */
export type Rewrite = (leaf: Leaf) => string;

// A path is for people. For a very deep value or a very long key, only the beginning of the path is shown.
const stepsMax = 24;
const stepLengthMax = 80;
const pathLengthMax = 2_000;

interface Frame {
  readonly isObject: boolean;
  /** For an object: its last key. For a list: the key before the list. */
  name: string;
  /** For an object: its last key, as rewritten. For a list: the number of items before the current one. */
  step: string | number;
  expectsKey: boolean;
  /**
   * For an object: the name that it gives to its `value`. For a list: its last item, if that was an option such as
   * `--password`.
   */
  label: string;
  /** The type that this object states. */
  sort: string;
  /**
   * Rewritten keys that a later key of this object could equal. For each of them, the last number that was appended to
   * make another key different.
   */
  taken: Map<string, number> | null;
}

/**
 * Returns `text` with its strings and numbers rewritten. `text` must be JSON: see `isJson`. `around` is the leaf that
 * contains `text`, and provides a name and a path.
 */
export const rewriteStrings = (text: string, around: Pick<Leaf, 'name' | 'path'>, rewrite: Rewrite): string =>
  new Rewriting(text, around, rewrite).run();

/** The state while one text is rewritten. */
class Rewriting {
  readonly text: string;
  readonly around: Pick<Leaf, 'name' | 'path'>;
  readonly rewrite: Rewrite;
  readonly frames: Frame[] = [];
  result = '';
  /** The position in `text` up to which `result` contains the rewritten text. */
  copied = 0;
  /** The position of the next backslash. -1: there is no further backslash. -2: it was not searched yet. */
  backslash = -2;
  // The path of a key is that of its object, because the rewritten key is not known yet.
  readonly keyPath = (): string => this.pathOf(this.frames.length - 1);
  readonly leafPath = (): string => this.pathOf(this.frames.length);

  constructor(text: string, around: Pick<Leaf, 'name' | 'path'>, rewrite: Rewrite) {
    this.text = text;
    this.around = around;
    this.rewrite = rewrite;
  }

  run(): string {
    const { text, frames } = this;
    let at = 0;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === quote) at = this.string(at);
      else if (code === minus || (code >= digit0 && code <= digit9)) at = this.number(at);
      else {
        if (code === openBrace) frames.push(newFrame(true, '', ''));
        else if (code === openBracket) frames.push(newFrame(false, frames.at(-1)?.name ?? this.around.name, 0));
        else if (code === closeBrace || code === closeBracket) frames.pop();
        else if (code === comma) beginItem(frames.at(-1));
        at += 1;
      }
    }
    return this.copied === 0 ? text : this.result + text.slice(this.copied);
  }

  /** Reads the string that begins at `at`, and returns its end. */
  string(at: number): number {
    const { text } = this;
    const end = stringEnd(text, at);
    if (end < 0) throw new RangeError('the text to redact must be valid JSON, but a string in the text has no end');
    if (this.backslash !== -1 && this.backslash < at) this.backslash = text.indexOf('\\', at);
    const isEscaped = this.backslash !== -1 && this.backslash < end;
    const decoded = isEscaped ? String(JSON.parse(text.slice(at, end))) : text.slice(at + 1, end - 1);
    const frame = this.frames.at(-1);
    if (frame?.expectsKey === true) this.key(frame, at, end, decoded);
    else this.leaf(at, end, decoded);
    return end;
  }

  /** Reads the number that begins at `at`, and returns its end. */
  number(at: number): number {
    const end = scalarEnd(this.text, at);
    this.leaf(at, end, this.text.slice(at, end));
    return end;
  }

  key(frame: Frame, start: number, end: number, decoded: string): void {
    frame.name = decoded;
    frame.expectsKey = false;
    const rewritten = freeKey(frame, this.rewrite({ text: decoded, name: '', outer: '', sort: '', isKey: true, path: this.keyPath }));
    frame.step = rewritten;
    if (rewritten !== decoded) this.replace(start, end, rewritten);
  }

  leaf(start: number, end: number, decoded: string): void {
    const { text, frames, around } = this;
    const frame = frames.at(-1);
    const outer = frames.at(-2)?.name ?? around.name;
    const name = frame === undefined ? around.name : nameIn(frame, outer, text, end);
    const sort = frame === undefined ? '' : sortIn(frame, outer, text, end, decoded);
    const leaf = { text: decoded, name, outer: frame?.isObject === true ? outer : '', sort, isKey: false, path: this.leafPath };
    const rewritten = this.rewrite(leaf);
    if (rewritten !== decoded) this.replace(start, end, rewritten);
    if (frame !== undefined) noteLabel(frame, decoded);
  }

  replace(start: number, end: number, by: string): void {
    this.result += this.text.slice(this.copied, start) + JSON.stringify(by);
    this.copied = end;
  }

  pathOf(depth: number): string {
    let path = this.around.path();
    for (const { step } of this.frames.slice(0, Math.min(depth, stepsMax))) {
      const longer = typeof step === 'number' ? `${path}[${step}]` : childPath(path, step.slice(0, stepLengthMax));
      if (longer.length > pathLengthMax) return path.endsWith('…') ? path : `${path}…`;
      path = longer;
    }
    return depth > stepsMax ? `${path}…` : path;
  }
}

const [quote, minus, comma, digit0, digit9] = [34, 45, 44, 48, 57];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];

const newFrame = (isObject: boolean, name: string, step: string | number): Frame => ({
  isObject,
  name,
  step,
  expectsKey: isObject,
  label: '',
  sort: '',
  taken: null,
});

/** Notes that a comma was read: a key, or the next item of a list, follows. */
function beginItem(frame: Frame | undefined): void {
  if (frame?.isObject === true) frame.expectsKey = true;
  else if (frame !== undefined && typeof frame.step === 'number') frame.step += 1;
}

// Names of fields that label the value in the same object. `id` never replaces a label from another field.
const labelNames = new Set([
  'name',
  'key',
  'header',
  'field',
  'label',
  'parameterkey',
  'option',
  'variable',
  'parameter',
  'setting',
  'property',
  'question',
  'q',
  'id',
  // The following names are used by programs that control a browser. They say where a value is typed.
  'selector',
  'locator',
  'xpath',
  'element',
]);
const valueNames = new Set(['value', 'parametervalue', 'given', 'answer', 'a', 'text', 'content', 'default', 'val', 'stringvalue']);
// Names of fields that contain a number. Another field of the object states the type of the number.
const numberNames = new Set(
  'number no num nr numero número nummer numer deger değer valor valeur wert wartość identyfikator identifier display'.split(' '),
);
const sorts = 'type kind tip tipo typ tür rodzaj art idtype id_type doctype documenttype document_type tipodocumento system scheme';
const sortNames = new Set(sorts.split(' '));
const sortLengthMax = 32;
// Shorter numbers are only counts. A number without quotes must be longer than one in quotes.
const quotedLengthMin = 7;
const bareLengthMin = 9;
const namesLengthMax = 14;
const holds = (names: ReadonlySet<string>, name: string): boolean => name.length <= namesLengthMax && names.has(name.toLowerCase());

// If an object has no label, a value with one of these keys gets the key of this object as its name. Terraform's
// outputs and DynamoDB's items have this form.
const onlyValueNames = new Set(['value', 'Value', 'default', 'stringValue', 'S']);

/** Returns the name of the leaf that ends at `end`. In a list of arguments, this is the option before the leaf. */
function nameIn(frame: Frame, around: string, text: string, end: number): string {
  if (frame.label !== '' && (!frame.isObject || holds(valueNames, frame.name))) return frame.label;
  if (frame.isObject && holds(valueNames, frame.name)) {
    labelBehind.lastIndex = end;
    const label = labelBehind.exec(text)?.[1];
    if (label !== undefined) return withoutPart(label);
  }
  return frame.isObject && around !== '' && onlyValueNames.has(frame.name) ? around : frame.name;
}

// Finds a label that follows its value. Keys may come in any order, and in canonical JSON they are sorted.
const labelBehind = new RegExp(`[^{}[\\]]{0,160}?"(?:${[...labelNames].join('|')})"\\s{0,4}:\\s{0,4}"([^"\\\\]{1,120})"`, 'iy');

const sortBehind = new RegExp(
  `[^{}[\\]]{0,160}?"(?:${sorts.split(' ').join('|')})"\\s{0,4}:\\s{0,4}"([^"\\\\]{1,${sortLengthMax}})"`,
  'iy',
);

/**
 * Returns the type of the leaf that ends at `end`. A field before or after the leaf in the same object states the type.
 * If no field states it, the key of the object is the type.
 */
function sortIn(frame: Frame, around: string, text: string, end: number, leaf: string): string {
  const lengthMin = text[end - 1] === '"' ? quotedLengthMin : bareLengthMin;
  if (!frame.isObject || leaf.length < lengthMin || !(holds(valueNames, frame.name) || holds(numberNames, frame.name))) return '';
  if (frame.sort !== '') return frame.sort;
  sortBehind.lastIndex = end;
  return sortBehind.exec(text)?.[1] ?? around;
}

function noteLabel(frame: Frame, text: string): void {
  if (frame.isObject && text.length <= sortLengthMax && holds(sortNames, frame.name)) frame.sort = text;
  if (!frame.isObject) frame.label = isOption(text) ? text.slice(text.lastIndexOf('-', 1) + 1) : '';
  else if (holds(labelNames, frame.name) && (frame.label === '' || frame.name.toLowerCase() !== 'id')) frame.label = withoutPart(text);
}

/** Removes the type of a page element from its label: `Password textbox` becomes `Password`. */
const withoutPart = (label: string): string => label.slice(0, 200).replace(/[ _-](?:text ?box|field|input|box)$/i, '');

const isOption = (text: string): boolean => text.length < 64 && /^--?[A-Za-z][\w-]*$/.test(text);

/**
 * Returns a key that no other key of the object equals. If two keys are rewritten to the same text, a number is
 * appended to the second one.
 */
function freeKey(frame: Frame, key: string): string {
  if (!key.includes('[redacted:')) return key;
  frame.taken ??= new Map();
  let number = frame.taken.get(key) ?? 1;
  let free = key;
  // Starts from the last number that was appended to this key. Thus even for many equal keys, each one needs about one
  // try.
  while (frame.taken.has(free)) free = `${key}#${++number}`;
  frame.taken.set(key, number);
  if (free !== key) frame.taken.set(free, 1);
  return free;
}

const closings: ReadonlyMap<number, number> = new Map(['{}', '[]', '""'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]));

/** Returns whether a text is a JSON object, list or string, whose strings must be examined one by one. */
export function isJson(text: string): boolean {
  let first = 0;
  let last = text.length - 1;
  while (isBlank(text.charCodeAt(first))) first += 1;
  while (last > first && isBlank(text.charCodeAt(last))) last -= 1;
  // Most texts that are not JSON are rejected here, before all of the text is read.
  if (last <= first || closings.get(text.charCodeAt(first)) !== text.charCodeAt(last) || text.startsWith('[redacted:', first)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
