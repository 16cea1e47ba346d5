// What one spool still has to ship, and how far that is acknowledged: a live process's spool or one that a dead
// process left. The shipper knows spools only by this.
//
// The backlog is either caught up (everything committed has been read or acknowledged) or behind. It tells its listener when it
// falls behind, not at every append; a reader that is behind finds later records by itself.
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { createAcknowledgedMark } from './acknowledged-mark.ts';
import { createAges } from './ages.ts';
import type { Hold } from './hold.ts';
import { createLosses } from './losses.ts';
import { type BatchLimits, createReader } from './reader.ts';
import type { Ownership } from './ownership.ts';
import { lastIn, type SpoolRecord } from './record.ts';
import type { Segments } from './segments.ts';
import { removeSpoolFolder } from './spool-folder.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Backlog {
  readonly id: string;
  /** Whose it is: without the secret the control plane takes nothing of it. */
  readonly owned: Pick<Ownership, 'secret' | 'workspaceId'>;
  /** The last sequence there is to ship. */
  readonly last: number;
  readonly acknowledged: number;
  /** The last sequence that this process ever sent; 0 if it has sent none. */
  readonly sent: number;
  readonly status: () => BacklogStatus;
  /** Not to be called again before it has answered. */
  readonly readBatch: (after: number, limits: BatchLimits) => Promise<readonly SpoolRecord[]>;
  readonly noteSent: (sequence: number) => void;
  readonly acknowledge: (sequence: number) => void;
  /** There is one listener. */
  readonly onBehind: (listener: () => void) => void;
  /** Gives the spool up: to nobody if everything is acknowledged, else to the next process. */
  readonly close: () => Promise<void>;
}

export interface BacklogStatus {
  /** Not acknowledged yet. */
  readonly records: number;
  /** On disk, acknowledged ones among them. */
  readonly bytes: number;
  readonly oldestAt: number | undefined;
  /** Records that could not be read back. */
  readonly lost: number;
}

export interface BacklogDeps {
  readonly fs: SpoolFs;
  readonly clock: Clock;
  readonly log: Log;
}

export interface BacklogConfig {
  readonly id: string;
  readonly hold: Hold;
  readonly owned: Ownership;
  readonly segments: Segments;
  /** When the oldest of the records that are there already was appended, or before. */
  readonly since?: number;
  /** Acknowledged that far now. */
  readonly onAcknowledged?: (sequence: number) => void;
  /** Stops what still appends to it; nothing does where its process is dead. */
  readonly stopWriting?: () => Promise<void>;
}

/** A backlog, and what its own writer says to it: that something was committed. */
export function createBacklog(
  { fs, clock, log }: BacklogDeps,
  { id, hold, owned, segments, since, onAcknowledged, stopWriting }: BacklogConfig,
): Backlog & { readonly noteAppended: () => void } {
  const mark = createAcknowledgedMark({ fs, clock }, hold.folder);
  const losses = createLosses({ fs, log }, { id, folder: hold.folder });
  const reader = createReader({ fs, onLost: losses.note }, segments);
  segments.onRemoved((segment) => reader.release(segment));
  const ages = createAges();
  if (since !== undefined) ages.mark(segments.acknowledged + 1, since);
  let isCaughtUp = segments.acknowledged >= segments.last;
  let listener = (): void => {};
  let sent = 0;
  let reading: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  function noteAppended(): void {
    if (!isCaughtUp) return;
    isCaughtUp = false;
    ages.mark(segments.last, clock.wall());
    listener();
  }

  function acknowledge(sequence: number): void {
    const known = Math.min(sequence, segments.last);
    if (known <= segments.acknowledged) return;
    segments.acknowledge(known);
    mark.note(known);
    ages.acknowledge(known);
    onAcknowledged?.(known);
    isCaughtUp ||= known >= segments.last;
  }

  async function readBatch(after: number, limits: BatchLimits): Promise<readonly SpoolRecord[]> {
    const batchRead = reader.readBatch(after, limits);
    reading = batchRead.catch(() => {});
    const batch = await batchRead;
    // What was acknowledged meanwhile is not read any more.
    isCaughtUp = Math.max(lastIn(batch) ?? after, segments.acknowledged) >= segments.last;
    return batch;
  }

  async function giveUp(): Promise<void> {
    await stopWriting?.();
    await reading;
    await Promise.all([losses.close(), segments.close()]);
    reader.close();
    mark.close();
    try {
      if (segments.acknowledged >= segments.last) await removeSpoolFolder(fs, hold.folder);
    } finally {
      hold.release();
    }
  }

  return {
    id,
    owned,
    get last() {
      return segments.last;
    },
    get acknowledged() {
      return segments.acknowledged;
    },
    get sent() {
      return sent;
    },
    noteSent(sequence) {
      sent = Math.max(sent, sequence);
    },
    status: () => ({
      records: segments.last - segments.acknowledged,
      bytes: segments.bytes,
      oldestAt: segments.last > segments.acknowledged ? ages.oldestAt() : undefined,
      lost: losses.count,
    }),
    readBatch,
    acknowledge,
    onBehind(behind) {
      listener = behind;
    },
    close: () => (closing ??= giveUp()),
    noteAppended,
  };
}
