// Appends entries to a live spool: `append` writes an entry at once, `appendAsync` writes it together with all other
// entries of the same turn of the event loop. When the promise of `appendAsync` resolves, the entry has the durability
// that the spool was opened with.
//
// A group collects entries (framed, in order) until the end of the turn. Then it is written in one write and, with
// durability `disk`, synced. If the previous turn was long because of many requests, the first entries of the next turn
// are written before that turn ends. One group is synced at a time, and the next group collects entries in the
// meantime. If the sync fails, the group is rejected. The entries that collected in the meantime are rejected too,
// because their sequences depended on the group. With durability `remote`, each entry waits for its acknowledgement
// after it is written. The next group does not wait for this acknowledgement and is written in the meantime.
import type { Clock } from '../../base/clock.ts';
import type { Confirmations } from './confirmations.ts';
import { AuditUnavailable } from './unavailable.ts';
import type { Writer } from './writer.ts';

/**
 * What an entry survives. `kernel`: a kill of the process. `disk`: a power loss. `remote`: the loss of this machine.
 */
export type Durability = 'kernel' | 'disk' | 'remote';

export interface Appending {
  /** On return the entry is as durable as `kernel`. Not available for durability `disk`. Throws `AuditUnavailable`. */
  readonly append: (json: string) => number;
  /** Rejects with `AuditUnavailable`. */
  readonly appendAsync: (json: string) => Promise<number>;
  /** Stops. All waiting entries are written or rejected. */
  readonly close: () => Promise<void>;
}

interface Waiting {
  readonly sequence: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * If the previous turn took at least `longMs` from its first entry on, the first entries of the next turn are written
 * separately. This is the number of such entries.
 */
const aloneMax = 2;
const longMs = 3;
/** A group must not grow beyond this size. */
const groupBytesMax = 1024 * 1024;

export interface AppendingConfig {
  readonly clock: Pick<Clock, 'now'>;
  readonly durability: Durability;
  /** Present only with durability `remote`. */
  readonly confirmations: Confirmations | undefined;
  readonly onAppended: () => void;
}

/**
 * The state that the functions below work on. They are functions and not private methods, because they are called for
 * each entry, and private methods were slower.
 */
class AppendState {
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now'>;
  readonly durability: Durability;
  readonly confirmations: Confirmations | undefined;
  readonly onAppended: () => void;
  /** Created only once, because it is often passed to `process.nextTick`. */
  readonly flush = (): void => flush(this);
  group: Waiting[] = [];
  isScheduled = false;
  inTurn = 0;
  wasLong = false;
  isSyncing = false;
  onIdle = (): void => {};

  constructor(writer: Writer, { clock, durability, confirmations, onAppended }: AppendingConfig) {
    this.writer = writer;
    this.clock = clock;
    this.durability = durability;
    this.confirmations = confirmations;
    this.onAppended = onAppended;
  }
}

export function createAppending(writer: Writer, config: AppendingConfig): Appending {
  const state = new AppendState(writer, config);
  return {
    append: (json) => append(state, json),
    appendAsync: (json) => appendAsync(state, json),
    close: () =>
      new Promise((closed) => {
        flush(state);
        state.confirmations?.close();
        if (state.isSyncing) state.onIdle = closed;
        else closed();
      }),
  };
}

function append(state: AppendState, json: string): number {
  if (state.durability === 'disk') throw new Error('with durability "disk", call "appendAsync" instead of "append"');
  const sequence = state.writer.frame(json);
  writeThrough(state);
  return sequence;
}

// The collected entries are written first, in the same write: entries stay in the order in which they were made.
function writeThrough(state: AppendState): void {
  const settled = take(state);
  try {
    state.writer.writeOut();
  } catch (error) {
    reject(settled, error);
    throw error;
  }
  state.writer.commit();
  resolve(settled);
  state.onAppended();
}

function appendAsync(state: AppendState, json: string): Promise<number> {
  const { confirmations } = state;
  if (confirmations === undefined) return appendToGroup(state, json);
  if (confirmations.isFull)
    return Promise.reject(new AuditUnavailable('busy', 'too many audit entries are waiting for the control plane to commit them'));
  return appendToGroup(state, json).then((sequence) => confirmations.wait(sequence).then(() => sequence));
}

function appendToGroup(state: AppendState, json: string): Promise<number> {
  if (state.writer.framedBytes >= groupBytesMax) {
    if (state.isSyncing)
      return Promise.reject(
        new AuditUnavailable('busy', `more than ${groupBytesMax} bytes of audit entries are waiting to be written to disk`),
      );
    flush(state);
  }
  return new Promise((resolve, reject) => {
    state.group.push({ sequence: state.writer.frame(json), resolve, reject });
    schedule(state);
  });
}

function schedule(state: AppendState): void {
  state.inTurn += 1;
  if (state.wasLong && state.inTurn <= aloneMax && state.durability !== 'disk') process.nextTick(state.flush);
  if (state.isScheduled) return;
  state.isScheduled = true;
  const began = state.clock.now();
  setImmediate(() => {
    state.wasLong = state.clock.now() - began >= longMs;
    state.isScheduled = false;
    state.inTurn = 0;
    flush(state);
  });
}

function flush(state: AppendState): void {
  if (state.isSyncing || state.group.length === 0) return;
  try {
    if (state.durability === 'disk') writeAndSync(state);
    else writeThrough(state);
  } catch {
    // The waiting callers were already rejected.
  }
}

function writeAndSync(state: AppendState): void {
  const settled = take(state);
  try {
    state.writer.writeOut();
  } catch (error) {
    reject(settled, error);
    return;
  }
  state.isSyncing = true;
  state.writer.sync((error) => {
    state.isSyncing = false;
    if (error) {
      const refusal = state.writer.rollBack(error);
      reject(settled, refusal);
      reject(take(state), refusal);
    } else {
      state.writer.commit();
      resolve(settled);
      state.onAppended();
    }
    flush(state);
    if (!state.isSyncing) state.onIdle();
  });
}

function take(state: AppendState): Waiting[] {
  const taken = state.group;
  if (taken.length > 0) state.group = [];
  return taken;
}

function resolve(settled: readonly Waiting[]): void {
  for (const { resolve, sequence } of settled) resolve(sequence);
}

function reject(settled: readonly Waiting[], error: unknown): void {
  for (const { reject } of settled) reject(error);
}
