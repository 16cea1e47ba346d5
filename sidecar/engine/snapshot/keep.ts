// Keeps the held policy on disk for the next start, always as a whole. A policy is used for decisions before it is
// written, so a slow disk delays nothing. Of the policies that arrive during a write, or within a second of the last
// write, only the newest is written.
//
// States: idle, writing, resting (for the rest of a second since a write began). In all of them `pending` is set if the
// cell holds something newer than the file.
import { rm } from 'node:fs/promises';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { PolicyCell } from './cell.ts';
import { readSnapshotFile, touchSnapshotFile, writeSnapshotFile } from './disk.ts';
import type { SnapshotMessage } from './verify.ts';

interface SnapshotStorage {
  readonly cell: PolicyCell;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Returns whether the snapshot on disk was given to this sidecar's key. */
  readonly isOurs: (message: SnapshotMessage) => boolean;
}

export interface Keeper {
  /** Starts to store what the cell holds now. */
  save(): void;
  /**
   * Removes the file. Call this when the control plane refuses this sidecar's key: the next start must not decide by
   * the policy that this key received.
   */
  drop(): void;
  /** Writes what is not written yet, and waits for it. */
  close(): Promise<void>;
}

// The interval at which the file's modification time is updated. After a start from disk, the policy may be treated as
// older than it is. The difference is at most this time.
const touchMs = 1_000;
/** The minimum time from one write to the next: a stream of deltas causes little disk work. */
const writeEveryMs = 1_000;

/** Offers the file's snapshot to the cell, if there is one, and keeps the file up to date from then on. */
export async function keepOnDisk({ cell, clock, log, isOurs }: SnapshotStorage, path: string): Promise<Keeper> {
  let pending = false;
  let writing: Promise<void> | null = null;
  let resting: Timer | null = null;

  const restore = async (): Promise<void> => {
    const stored = await readSnapshotFile(path);
    if (stored === null) return;
    if (!isOurs(stored.message))
      return log.warn({ path }, 'the snapshot on disk is not used, because it does not contain the key of this sidecar');
    const age = Math.max(0, clock.wallTime() - stored.heardAt);
    const offered = cell.restore(stored.message, clock.now() - age);
    if (!offered.ok) log.warn({ path, code: offered.code, problem: offered.message }, 'the snapshot on disk is not used');
  };
  const write = async (): Promise<void> => {
    pending = false;
    const message = cell.whole();
    if (message === null) return;
    await writeSnapshotFile(path, message).catch((error: unknown) =>
      log.warn({ path, err: error }, 'the snapshot could not be stored on disk'),
    );
  };
  const begin = (): void => {
    if (!pending || writing !== null || resting !== null) return;
    resting = clock.after(writeEveryMs, () => {
      resting = null;
      begin();
    });
    resting.unref();
    writing = write().finally(() => {
      writing = null;
      begin();
    });
  };
  const touch = setInterval(() => {
    if (!cell.freshness.connected || writing !== null) return;
    const heardAt = clock.wallTime() - (clock.now() - cell.freshness.heardAt);
    void touchSnapshotFile(path, heardAt).catch((error: unknown) =>
      log.warn({ path, err: error }, 'the modification time of the snapshot file could not be updated'),
    );
  }, touchMs);
  touch.unref();

  await restore().catch((error: unknown) => log.warn({ path, err: error }, 'the snapshot on disk is not used'));
  return {
    save: () => {
      pending = true;
      begin();
    },
    drop: () => {
      pending = false;
      const dropping = (writing ?? Promise.resolve())
        .then(() => rm(path, { force: true }))
        .catch((error: unknown) => log.warn({ path, err: error }, 'the snapshot could not be removed from disk'))
        .finally(() => {
          if (writing === dropping) writing = null;
          begin();
        });
      writing = dropping;
    },
    close: async () => {
      clearInterval(touch);
      resting?.cancel();
      while (writing !== null) await writing;
      if (pending) await write();
    },
  };
}
