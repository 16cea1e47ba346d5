// Tracks which records of one spool still have to be shipped, and which are acknowledged. The spool belongs to a live
// process, or a dead process left it. The shipper accesses spools only through this interface.
//
// The backlog is either caught up (everything committed has been read or acknowledged) or behind. It notifies its
// listener when it falls behind, and not at every append. While the backlog is behind, its reader finds later records
// without a notification.
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { createAcknowledgedMark } from './acknowledged-mark.ts';
import { type Ages, createAges } from './ages.ts';
import type { Hold } from './hold.ts';
import { type BatchLimits, createReader } from './reader.ts';
import type { Ownership } from './ownership.ts';
import { hasGrants } from './left-grants.ts';
import { lastIn, type SpoolRecord } from './record.ts';
import type { Segment, Segments } from './segments.ts';
import { removeSpoolFolder } from './spool-folder.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Backlog {
  readonly id: string;
  /** The secret and the workspace of the spool. Without the secret the control plane accepts nothing of it. */
  readonly owned: Pick<Ownership, 'secret' | 'workspaceId'>;
  /** Resolves when the ledger knows what the dead process of this spool has used. Null: there is nothing to tell it. */
  readonly settled: Promise<void> | null;
  /** The last sequence that can be shipped. */
  readonly last: number;
  readonly acknowledged: number;
  /** The last sequence that this process has sent. 0: it has sent none. */
  readonly sent: number;
  readonly status: () => BacklogStatus;
  /** Must not be called again before its promise has settled. */
  readonly readBatch: (after: number, limits: BatchLimits) => Promise<readonly SpoolRecord[]>;
  readonly noteSent: (sequence: number) => void;
  readonly acknowledge: (sequence: number) => void;
  /** Sets the listener. There is only one. */
  readonly onBehind: (listener: () => void) => void;
  /**
   * Releases the spool. The spool is deleted if everything is acknowledged and settled, otherwise it is left for the
   * next process.
   */
  readonly close: () => Promise<void>;
}

export interface BacklogStatus {
  /** The number of records that are not acknowledged yet. */
  readonly records: number;
  /** The number of bytes on disk, including acknowledged records. */
  readonly bytes: number;
  readonly oldestAt: number | undefined;
  /** The number of records that could not be read back. */
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
  /** As `Backlog.settled`. Absent: null. */
  readonly settled?: Promise<void> | null;
  /** When the oldest of the existing records was appended, or an earlier time. */
  readonly since?: number;
  /** Called with the sequence up to which records are now acknowledged. */
  readonly onAcknowledged?: (sequence: number) => void;
  /** Stops appending to the spool. Absent for the spool of a dead process, to which nothing is appended. */
  readonly stopWriting?: () => Promise<void>;
}

/** Creates a backlog. The writer of the same spool calls `noteAppended` after each commit. */
export function createBacklog(
  { fs, clock, log }: BacklogDeps,
  { id, hold, owned, segments, settled = null, since, onAcknowledged, stopWriting }: BacklogConfig,
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
    ages.mark(segments.last, clock.wallTime());
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
    // Records that were acknowledged in the meantime are not read any more.
    isCaughtUp = Math.max(lastIn(batch) ?? after, segments.acknowledged) >= segments.last;
    return batch;
  }

  async function giveUp(): Promise<void> {
    await stopWriting?.();
    await reading;
    await Promise.all([losses.close(), segments.close()]);
    reader.close();
    mark.close();
    await releaseFolder(fs, hold, segments);
  }

  return {
    id,
    owned,
    settled,
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
    status: () => statusOf(segments, ages, losses.count),
    readBatch,
    acknowledge,
    onBehind(behind) {
      listener = behind;
    },
    close: () => (closing ??= giveUp()),
    noteAppended,
  };
}

function statusOf(segments: Segments, ages: Ages, lost: number): BacklogStatus {
  const records = segments.last - segments.acknowledged;
  return { records, bytes: segments.bytes, oldestAt: records > 0 ? ages.oldestAt() : undefined, lost };
}

/** Deletes the folder if everything in it is acknowledged and settled, and releases it in any case. */
async function releaseFolder(fs: SpoolFs, hold: Hold, segments: Segments): Promise<void> {
  try {
    if (segments.acknowledged >= segments.last && !hasGrants(hold.folder)) await removeSpoolFolder(fs, hold.folder);
  } finally {
    hold.release();
  }
}

// Counts the records of one spool that could not be read back, each once. It copies the damaged segments into the
// folder that contains the spool's subfolder, so that they outlive the subfolder.

interface Losses {
  readonly count: number;
  /** Notes a lost record. May be called again for the same sequence, when the spool is read again. */
  readonly note: (segment: Segment, sequence: number) => void;
  /** Resolves when all copies are complete. */
  close(): Promise<void>;
}

/** The maximum number of damaged segments in the spool folder, for all spools together. */
const keptMax = 16;

function createLosses({ fs, log }: { fs: SpoolFs; log: Log }, { id, folder }: { id: string; folder: string }): Losses {
  const copied = new Set<string>();
  let lostThrough = 0;
  let count = 0;
  let copying = Promise.resolve();

  function copyDamaged({ path }: Segment): void {
    copied.add(path);
    const keptAs = join(dirname(folder), `${id}.${basename(path)}.bad`);
    const previous = copying;
    copying = keep(path, keptAs).then(
      () => previous,
      (error: unknown) => log.warn({ path, error: String(error) }, 'a damaged segment of a spool could not be copied'),
    );
  }

  async function keep(path: string, keptAs: string): Promise<void> {
    log.warn({ path, keptAs }, 'a segment of a spool is damaged');
    const kept = (await readdir(dirname(keptAs))).filter((name) => name.endsWith('.bad'));
    if (kept.length >= keptMax) throw new Error(`there are already ${keptMax} copies of damaged segments, which is the maximum`);
    await new Promise<void>((resolve, reject) => {
      fs.copyFile(path, keptAs, (error) => (error ? reject(error) : resolve()));
    });
  }

  return {
    get count() {
      return count;
    },
    note(segment, sequence) {
      if (sequence <= lostThrough) return;
      lostThrough = sequence;
      count += 1;
      if (!copied.has(segment.path)) copyDamaged(segment);
    },
    close: () => copying,
  };
}
