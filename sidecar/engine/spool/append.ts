// Appends entries to a live spool: `append` at once, `appendAsync` together with all other entries of the same turn of
// the event loop. On return, or when the promise resolves, the entry has the durability that the spool was opened with.
//
// A group collects entries (framed, in order, until the end of the turn). It is then written in one write and, with
// durability `disk`, synced. If the previous turn was long because of many requests, the first entries of a turn do not
// wait for its end. One group is synced at a time, and the next one collects in the meantime. A failure rejects the
// group and the entries that collect after it, because their sequences depended on it. With `remote`, a written entry
// waits for its acknowledgement. Its group does not: the next group is written in the meantime.
import type { Clock } from '../../base/clock.ts';
import type { Confirmations } from './confirmations.ts';
import { AuditUnavailable } from './unavailable.ts';
import type { Writer } from './writer.ts';

/** What an entry survives: a kill of the process, a power loss, or the loss of this machine. */
export type Durability = 'kernel' | 'disk' | 'remote';

export interface Appending {
  /** On return the entry is as durable as `kernel`. Not available for durability `disk`. Throws `AuditUnavailable`. */
  readonly append: (json: string) => number;
  /** Rejects with `AuditUnavailable`. */
  readonly appendAsync: (json: string) => Promise<number>;
  /** Settles all waiting entries. */
  readonly close: () => Promise<void>;
}

interface Waiting {
  readonly sequence: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * This many entries of a turn are each written separately, if the previous turn took at least `longMs` from its first
 * entry on.
 */
const aloneMax = 2;
const longMs = 3;
/** A group must not grow beyond this size. */
const groupBytesMax = 1024 * 1024;

export interface AppendingConfig {
  readonly clock: Pick<Clock, 'now'>;
  readonly durability: Durability;
  /** Only for durability `remote`. */
  readonly confirmations: Confirmations | undefined;
  readonly onAppended: () => void;
}

export function createAppending(writer: Writer, { clock, durability, confirmations, onAppended }: AppendingConfig): Appending {
  let group: Waiting[] = [];
  let isScheduled = false;
  let inTurn = 0;
  let wasLong = false;
  let isSyncing = false;
  let onIdle = (): void => {};

  function append(json: string): number {
    if (durability === 'disk') throw new Error('a spool of durability "disk" is appended to with appendAsync');
    const sequence = writer.frame(json);
    writeThrough();
    return sequence;
  }

  // The collected entries are written first, in the same write: entries stay in the order in which they were made.
  function writeThrough(): void {
    const settled = take();
    try {
      writer.writeOut();
    } catch (error) {
      reject(settled, error);
      throw error;
    }
    writer.commit();
    resolve(settled);
    onAppended();
  }

  function appendAsync(json: string): Promise<number> {
    if (confirmations === undefined) return appendToGroup(json);
    if (confirmations.isFull) return Promise.reject(new AuditUnavailable('busy', 'too many entries wait for the control plane'));
    return appendToGroup(json).then((sequence) => confirmations.wait(sequence).then(() => sequence));
  }

  function appendToGroup(json: string): Promise<number> {
    if (writer.framedBytes >= groupBytesMax) {
      if (isSyncing) return Promise.reject(new AuditUnavailable('busy', `more than ${groupBytesMax} bytes wait for the disk`));
      flush();
    }
    return new Promise((resolve, reject) => {
      group.push({ sequence: writer.frame(json), resolve, reject });
      schedule();
    });
  }

  function schedule(): void {
    inTurn += 1;
    if (wasLong && inTurn <= aloneMax && durability !== 'disk') process.nextTick(flush);
    if (isScheduled) return;
    isScheduled = true;
    const began = clock.now();
    setImmediate(() => {
      wasLong = clock.now() - began >= longMs;
      isScheduled = false;
      inTurn = 0;
      flush();
    });
  }

  function flush(): void {
    if (isSyncing || group.length === 0) return;
    try {
      if (durability === 'disk') writeAndSync();
      else writeThrough();
    } catch {
      // The waiting callers were already rejected.
    }
  }

  function writeAndSync(): void {
    const settled = take();
    try {
      writer.writeOut();
    } catch (error) {
      reject(settled, error);
      return;
    }
    isSyncing = true;
    writer.sync((error) => {
      isSyncing = false;
      if (error) {
        const refusal = writer.rollBack(error);
        reject(settled, refusal);
        reject(take(), refusal);
      } else {
        writer.commit();
        resolve(settled);
        onAppended();
      }
      flush();
      if (!isSyncing) onIdle();
    });
  }

  function take(): Waiting[] {
    const taken = group;
    if (taken.length > 0) group = [];
    return taken;
  }

  return {
    append,
    appendAsync,
    close: () =>
      new Promise((closed) => {
        flush();
        confirmations?.close();
        if (isSyncing) onIdle = closed;
        else closed();
      }),
  };
}

function resolve(settled: readonly Waiting[]): void {
  for (const { resolve, sequence } of settled) resolve(sequence);
}

function reject(settled: readonly Waiting[], error: unknown): void {
  for (const { reject } of settled) reject(error);
}
