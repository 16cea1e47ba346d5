// The step between deciding and answering: the entry is written first. Where it cannot be, the answer is what the
// workspace chose for that: a denial, unless it said otherwise, and then the loss is counted.

import { AuditUnavailable } from '../spool/unavailable.ts';
import type { Judged } from './govern.ts';
import type { Governing } from './governing.ts';

/** At once where the durability is `kernel`, else a promise: for callers in this process. */
export function recorded<T>(sidecar: Governing, judged: Judged<T>): T | Promise<T> {
  if (sidecar.durability !== 'kernel') return recordedInTurn(sidecar, judged);
  try {
    sidecar.spool.append(judged.entry);
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

/** Together with all entries of this turn of the event loop: for requests that arrive side by side. */
export async function recordedInTurn<T>(sidecar: Governing, judged: Judged<T>): Promise<T> {
  try {
    await sidecar.spool.appendAsync(judged.entry);
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

function unrecorded<T>(sidecar: Governing, judged: Judged<T>, error: unknown): T {
  if (!(error instanceof AuditUnavailable)) throw error;
  sidecar.unrecorded += 1;
  return judged.unrecorded();
}
