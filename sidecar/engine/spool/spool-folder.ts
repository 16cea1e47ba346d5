// Manages the subfolders of the spool folder, one for each process that wrote entries there: how they are created, what
// they contain, and how they are removed. A rename makes each change atomic:
//   <id>.new   is being made; no other process reads it
//   <id>       a spool, with its ownership and, from its first moment, its owner's socket
//   <id>.gone  acknowledged to the end; any process that sees it may delete it
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hold, isErrno, takeHold } from './hold.ts';
import { makeFolder } from './make-folder.ts';
import { readWorkspace, writeOwnership } from './ownership.ts';
import type { SpoolFs } from './spool-fs.ts';

/**
 * Makes the subfolder of a new spool, and takes it for this process. Makes the spool folder too, if it does not exist.
 */
export async function makeSpoolFolder(
  fs: SpoolFs,
  root: string,
  { id, workspace, randomId }: { id: string; workspace: string; randomId: () => string },
): Promise<Hold> {
  makeFolder(root);
  const making = join(root, `${id}.new`);
  const folder = join(root, id);
  refuseIfThere(making, () => mkdirSync(making, { mode: 0o700 }));
  let hold: Hold | undefined;
  try {
    writeOwnership(making, workspace);
    hold = await takeHold(making, randomId);
    if (!hold) throw new Error(`another process has locked the new spool ${making}`);
    refuseIfThere(folder, () => fs.renameSync(making, folder));
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    hold?.release();
    throw error;
  }
  return { ...hold, folder };
}

function refuseIfThere(folder: string, make: () => void): void {
  try {
    make();
  } catch (error) {
    if (!isErrno(error, 'EEXIST') && !isErrno(error, 'ENOTEMPTY')) throw error;
    throw new Error(`the spool ${folder} belongs to another process; each process needs its own spool and its own id`, { cause: error });
  }
}

export interface FoundSpool {
  readonly id: string;
  readonly folder: string;
  /**
   * Undefined: this version cannot read the spool. A getter reads the value from the disk when it is needed. Thus a
   * list of thousands of spools does not read all of them.
   */
  readonly workspace: string | undefined;
}

/** Returns every spool in the folder, dead or alive. */
export function listSpools(root: string): readonly FoundSpool[] {
  const ids = namesIn(root).filter((name) => /^[0-9a-f]{32}$/.test(name));
  return ids.map((id) => ({
    id,
    folder: join(root, id),
    get workspace() {
      return readWorkspace(join(root, id));
    },
  }));
}

export async function removeSpoolFolder(fs: SpoolFs, folder: string): Promise<void> {
  fs.renameSync(folder, `${folder}.gone`);
  await rm(`${folder}.gone`, { recursive: true, force: true });
}

/**
 * A folder that has been in the making for longer than this, in ms, was left by a dead process. No process takes so
 * long to make a spool.
 */
const makingMs = 3_600_000;

/**
 * Removes what is left of processes that died while they made or removed their spool. Returns the paths that cannot be
 * removed.
 */
export async function removeRemnants(root: string, now: number): Promise<readonly string[]> {
  const left: string[] = [];
  for (const name of namesIn(root)) {
    const [, kind] = /^[0-9a-f]{32}\.(gone|new)$/.exec(name) ?? [];
    const path = join(root, name);
    try {
      if (kind === 'gone' || (kind === 'new' && now - statSync(path).mtimeMs > makingMs)) await rm(path, { recursive: true, force: true });
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) left.push(path);
    }
  }
  return left;
}

function namesIn(root: string): readonly string[] {
  return readdirSync(root);
}
