// Measures the live heap, after a full collection.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: unknown = runInNewContext('gc');

/** Bytes of heap in use after a full collection. */
export function collectGarbage(): number {
  if (typeof gc !== 'function') throw new Error('this V8 offers no gc');
  gc();
  return process.memoryUsage().heapUsed;
}
