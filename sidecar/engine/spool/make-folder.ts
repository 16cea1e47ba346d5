// Makes a folder and its missing parents. It always ends: the folder exists, or the error says why not. It is used for
// the spool folder, and by the control plane for its own folder.
//
// It does not use Node's `recursive`: a file system that accepts no folders, such as /proc, returns ENOENT from mkdir
// although the parent folder exists. Node treats the parent as missing and retries without end.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno } from './hold.ts';

const ours = 0o700;

/** `mode` also applies to parents that are made. */
export function makeFolder(path: string, mode = ours): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // The error code alone is not enough: for an existing folder, some file systems first report that they are
    // read-only.
    if (isFolder(path)) return;
    if (!isErrno(error, 'ENOENT')) throw error;
    const above = dirname(path);
    if (existsSync(above)) throw new Error(`${path} cannot be created: no folder can be created in ${above}`, { cause: error });
    makeFolder(above, mode);
    makeFolder(path, mode);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
