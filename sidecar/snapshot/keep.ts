// Keeps the last good snapshot on disk for the next start. Writing comes after deciding: a slow disk delays nothing,
// and of snapshots that arrive meanwhile only the newest is written.
import { rm } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PolicyCell } from './cell.ts';
import { readSnapshotFile, touchSnapshotFile, writeSnapshotFile } from './disk.ts';
import type { SnapshotMessage } from './verify.ts';

interface Deps {
  readonly cell: PolicyCell;
  readonly clock: Pick<Clock, 'now' | 'wall'>;
  readonly log: Pick<Log, 'warn'>;
}

export interface Keeper {
  save(message: SnapshotMessage): void;
  /** The control plane refuses this sidecar's key: the next start must not decide by what this one was given. */
  drop(): void;
  /** Waits for the write under way. */
  close(): Promise<void>;
}

// How much older than it is a policy may be taken for after a start from disk.
const touchMs = 5_000;

/** Offers the file's snapshot to the cell, if there is one, and keeps the file up to date from then on. */
export async function keepOnDisk({ cell, clock, log }: Deps, path: string): Promise<Keeper> {
  let pending: SnapshotMessage | null = null;
  let writing: Promise<void> = Promise.resolve();
  let busy = false;

  const restore = async (): Promise<void> => {
    const stored = await readSnapshotFile(path);
    if (stored === null) return;
    const age = Math.max(0, clock.wall() - stored.heardAt);
    const offered = cell.restore(stored.message, clock.now() - age);
    if (!offered.ok) log.warn({ path, code: offered.code, problem: offered.message }, 'the snapshot on disk is not used');
  };
  const drain = async (): Promise<void> => {
    busy = true;
    for (let message = pending; message !== null; message = pending) {
      pending = null;
      await writeSnapshotFile(path, message).catch((error: unknown) =>
        log.warn({ path, err: error }, 'the snapshot could not be kept on disk'),
      );
    }
    busy = false;
  };
  const touch = setInterval(() => {
    if (!cell.freshness.connected || busy) return;
    const heardAt = clock.wall() - (clock.now() - cell.freshness.heardAt);
    void touchSnapshotFile(path, heardAt).catch((error: unknown) =>
      log.warn({ path, err: error }, 'the age of the snapshot on disk could not be noted'),
    );
  }, touchMs);
  touch.unref();

  await restore().catch((error: unknown) => log.warn({ path, err: error }, 'the snapshot on disk is not used'));
  return {
    save: (message) => {
      pending = message;
      if (!busy) writing = drain();
    },
    drop: () => {
      pending = null;
      writing = writing
        .then(() => rm(path, { force: true }))
        .catch((error: unknown) => log.warn({ path, err: error }, 'the snapshot could not be removed from disk'));
    },
    close: async () => {
      clearInterval(touch);
      await writing;
    },
  };
}
