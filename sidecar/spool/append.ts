// How entries get into a live spool: `append` at once, `appendAsync` together with everything else of the same turn
// of the event loop. On return, or when the promise resolves, the entry is as durable as the spool was opened for.
//
// A group collects (framed, in order, waiting for the end of the turn), is written in one write and, with durability
// `disk`, synced. Where the turn before was long, because many others ask, the first entries of a turn do not wait for its end. One group is
// synced at a time; meanwhile the next one collects. A failure refuses the group, and those that collect behind it, since their sequences
// counted on it. With `remote` a written entry waits for its acknowledgement: not the group, whose next one is written meanwhile.
import type { Clock } from '../clock.ts';
import type { Confirmations } from './confirmations.ts';
import { AuditUnavailable } from './unavailable.ts';
import type { Writer } from './writer.ts';

/** What an entry survives: a kill of the process, a power loss, or the loss of this machine. */
export type Durability = 'kernel' | 'disk' | 'remote';

export interface Appending {
  /** As durable as `kernel` on return; not for durability `disk`. Throws `AuditUnavailable`. */
  readonly append: (json: string) => number;
  /** Rejects with `AuditUnavailable`. */
  readonly appendAsync: (json: string) => Promise<number>;
  /** Settles what waits. */
  readonly close: () => Promise<void>;
}

interface Waiting {
  readonly sequence: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

/** So many entries of a turn are written by themselves, where the turn before took `longMs` from its first entry on. */
const aloneMax = 2;
const longMs = 3;
/** A group is not let grow beyond this. */
const groupBytesMax = 1024 * 1024;

export interface AppendingConfig {
  readonly clock: Pick<Clock, 'now'>;
  readonly durability: Durability;
  /** Of durability `remote`. */
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

  // What collects goes out with it, first: entries stay in the order in which they were made.
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
    if (confirmations.isFull) return Promise.reject(new AuditUnavailable('busy', 'too many wait for the control plane'));
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
      // Those who waited were told.
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
