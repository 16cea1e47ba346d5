// Makes a folder and those above it, and always returns: the folder is there, or the error says why it is not. Used for the
// folder of the spool, and by the control plane for its own.
//
// Not by `recursive` of Node: a file system that takes no folders, such as /proc, says ENOENT to mkdir although the folder above is
// there, which Node takes for one that is missing, and asks again without end.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno } from './hold.ts';

const ours = 0o700;

/** `mode`: also of those above it that are made. */
export function makeFolder(path: string, mode = ours): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Not by the code alone: of a folder that is there, some file systems say first that they are read-only.
    if (isFolder(path)) return;
    if (!isErrno(error, 'ENOENT')) throw error;
    const above = dirname(path);
    if (existsSync(above)) throw new Error(`${above} takes no new folder, so there can be no ${path}`, { cause: error });
    makeFolder(above, mode);
    makeFolder(path, mode);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
