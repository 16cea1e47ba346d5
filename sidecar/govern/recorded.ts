// The step between deciding and answering: the entry is written first. Where it cannot be, the answer is what the
// workspace chose for that: a denial, unless it said otherwise, and then the loss is counted.
//
// With durability `remote` there is a third case: the entry is on disk and on its way, and nobody knows in time whether
// the control plane has it. The answer is as if there were none, but the entry will be in the log, so two things are
// true that are not above: nothing is lost, hence it is counted apart; and where the entry says that a call or an output
// may pass and the caller heard otherwise, a second entry with the same request id says that it was blocked.
import { refuse } from '../decide/refusal.ts';
import { AuditUnavailable } from '../spool/unavailable.ts';
import type { Judged } from './govern.ts';
import type { Governing } from './governing.ts';

/** Of both cases, where they are not told apart. */
export const unrecordable = refuse('audit_unavailable', 'the entry could not be recorded');
const unwritable = refuse('audit_unavailable', 'the entry could not be written to the spool');
const uncommitted = refuse('audit_unavailable', 'the control plane has not committed the entry in time');

/** At once where the durability is `kernel` and the call was not to wait, else a promise: for callers in this process. */
export function recorded<T>(sidecar: Governing, judged: Judged<T> | Promise<Judged<T>>): T | Promise<T> {
  if (judged instanceof Promise) return recordedLater(sidecar, judged);
  if (sidecar.durability !== 'kernel') return recordedInTurn(sidecar, judged);
  try {
    sidecar.spool.append(judged.entry);
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

const recordedLater = async <T>(sidecar: Governing, judging: Promise<Judged<T>>): Promise<T> => recorded(sidecar, await judging);

/** Together with all entries of this turn of the event loop: for requests that arrive side by side. */
export async function recordedInTurn<T>(sidecar: Governing, judging: Judged<T> | Promise<Judged<T>>): Promise<T> {
  const judged = judging instanceof Promise ? await judging : judging;
  try {
    await sidecar.spool.appendAsync(judged.entry);
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

function unrecorded<T>(sidecar: Governing, judged: Judged<T>, error: unknown): T {
  if (!(error instanceof AuditUnavailable)) throw error;
  if (error.why === 'unconfirmed') return unconfirmed(sidecar, judged);
  sidecar.unrecorded += 1;
  return judged.unrecorded(unwritable);
}

function unconfirmed<T>(sidecar: Governing, judged: Judged<T>): T {
  sidecar.unconfirmed += 1;
  const answer = judged.unrecorded(uncommitted);
  if (answer !== judged.result && judged.withdrawn) withdraw(sidecar, judged.withdrawn(uncommitted));
  return answer;
}

// It waits for nobody: the caller is denied whatever becomes of it.
function withdraw(sidecar: Governing, entry: string): void {
  try {
    sidecar.spool.append(entry);
  } catch (error) {
    if (!(error instanceof AuditUnavailable)) throw error;
    sidecar.unrecorded += 1;
  }
}
