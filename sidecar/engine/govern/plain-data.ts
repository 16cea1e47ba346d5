// Converts a value to plain data (objects, lists, texts, numbers and similar) for redaction. The JSON of plain data
// contains all of the data. So if redaction finds nothing in plain data, the value itself may be forwarded. For any
// other value only its JSON may be forwarded, because redaction does not see the rest of the value. A value that JSON
// would lose, such as bytes, must not be forwarded.
import { isProxy } from 'node:util/types';
import { bounds, type JsonSize, NotJson, payloadSize } from '@tollgate/proto/contract';
import { Undecided } from '../conditions/values.ts';
import { InexactNumber } from '../json/strict-json.ts';

export interface PlainData {
  /** The value itself if it is plain data, otherwise the plain data that it becomes. */
  readonly value: unknown;
  readonly isItself: boolean;
}

/**
 * Returns the value as plain data. Throws `NotJson` if this is not possible. The message of the error continues a
 * sentence that begins with the value's name. Errors from the value's own code are not caught.
 */
export function plainData(value: unknown, { nodes }: Pick<JsonSize, 'nodes'> = payloadSize): PlainData {
  const reading: Reading = { nodes: 0, max: nodes, isItself: true, keepsOthers: false };
  const plain = read(value, 0, reading);
  return reading.isItself ? { value, isItself: true } : { value: plain, isItself: false };
}

/**
 * Returns a copy of the value that later changes of the value do not change. What has no JSON, such as bytes or a
 * function, is in the copy as it is. Throws `NotJson` if the value is too large or nested too deep. Errors from the
 * value's own code are not caught.
 */
export const plainCopy = (value: unknown, { nodes }: Pick<JsonSize, 'nodes'> = payloadSize): unknown =>
  read(value, 0, { nodes: 0, max: nodes, isItself: true, keepsOthers: true });

/**
 * Returns why the JSON of a copy would not say exactly what the copy is. Null: it does. A field without a value is
 * missing in the JSON, which is the same.
 */
export function exactProblem(copy: unknown): string | null {
  if (typeof copy === 'number') return Number.isFinite(copy) ? null : 'contains a number that JSON cannot represent';
  if (typeof copy === 'function' || typeof copy === 'symbol' || typeof copy === 'bigint') return `contains a ${typeof copy}`;
  if (typeof copy !== 'object' || copy === null) return null;
  if (copy instanceof InexactNumber) return 'contains a number that would be rounded';
  if (copy instanceof Undecided) return 'contains a part that is not shown here';
  if (!isReadable(copy, Object.prototype.toString.call(copy))) return 'contains an object that JSON cannot represent';
  for (const value of Object.values(copy)) {
    const problem = exactProblem(value);
    if (problem !== null) return problem;
  }
  return null;
}

interface Reading {
  nodes: number;
  readonly max: number;
  isItself: boolean;
  /** What is not plain data is returned as it is, instead of an error. */
  readonly keepsOthers: boolean;
}

function read(value: unknown, depth: number, reading: Reading): unknown {
  if (++reading.nodes > reading.max) throw new NotJson(`has more than ${reading.max} values`);
  if (reading.keepsOthers && (typeof value === 'function' || typeof value === 'symbol')) return value;
  if (typeof value === 'function') throw new NotJson('contains a function, which redaction cannot read');
  if (typeof value === 'symbol') throw new NotJson('contains a symbol, which redaction cannot read');
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= bounds.jsonDepth) throw new NotJson(`is nested deeper than ${bounds.jsonDepth}`);
  return readObject(value, depth, reading);
}

function readObject(value: object, depth: number, reading: Reading): unknown {
  const tag = Object.prototype.toString.call(value);
  if (reading.keepsOthers && !isReadable(value, tag)) return value;
  if (value instanceof Undecided) throw new NotJson('contains a part that is not shown here, so redaction cannot read it');
  if (ArrayBuffer.isView(value) || bytesTags.has(tag)) throw new NotJson('contains bytes, which redaction cannot read');
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    reading.isItself = false;
    return read(value.toJSON(), depth + 1, reading);
  }
  // A copy is never the value itself.
  if (!reading.keepsOthers && !isPlainShape(value)) reading.isItself = false;
  if (Array.isArray(value)) return readList(value, depth, reading);
  if (!fieldTags.has(tag) || Symbol.iterator in value || Symbol.asyncIterator in value)
    throw new NotJson('contains an object that JSON cannot represent, such as a Map or a stream');
  return readFields(value as Readonly<Record<string, unknown>>, depth, reading);
}

function readFields(value: Readonly<Record<string, unknown>>, depth: number, reading: Reading): object {
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = read(value[key], depth + 1, reading);
    // Assignment treats a field `__proto__` in a special way.
    if (key === '__proto__') Object.defineProperty(fields, key, { value: field, enumerable: true, configurable: true, writable: true });
    else fields[key] = field;
  }
  return fields;
}

/**
 * Whether the value is a list, an object that is read by its fields, or an object that gives its own JSON. Conditions
 * know an `InexactNumber` and an `Undecided` as they are.
 */
const isReadable = (value: object, tag: string): boolean =>
  !ArrayBuffer.isView(value) &&
  !bytesTags.has(tag) &&
  !(value instanceof Undecided || value instanceof InexactNumber) &&
  (Array.isArray(value) ||
    ('toJSON' in value && typeof value.toJSON === 'function') ||
    (fieldTags.has(tag) && !(Symbol.iterator in value) && !(Symbol.asyncIterator in value)));

const bytesTags = new Set(['[object ArrayBuffer]', '[object SharedArrayBuffer]']);
// The types of objects that are read by their fields. Of an error, only the enumerable fields are read.
const fieldTags = new Set(['[object Object]', '[object Error]']);

// Does not use `map`, because `map` skips the holes of a sparse array. Does not allocate the list at once, because its
// length may be any number.
function readList(items: readonly unknown[], depth: number, reading: Reading): readonly unknown[] {
  const list: unknown[] = [];
  for (let at = 0; at < items.length; at++) list.push(read(items[at], depth + 1, reading));
  return list;
}

/** Returns whether the enumerable fields are all that the value has, and reading them again gives the same result. */
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
