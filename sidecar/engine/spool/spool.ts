// Opens the audit spool of this process. Entries are written here before a caller receives its decision, and stay until
// the control plane has committed them. Each sidecar opens a spool at its start. `govern` appends entries, and the
// shipper reads them.
//
// Each process has its own subfolder: segment files that only it writes, and a socket which shows that it lives.
// Sequences count from 1 without gaps. After `close`, or a kill, unacknowledged entries wait for a later process.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type Appending, createAppending, type Durability } from './append.ts';
import { type Backlog, type BacklogDeps, createBacklog } from './backlog.ts';
import { createConfirmations } from './confirmations.ts';
import { GrantFile } from './grant-file.ts';
import { readBootId } from './left-grants.ts';
import { type Ownership, readOwnership } from './ownership.ts';
import { createSegments } from './segments.ts';
import type { Hold } from './hold.ts';
import { makeSpoolFolder } from './spool-folder.ts';
import { diskFs, type SpoolFs } from './spool-fs.ts';
import { createWriter } from './writer.ts';

export interface SpoolDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly fs?: SpoolFs;
  /** Returns 32 hex digits. */
  readonly randomId?: () => string;
}

export interface SpoolConfig {
  /** The spool folder, shared by any number of processes. It must be on a disk of this machine. */
  readonly folder: string;
  /** The slug of the workspace. Only a process of the same workspace ships what this process leaves. */
  readonly workspace: string;
  readonly durability: Durability;
  readonly segmentBytes?: number;
  /** The maximum number of bytes on disk, including what dead processes left. */
  readonly bytesMax: number;
  /** Returns the number of bytes that dead processes left and that still exist. Absent: there are none. */
  readonly othersBytes?: () => number;
  /** With durability `remote`: the maximum time that a caller waits for the control plane. */
  readonly confirmMs?: number;
}

export interface Spool extends Pick<Appending, 'append' | 'appendAsync'> {
  /** The shipper reads this. */
  readonly backlog: Backlog;
  /**
   * Sets the workspace of this spool by its random id, if it was not known yet. If that cannot be written, the next
   * call tries again.
   */
  readonly belongTo: (workspaceId: string) => void;
  /** Counts on disk the calls of sessions. */
  readonly grants: Pick<GrantFile, 'follow' | 'want'>;
  /** Why the last write failed. Undefined while writing works. */
  readonly failure: string | undefined;
  /** Closes the spool and its backlog. The `close` of the backlog does the same. */
  readonly close: () => Promise<void>;
}

const segmentBytesDefault = 8 * 1024 * 1024;
const confirmMsDefault = 5_000;
/** The minimum number of segments, even for a small spool, because space is freed segment by segment. */
const segmentsMin = 4;

export const randomSpoolId = (): string => randomBytes(16).toString('hex');

/** Opens a new spool. Rejects if its folder cannot be made or taken. */
export async function openSpool(deps: SpoolDeps, config: SpoolConfig): Promise<Spool> {
  const { fs = diskFs, randomId = randomSpoolId, clock, log } = deps;
  const { folder, workspace, durability, bytesMax, segmentBytes = segmentBytesDefault, confirmMs = confirmMsDefault } = config;
  const { othersBytes = () => 0 } = config;
  const id = randomId();
  const hold = await makeSpoolFolder(fs, folder, { id, workspace, randomId });
  const survivesPowerLoss = durability === 'disk';
  const prepare = (): Ownership => {
    if (survivesPowerLoss) syncFolder(folder);
    return readOwnership(hold.folder);
  };
  const owned = orRelease(hold, prepare);

  const backlogDeps: BacklogDeps = { fs, clock, log };
  const segments = createSegments(backlogDeps, { folder: hold.folder, list: [], last: 0, acknowledged: 0 });
  const confirmations = durability === 'remote' ? createConfirmations({ clock, log }, { waitMs: confirmMs, acknowledged: 0 }) : undefined;
  const onAcknowledged = (sequence: number): void => confirmations?.acknowledge(sequence);
  const backlog = createBacklog(backlogDeps, { id, hold, owned, segments, onAcknowledged, stopWriting });
  const grants = new GrantFile(fs, {
    folder: hold.folder,
    bootId: readBootId(),
    ...(survivesPowerLoss && { syncFolder: () => syncFolder(hold.folder) }),
  });
  const writer = createWriter(fs, {
    segments,
    grants,
    segmentBytes: Math.min(segmentBytes, Math.ceil(bytesMax / segmentsMin)),
    bytesMax,
    othersBytes,
    ...(survivesPowerLoss && { powerLoss: { syncFolder: () => syncFolder(hold.folder) } }),
  });
  const appending = createAppending(writer, { clock, durability, confirmations, onAppended: backlog.noteAppended });

  return {
    backlog,
    belongTo,
    grants,
    append: appending.append,
    appendAsync: appending.appendAsync,
    get failure() {
      return writer.failure;
    },
    close: backlog.close,
  };

  function belongTo(workspaceId: string): void {
    try {
      owned.belongTo(workspaceId);
    } catch (error) {
      log.warn({ folder: hold.folder, error: String(error) }, 'the workspace of the spool could not be recorded');
    }
  }

  async function stopWriting(): Promise<void> {
    await appending.close();
    writer.close();
    grants.close();
  }

  function syncFolder(path: string): void {
    const fd = fs.openSync(path, 'r');
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  }
}

function orRelease<T>(hold: Hold, prepare: () => T): T {
  try {
    return prepare();
  } catch (error) {
    hold.release();
    throw error;
  }
}
