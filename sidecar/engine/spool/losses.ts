// Counts the records of one spool that could not be read back, each once. It copies the damaged segments into the
// folder that contains the spool's subfolder, so that they outlive the subfolder.
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Log } from '../../base/log.ts';
import type { Segment } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Losses {
  readonly count: number;
  /** May be called again for the same sequence, when the spool is read again. */
  readonly note: (segment: Segment, sequence: number) => void;
  /** Resolves when all copies are complete. */
  close(): Promise<void>;
}

/** The maximum number of damaged segments in the spool folder, for all spools together. */
const keptMax = 16;

export function createLosses({ fs, log }: { fs: SpoolFs; log: Log }, { id, folder }: { id: string; folder: string }): Losses {
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
      (error: unknown) => log.warn({ path, error: String(error) }, 'a damaged segment could not be kept'),
    );
  }

  async function keep(path: string, keptAs: string): Promise<void> {
    log.warn({ path, keptAs }, 'a segment is damaged');
    const kept = (await readdir(dirname(keptAs))).filter((name) => name.endsWith('.bad'));
    if (kept.length >= keptMax) throw new Error(`${keptMax} damaged segments are kept already`);
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
