// Invalidates what a refused write may have left at the end of a segment, in one of two ways, in the file itself, so
// that a later process does not read it as entries. Each function returns whether it succeeded. The writer uses it.
import { voidMark } from './record.ts';
import type { Segment } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';

/** A segment that is open for writing. */
export interface Place {
  readonly fd: number;
  readonly segment: Segment;
}

/** `isSynced`: the result must survive a power loss too. */
export function cutBack(fs: SpoolFs, { fd, segment }: Place, isSynced: boolean): boolean {
  try {
    fs.ftruncateSync(fd, segment.bytes);
    if (isSynced) fs.fsyncSync(fd);
    return true;
  } catch {
    return false;
  }
}

/**
 * Overwrites in place: it needs no additional space, and it changes only bytes that the file has. `sequence` is the
 * first refused one.
 */
export function strikeOut(fs: SpoolFs, { fd, segment }: Place, { sequence, isSynced }: { sequence: number; isSynced: boolean }): boolean {
  const mark = voidMark(sequence);
  try {
    const taken = fs.writeSync(fd, mark, 0, mark.length, segment.bytes);
    if (isSynced) fs.fsyncSync(fd);
    return taken === mark.length;
  } catch {
    return false;
  }
}
