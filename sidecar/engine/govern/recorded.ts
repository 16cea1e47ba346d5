// Writes the entry after the decision and before the answer. If the entry cannot be written, the workspace's setting
// determines the answer: a denial by default, or the result. The missing entry is counted.
//
// With durability `remote` there is another case: the entry is on disk, but it is not known in time whether the control
// plane has it. The answer is determined in the same way, but the entry will be in the log. Therefore two things
// differ. The case is counted separately, because nothing is lost. And if the entry says that a call or an output may
// pass, but the caller received another answer, a second entry with the same request id says that it was blocked. An
// answer that must be given before the entry is recorded is handled in the same way. The second entry is also written
// after an unexpected error, because the first one may exist.
//
// In all these cases, a permitted call that is answered with a denial gives back what it has counted: a denied call has
// no valid `allow` entry and is not counted.
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { AuditUnavailable } from '../spool/unavailable.ts';
import type { JudgedCall, JudgedResult, NotMade } from './govern.ts';
import type { Governing } from './governing.ts';
import type { Denial, Verdict } from './verdict.ts';

/**
 * The denial for an entry that was not written, or not confirmed in time. Used where these two cases are not
 * distinguished.
 */
export const unrecordable = refuse('audit_unavailable', 'the audit entry could not be recorded');
const unwritable = refuse('audit_unavailable', 'the audit entry could not be written to the spool');
const uncommitted = refuse('audit_unavailable', 'the control plane has not committed the audit entry in time');

/**
 * Writes the entry for a caller in this process. Returns the result at once if the durability is `kernel` and `judged`
 * is not a promise. Otherwise returns a promise.
 */
export function recorded<T>(sidecar: Governing, judged: JudgedResult<T> | Promise<JudgedResult<T>>): T | Promise<T> {
  if (judged instanceof Promise) return recordedLater(sidecar, judged);
  if (sidecar.durability !== 'kernel') return recordedInTurn(sidecar, judged);
  try {
    sidecar.spool.append(judged.entry);
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

const recordedLater = async <T>(sidecar: Governing, judging: Promise<JudgedResult<T>>): Promise<T> => recorded(sidecar, await judging);

/**
 * Writes the entry together with all entries of this turn of the event loop. This is for requests that arrive at the
 * same time. `until`: a time of `GovernDeps.clock.now`. The caller is answered by then, even if it is unknown whether
 * there is an entry. Absent: waits until the entry is recorded.
 */
export async function recordedInTurn<T>(
  sidecar: Governing,
  judging: JudgedResult<T> | Promise<JudgedResult<T>>,
  until?: number,
): Promise<T> {
  const judged = judging instanceof Promise ? await judging : judging;
  try {
    const appending = sidecar.spool.appendAsync(judged.entry);
    await (until === undefined ? appending : within(until - sidecar.govern.clock.now(), appending));
    return judged.result;
  } catch (error) {
    return unrecorded(sidecar, judged, error);
  }
}

/**
 * Writes the entry in the same way as `recordedInTurn`. Use this for a caller that may disconnect and then makes no
 * call. A disconnect counts if it is known shortly after the entry is recorded (`twoTurnsLater`). After a disconnect,
 * the call gives back what it has counted, a second entry with the same request id says so, and the answer is a denial
 * that the caller does not read.
 */
export async function recordedForCaller(
  sidecar: Governing,
  judging: JudgedCall | Promise<JudgedCall>,
  gone: DisconnectSignal,
): Promise<Verdict> {
  const judged = judging instanceof Promise ? await judging : judging;
  const verdict = await recordedInTurn(sidecar, judged);
  if (!verdict.allowed || judged.notMade === undefined) return verdict;
  // A busy process may decide a call before it has read all data that has arrived. It reads the caller's disconnect one
  // turn after the request. Therefore the code waits for two turns before it checks for a disconnect.
  await new Promise<void>(twoTurnsLater);
  return gone.aborted ? takenBack(sidecar, judged.notMade(goneAfter)) : verdict;
}

/** Calls `next` after two turns of the event loop. */
const twoTurnsLater = (next: () => void): void => void setImmediate(setImmediate, next);

const goneAfter = refuse('caller_gone', 'the caller disconnected before it received the answer, so the call was not made');

/** Records that a permitted call is not made. */
export async function takenBack(sidecar: Governing, { denial, entry }: NotMade): Promise<Denial> {
  await sidecar.owed.write(sidecar, entry);
  return denial;
}

/** Waits at most `ms` for an append, then throws. The append continues, and its result is ignored. */
async function within<T>(ms: number, appending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AuditUnavailable('unconfirmed', 'the audit entry was not recorded in time')), Math.max(0, ms));
  });
  try {
    return await Promise.race([appending, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function unrecorded<T>(sidecar: Governing, judged: JudgedResult<T>, error: unknown): T {
  if (!(error instanceof AuditUnavailable)) {
    takeBack(sidecar, judged, unwritable);
    throw error;
  }
  const isThere = error.why === 'unconfirmed';
  if (isThere) sidecar.unconfirmed += 1;
  else sidecar.unrecorded += 1;
  const why = isThere ? uncommitted : unwritable;
  const answer = judged.unrecorded(why);
  if (answer === judged.result) return answer;
  if (isThere) takeBack(sidecar, judged, why);
  else judged.giveBack?.();
  return answer;
}

/**
 * Gives back what the call has counted, and withdraws its entry, which exists or may exist. The second entry is not
 * awaited: the caller is denied in either case.
 */
function takeBack<T>(sidecar: Governing, judged: JudgedResult<T>, why: Decision): void {
  judged.giveBack?.();
  const entry = judged.withdrawn?.(why);
  if (entry !== undefined) void sidecar.owed.write(sidecar, entry);
}
