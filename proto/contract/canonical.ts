// Writes canonical JSON: the same value gives the same text on every machine. Keys are sorted by code units, and there
// are no blanks. Otherwise the text is the same as that of JSON.stringify. The digests of inputs and outputs are
// computed over this text.
import { hash } from 'node:crypto';
import { bounds } from './bounds.ts';

/**
 * The error for a value that is not JSON within the bounds. Its message continues a sentence that begins with the
 * value's name.
 */
export class NotJson extends Error {
  override readonly name = 'NotJson';
}

/** The maximum size of a value. */
export interface JsonSize {
  /** The maximum length of its canonical JSON. */
  readonly characters: number;
  /** The maximum number of values, including nested ones. */
  readonly nodes: number;
}

/**
 * The maximum size of a tool's input. The input can be a body of the maximum size together with the fields around it.
 */
export const payloadSize: JsonSize = { characters: bounds.payloadCharacters, nodes: bounds.jsonNodes };

/** Throws `NotJson` if the value is deeper or larger than the bounds, or cannot be written as JSON. */
export function canonicalJson(value: unknown, { characters, nodes }: JsonSize = payloadSize): string {
  const text = write(value, 0, { nodes: 0, max: nodes });
  if (text === undefined) return 'null';
  if (text.length > characters) throw new NotJson(`is larger than ${characters} characters`);
  return text;
}

/** Returns SHA-256 of canonical JSON, in hex. */
export const digestText = (canonical: string): string => hash('sha256', canonical, 'hex');

// Characters that JSON writes unchanged between quotes.
const plain = /^[ !#-[\]-~]*$/;

/** Returns the same text as `JSON.stringify`, but several times faster if nothing needs an escape. */
export const quoteJson = (text: string): string => (text.length < 1_000 && plain.test(text) ? `"${text}"` : JSON.stringify(text));

interface Seen {
  nodes: number;
  readonly max: number;
}

function write(value: unknown, depth: number, seen: Seen): string | undefined {
  if (++seen.nodes > seen.max) throw new NotJson(`has more than ${seen.max} values`);
  switch (typeof value) {
    case 'string':
      return quoteJson(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return value === null ? 'null' : writeObject(value, depth, seen);
    case 'bigint':
      throw new NotJson('contains a BigInt, which JSON cannot represent');
    default:
      return undefined;
  }
}

function writeObject(value: object, depth: number, seen: Seen): string | undefined {
  if (depth >= bounds.jsonDepth) throw new NotJson(`is nested deeper than ${bounds.jsonDepth}`);
  if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), depth + 1, seen);
  if (Array.isArray(value)) return writeArray(value, depth, seen);
  let text = '';
  const fields: Readonly<Record<string, unknown>> = { ...value };
  for (const key of sorted(Object.keys(fields))) {
    const written = write(fields[key], depth + 1, seen);
    if (written !== undefined) text += `${text === '' ? '' : ','}${quoteJson(key)}:${written}`;
  }
  return `{${text}}`;
}

/** Sorts by code units, in place. Most objects have few keys, and for these an insertion sort is faster. */
function sorted(keys: string[]): readonly string[] {
  if (keys.length > 16) return keys.sort();
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] ?? '';
    let to = at;
    for (; to > 0; to--) {
      const before = keys[to - 1] ?? '';
      if (before <= key) break;
      keys[to] = before;
    }
    keys[to] = key;
  }
  return keys;
}

// Does not use `map`, which skips the holes of a sparse array.
function writeArray(items: readonly unknown[], depth: number, seen: Seen): string {
  let text = '';
  for (let at = 0; at < items.length; at++) text += `${at === 0 ? '' : ','}${write(items[at], depth + 1, seen) ?? 'null'}`;
  return `[${text}]`;
}
