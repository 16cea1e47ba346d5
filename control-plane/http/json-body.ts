// Reads a JSON body strictly. The body must be UTF-8, bounded in depth and in number of values, and free of characters
// that the database cannot store. No object may have a key twice. Every error names the place of the problem.
import { bounds, childPath, excessIn, tooManyValues } from '@tollgate/proto/contract';
import { badRequest } from '../base/refusal.ts';
import { placeOf, placeOfError } from './json-place.ts';
import { findRepeatedKey } from './repeated-key.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const unstorable = /[\0\p{Cs}]/u;

/** Returns undefined for an empty body. Throws `bad_request`. `nodesMax`: the largest number of values. */
export function parseBody(bytes: Uint8Array, nodesMax: number): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  refuseExcess(text, nodesMax);
  const value = parseJson(text);
  refuseRepeatedKey(text, refuseUnstorable(value, nodesMax));
  return value;
}

/**
 * Rejects a body with too many values. A body that is only nested too deeply passes: `refuseUnstorable` rejects it
 * later and names the exact place.
 */
function refuseExcess(text: string, nodes: number): void {
  if (excessIn(text, { depth: Number.POSITIVE_INFINITY, nodes }) === null) return;
  throw badRequest(`the body ${excessIn(text, { depth: bounds.jsonDepth, nodes }) ?? tooManyValues(nodes)}`);
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badRequest('the body is not UTF-8');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // V8's own message would quote the body.
    const { line, column } = placeOfError(text);
    throw badRequest(`the body is not JSON: line ${line}, column ${column}`);
  }
}

/** `values`: the number of values that were made of the text. */
function refuseRepeatedKey(text: string, values: number): void {
  const repeated = findRepeatedKey(text, values);
  if (repeated === null) return;
  const { line, column } = placeOf(text, repeated.offset);
  throw badRequest(
    `${shown(repeated.path)} is in the body twice, the second time at line ${line}, column ${column}; an object may have a key only once`,
  );
}

interface Visit {
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
}

/**
 * Returns the number of values. Uses an explicit list instead of recursion, because JSON may be nested deeper than the call
 * stack allows.
 */
function refuseUnstorable(root: unknown, nodesMax: number): number {
  const open: Visit[] = [{ value: root, path: '', depth: 1 }];
  let nodes = 0;
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { value, path, depth } = visit;
    nodes += 1;
    if (nodes > nodesMax) throw badRequest(`the body ${tooManyValues(nodesMax)}`);
    if (typeof value === 'string') refuseText(value, path);
    if (typeof value !== 'object' || value === null) continue;
    if (depth > bounds.jsonDepth) throw badRequest(`${shown(path)} is nested deeper than ${bounds.jsonDepth}`);
    for (const [key, child] of Object.entries(value)) {
      const at = Array.isArray(value) ? `${path}[${key}]` : childPath(path, key.slice(0, bounds.nameLength));
      refuseText(key, at);
      if (key === '__proto__') throw badRequest(`${shown(at)} is not allowed as a key`);
      open.push({ value: child, path: at, depth: depth + 1 });
    }
  }
  return nodes;
}

function refuseText(text: string, path: string): void {
  if (unstorable.test(text)) throw badRequest(`${shown(path)} holds NUL or half of a surrogate pair`);
}

const shown = (path: string): string => (path === '' ? 'body' : path.slice(0, 1000));
