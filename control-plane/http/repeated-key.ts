// Finds a key that an object of a JSON text has twice. Readers of JSON differ in which of the two values they take, so what
// one program checks could be another value than the one that the next program uses.
import { childPath, isBlank, scalarEnd, skipBlanks, stringEnd } from '@tollgate/proto/contract';

interface RepeatedKey {
  /** The key in the value, with the keys and items above it. */
  readonly path: string;
  /** Where the key stands for the second time, in UTF-16 code units from the beginning of the text. */
  readonly offset: number;
}

/**
 * Returns the first key that its object has already. Null: there is none. The text must be JSON. `values`: the number of
 * values that a parser has made of it, which is less than the text has if it has dropped one of two.
 */
export function findRepeatedKey(text: string, values: number): RepeatedKey | null {
  return countValuesIn(text) === values ? null : search(text);
}

/** Counts exactly: a container that is not empty has one value more than commas. */
function countValuesIn(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34 /* " */) at = stringEnd(text, at) - 1;
    else if (code === 44 /* , */) values += 1;
    else if (code === 123 || code === 91 /* { [ */) {
      const next = text.charCodeAt(skipBlanks(text, at + 1));
      if (next !== 125 && next !== 93 /* } ] */) values += 1;
    }
  }
  return values;
}

/** An object or list that is open at a place of the text. */
interface Open {
  /** The keys of the object so far. Null: it is a list. */
  readonly keys: Set<string> | null;
  /** The key of the value that follows or is open. */
  key: string;
  /** The position of that value in the list. */
  item: number;
  expectsKey: boolean;
}

const keyMax = 200;

function search(text: string): RepeatedKey | null {
  const open: Open[] = [];
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const inner = open.at(-1);
    const start = at;
    at += 1;
    if (isBlank(code) || code === 58 /* : */) continue;
    if (code === 123 || code === 91 /* { [ */) {
      const isObject = code === 123;
      open.push({ keys: isObject ? new Set() : null, key: '', item: 0, expectsKey: isObject });
    } else if (code === 125 || code === 93 /* } ] */) open.pop();
    else if (code === 44 /* , */ && inner !== undefined) {
      inner.expectsKey = inner.keys !== null;
      inner.item += 1;
    } else if (code !== 34 /* " */) at = scalarEnd(text, start);
    else {
      at = stringEnd(text, start);
      if (inner?.keys == null || !inner.expectsKey) continue;
      const key = String(JSON.parse(text.slice(start, at)));
      inner.key = key;
      inner.expectsKey = false;
      if (inner.keys.has(key)) return { path: pathOf(open), offset: start };
      inner.keys.add(key);
    }
  }
  return null;
}

const pathOf = (open: readonly Open[]): string =>
  open.reduce((path, { keys, key, item }) => (keys === null ? `${path}[${item}]` : childPath(path, key.slice(0, keyMax))), '');
