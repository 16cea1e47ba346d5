// Counts the records of one spool that could not be read back, each once, and sets the damaged segments aside beside
// the spool's subfolder, where they outlive it.
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Log } from './log.ts';
import type { Segment } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Losses {
  readonly count: number;
  /** May be told again of the same sequence, when the spool is read again. */
  readonly note: (segment: Segment, sequence: number) => void;
}

/** Damaged segments that the spool folder keeps, of all spools. */
const keptMax = 16;

export function createLosses({ fs, log }: { fs: SpoolFs; log: Log }, { id, folder }: { id: string; folder: string }): Losses {
  const setAside = new Set<string>();
  let lostThrough = 0;
  let count = 0;

  function copyAside(segment: Segment): void {
    setAside.add(segment.path);
    const name = `${id}.${basename(segment.path)}.bad`;
    const root = dirname(folder);
    if (readdirSync(root).filter((other) => other.endsWith('.bad')).length >= keptMax) return;
    fs.copyFile(segment.path, join(root, name), (error) => {
      log('audit.segment_damaged', error ? { segment: segment.path, notKept: error.message } : { segment: segment.path, keptAs: name });
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
      if (!setAside.has(segment.path)) copyAside(segment);
    },
  };
}
