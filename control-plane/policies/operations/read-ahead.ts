// Reads the conditions of documents before a write or a compiler needs them. Reading 2,000 conditions can take seconds.
// Here it is done in short turns, so that all other requests are answered meanwhile.
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { readingConditions } from '@tollgate/sidecar/engine/compile';
import { effectOperation, type Operation } from '../../access/operation.ts';
import { isLead } from '../../access/rules/access.ts';

const turnMs = 10;

/** Reads the conditions of documents in turns of 10 ms. What is no document, or is wrong, is left to later checks. */
export async function readAhead(documents: readonly unknown[]): Promise<void> {
  let turnEnds = performance.now() + turnMs;
  for (const _ of readingConditions(documents)) {
    if (performance.now() < turnEnds) continue;
    await setImmediate();
    turnEnds = performance.now() + turnMs;
  }
}

/** The write of a document, which first reads its conditions. Members write none, so theirs are not read. */
export const readingAhead = <I extends { readonly body: unknown }, R>(write: Operation<I, R>): Operation<I, R> =>
  effectOperation(write.action, async (deps, actor, input, circumstances) => {
    if (isLead(actor.role)) await readAhead([input.body]);
    return write(deps, actor, input, circumstances);
  });
