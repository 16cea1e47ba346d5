// Rewrites the strings and numbers of a JSON text and leaves everything else unchanged: blanks, the order of keys, and
// digits that no number type could hold. Thus the result always is JSON of the same shape.
import { childPath, isBlank, scalarEnd, stringEnd } from '@tollgate/proto/contract';

export interface Leaf {
  /** Decoded. */
  readonly text: string;
  /** The key whose value it is, also for an item of a list. For `{"name": …, "value": …}` it is the value of `name`. */
  readonly name: string;
  /** The name of the value that holds its object: `password` for `{"password": {"old": …}}`. */
  readonly outer: string;
  /**
   * For a bare number or value: the type that its object states, for example `phone` of `{"type": "phone", "number":
   * …}`. Empty if there is none.
   */
  readonly sort: string;
  readonly isKey: boolean;
  /** Its path, with rewritten keys. The path of a key is that of its object. */
  readonly path: () => string;
}

/** Returns what a leaf becomes. The same text means that it is kept. */
export type Rewrite = (leaf: Leaf) => string;

// A path is for people: for a very deep value, or one under a very long key, only the beginning is shown.
const stepsMax = 24;
const stepLengthMax = 80;
const pathLengthMax = 2_000;

interface Frame {
  readonly isObject: boolean;
  /** The key before a list, or the last key of this object. */
  name: string;
  /** The last key as rewritten. For a list: the number of items before. */
  step: string | number;
  expectsKey: boolean;
  /** The name that the object gives its `value`. For a list: the option that its last item was. */
  label: string;
  /** The type that its object states. */
  sort: string;
  /** Rewritten keys that another key could equal, each with the last number that was appended to it. */
  taken: Map<string, number> | null;
}

/** `text` must be JSON: see `isJson`. `around` is the leaf that contains it, which provides a name and a path. */
export function rewriteStrings(text: string, around: Pick<Leaf, 'name' | 'path'>, rewrite: Rewrite): string {
  const frames: Frame[] = [];
  const pathOf = (depth: number): string => {
    let path = around.path();
    for (const { step } of frames.slice(0, Math.min(depth, stepsMax))) {
      const longer = typeof step === 'number' ? `${path}[${step}]` : childPath(path, step.slice(0, stepLengthMax));
      if (longer.length > pathLengthMax) return path.endsWith('…') ? path : `${path}…`;
      path = longer;
    }
    return depth > stepsMax ? `${path}…` : path;
  };
  // The path of a key is that of its object, because the rewritten key is not known yet.
  const keyPath = (): string => pathOf(frames.length - 1);
  const leafPath = (): string => pathOf(frames.length);
  let result = '';
  let copied = 0;
  let at = 0;
  let backslash = -2;

  const replace = (start: number, end: number, by: string): void => {
    result += text.slice(copied, start) + JSON.stringify(by);
    copied = end;
  };
  const key = (frame: Frame, start: number, end: number, decoded: string): void => {
    frame.name = decoded;
    frame.expectsKey = false;
    const rewritten = freeKey(frame, rewrite({ text: decoded, name: '', outer: '', sort: '', isKey: true, path: keyPath }));
    frame.step = rewritten;
    if (rewritten !== decoded) replace(start, end, rewritten);
  };
  const leaf = (start: number, end: number, decoded: string): void => {
    const frame = frames.at(-1);
    const outer = frames.at(-2)?.name ?? around.name;
    const name = frame === undefined ? around.name : nameIn(frame, outer, text, end);
    const sort = frame === undefined ? '' : sortIn(frame, outer, text, end, decoded);
    const rewritten = rewrite({ text: decoded, name, outer: frame?.isObject === true ? outer : '', sort, isKey: false, path: leafPath });
    if (rewritten !== decoded) replace(start, end, rewritten);
    if (frame !== undefined) noteLabel(frame, decoded);
  };

  while (at < text.length) {
    const frame = frames.at(-1);
    switch (text.charCodeAt(at)) {
      case 123: // {
        frames.push({ isObject: true, name: '', step: '', expectsKey: true, label: '', sort: '', taken: null });
        at += 1;
        break;
      case 91: // [
        frames.push({ isObject: false, name: frame?.name ?? around.name, step: 0, expectsKey: false, label: '', sort: '', taken: null });
        at += 1;
        break;
      case 125: // }
      case 93: // ]
        frames.pop();
        at += 1;
        break;
      case 44: // ,
        if (frame?.isObject === true) frame.expectsKey = true;
        else if (frame !== undefined && typeof frame.step === 'number') frame.step += 1;
        at += 1;
        break;
      case 34: {
        // "
        const end = stringEnd(text, at);
        if (end < 0) throw new RangeError('the text to redact is not JSON');
        if (backslash !== -1 && backslash < at) backslash = text.indexOf('\\', at);
        const escaped = backslash !== -1 && backslash < end;
        const decoded = escaped ? String(JSON.parse(text.slice(at, end))) : text.slice(at + 1, end - 1);
        if (frame?.expectsKey === true) key(frame, at, end, decoded);
        else leaf(at, end, decoded);
        at = end;
        break;
      }
      case 45: // -
      case 48:
      case 49:
      case 50:
      case 51:
      case 52:
      case 53:
      case 54:
      case 55:
      case 56:
      case 57: {
        const end = scalarEnd(text, at);
        leaf(at, end, text.slice(at, end));
        at = end;
        break;
      }
      default:
        at += 1;
    }
  }
  return copied === 0 ? text : result + text.slice(copied);
}

// Names of fields that label the value in the same object, the most reliable first. A later one is used only if no
// earlier one exists.
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
  // Used by programs that control a browser: the place where a value is typed.
  'selector',
  'locator',
  'xpath',
  'element',
]);
const valueNames = new Set(['value', 'parametervalue', 'given', 'answer', 'a', 'text', 'content', 'default', 'val', 'stringvalue']);
// Names of a number whose type another field of the object states.
const numberNames = new Set(
  'number no num nr numero número nummer numer deger değer valor valeur wert wartość identyfikator identifier display'.split(' '),
);
const sorts = 'type kind tip tipo typ tür rodzaj art idtype id_type doctype documenttype document_type tipodocumento system scheme';
const sortNames = new Set(sorts.split(' '));
const sortLengthMax = 32;
// Shorter numbers are counts. Numbers without quotes must be longer.
const quotedLengthMin = 7;
const bareLengthMin = 9;
const namesLengthMax = 14;
const holds = (names: ReadonlySet<string>, name: string): boolean => name.length <= namesLengthMax && names.has(name.toLowerCase());

// Used if an object is the only content of a key, as in Terraform's outputs and DynamoDB's items.
const onlyValueNames = new Set(['value', 'Value', 'default', 'stringValue', 'S']);

/** Returns the name of the next leaf. In a list of arguments, this is the option before it. */
function nameIn(frame: Frame, around: string, text: string, end: number): string {
  if (frame.label !== '' && (!frame.isObject || holds(valueNames, frame.name))) return frame.label;
  if (frame.isObject && holds(valueNames, frame.name)) {
    labelBehind.lastIndex = end;
    const label = labelBehind.exec(text)?.[1];
    if (label !== undefined) return withoutPart(label);
  }
  return frame.isObject && around !== '' && onlyValueNames.has(frame.name) ? around : frame.name;
}

// Keys may come in any order. In canonical JSON they are sorted.
const labelBehind = new RegExp(`[^{}[\\]]{0,160}?"(?:${[...labelNames].join('|')})"\\s{0,4}:\\s{0,4}"([^"\\\\]{1,120})"`, 'iy');

const sortBehind = new RegExp(
  `[^{}[\\]]{0,160}?"(?:${sorts.split(' ').join('|')})"\\s{0,4}:\\s{0,4}"([^"\\\\]{1,${sortLengthMax}})"`,
  'iy',
);

/**
 * Returns the type of the leaf that ends at `end`: stated before it, or after it in the same object, or by the key of
 * the object.
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

/** Removes the type from labels of page elements: `Password textbox`. */
const withoutPart = (label: string): string => label.slice(0, 200).replace(/[ _-](?:text ?box|field|input|box)$/i, '');

const isOption = (text: string): boolean => text.length < 64 && /^--?[A-Za-z][\w-]*$/.test(text);

/** If two keys of an object are rewritten to the same text, they remain two keys. */
function freeKey(frame: Frame, key: string): string {
  if (!key.includes('[redacted:')) return key;
  frame.taken ??= new Map();
  let number = frame.taken.get(key) ?? 1;
  let free = key;
  // Starts from the number where the last key of this name ended. Thus each key needs about one try, however many there
  // are.
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
  // Most texts that are not JSON are rejected without reading all of them.
  if (last <= first || closings.get(text.charCodeAt(first)) !== text.charCodeAt(last) || text.startsWith('[redacted:', first)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
