// What a value is to redaction. Plain data, that is objects, lists, texts, numbers and the like, JSON carries whole: where
// nothing is found the value itself may go on. Of anything else only the JSON that it becomes may, because the rest of
// it would pass unseen; and what JSON would lose, such as bytes, may not go on at all.
import { isProxy } from 'node:util/types';
import { bounds, type JsonSize, NotJson, payloadSize } from '@tollgate/proto/contract';

export interface PlainData {
  /** Plain data throughout: the value itself, or what it becomes. */
  readonly value: unknown;
  readonly isItself: boolean;
}

/** Throws `NotJson`, in words that follow the value's name; what the value's own code throws goes through. */
export function plainData(value: unknown, { nodes }: Pick<JsonSize, 'nodes'> = payloadSize): PlainData {
  const reading: Reading = { nodes: 0, max: nodes, isItself: true };
  const plain = read(value, 0, reading);
  return reading.isItself ? { value, isItself: true } : { value: plain, isItself: false };
}

interface Reading {
  nodes: number;
  readonly max: number;
  isItself: boolean;
}

function read(value: unknown, depth: number, reading: Reading): unknown {
  if (++reading.nodes > reading.max) throw new NotJson(`has more than ${reading.max} values`);
  if (typeof value === 'function') throw new NotJson('holds a function, which redaction does not read');
  if (typeof value === 'symbol') throw new NotJson('holds a symbol, which redaction does not read');
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= bounds.jsonDepth) throw new NotJson(`is nested deeper than ${bounds.jsonDepth}`);
  return readObject(value, depth, reading);
}

function readObject(value: object, depth: number, reading: Reading): unknown {
  const tag = Object.prototype.toString.call(value);
  if (ArrayBuffer.isView(value) || bytesTags.has(tag)) throw new NotJson('holds bytes, which redaction does not read');
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    reading.isItself = false;
    return read(value.toJSON(), depth + 1, reading);
  }
  if (!isPlainShape(value)) reading.isItself = false;
  if (Array.isArray(value)) return readList(value, depth, reading);
  if (!fieldTags.has(tag) || Symbol.iterator in value || Symbol.asyncIterator in value)
    throw new NotJson('holds what JSON has no form for, such as a Map or a stream');
  // Not by assignment, which takes a field `__proto__` for something else.
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, read(field, depth + 1, reading)]));
}

const bytesTags = new Set(['[object ArrayBuffer]', '[object SharedArrayBuffer]']);
// Whose fields are all there is to tell of them; an error's are what it was given.
const fieldTags = new Set(['[object Object]', '[object Error]']);

// Not by `map`, which leaves the holes of a sparse array out, nor all at once: its length may be anything.
function readList(items: readonly unknown[], depth: number, reading: Reading): readonly unknown[] {
  const list: unknown[] = [];
  for (let at = 0; at < items.length; at++) list.push(read(items[at], depth + 1, reading));
  return list;
}

/** Whether its enumerable fields are all that it has, and reading them again gives the same. */
function isPlainShape(value: object): boolean {
  if (isProxy(value)) return false;
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (isList ? prototype !== Array.prototype : prototype !== null && prototype !== Object.prototype) return false;
  return Reflect.ownKeys(value).every((key) => {
    if (isList && key === 'length') return true;
    if (typeof key === 'symbol' || (isList && !isIndex(key))) return false;
    const field = Reflect.getOwnPropertyDescriptor(value, key);
    return field?.enumerable === true && 'value' in field;
  });
}

const isIndex = (key: string): boolean => /^(?:0|[1-9]\d*)$/.test(key);
