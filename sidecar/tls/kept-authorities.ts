// The authorities that the control plane named last, kept on disk: after it has changed its authority, a sidecar that was
// told one by hand long ago still knows the new one. The file's name says which ones it descends from, so whoever is told
// others starts anew. No key is ever in it; mode 600, replaced whole.
import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { replaceFile } from '../replace-file.ts';
import { certificatesIn } from './options.ts';

export interface KeptAuthorities {
  /** As PEM; null where none are kept, or what is there cannot be believed. */
  read(): Promise<string | null>;
  /** False: they could not be kept, which was said. */
  write(authorities: string): Promise<boolean>;
}

export function keepAuthorities(folder: string, ca: string, log: Pick<Log, 'warn'>): KeptAuthorities {
  const path = join(folder, `authorities-${digestOf(ca)}.pem`);
  return {
    read: async () => {
      try {
        return certificatesIn(await readFile(path, 'utf8')).join('\n');
      } catch (error) {
        if (!isMissing(error)) log.warn({ path, err: error }, 'the authorities on disk are not used');
        return null;
      }
    },
    write: (authorities) =>
      // The folder is the spool's, which makes it.
      replaceFile(path, [authorities]).then(
        () => true,
        (error: unknown) => {
          log.warn({ path, err: error }, 'the authorities of the control plane could not be kept on disk');
          return false;
        },
      ),
  };
}

/** Of what they are, not of how they were written. */
function digestOf(ca: string): string {
  const hash = createHash('sha256');
  for (const one of certificatesIn(ca)) hash.update(new X509Certificate(one).raw);
  return hash.digest('hex').slice(0, 16);
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
