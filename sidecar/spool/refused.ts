// What a refused write may have left at the end of a segment, and the two ways to make it void in the file itself, so
// that a later process does not take it for entries. Each answers whether it worked. Used by the writer.
import { voidMark } from './record.ts';
import type { Segment } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';

/** A segment that is written to. */
export interface Place {
  readonly fd: number;
  readonly segment: Segment;
}

/** `isSynced`: it must hold after a power loss too. */
export function cutBack(fs: SpoolFs, { fd, segment }: Place, isSynced: boolean): boolean {
  try {
    fs.ftruncateSync(fd, segment.bytes);
    if (isSynced) fs.fsyncSync(fd);
    return true;
  } catch {
    return false;
  }
}

/** In place: it takes no room, and nothing of the file but bytes that it has. `sequence` is the first refused. */
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
