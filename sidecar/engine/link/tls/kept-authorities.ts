// Stores on disk the authorities that the control plane sent last. After the control plane has changed its authority, a
// sidecar that was configured with an older one still knows the new one. The file name contains a digest of the
// configured authorities, so other configured authorities start with a new file. The file never contains a key. It has
// mode 600 and is replaced as a whole.
import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../base/log.ts';
import { replaceFile } from '../../../base/replace-file.ts';
import { certificatesIn } from './options.ts';

export interface KeptAuthorities {
  /** As PEM. Null: none are stored, or the stored ones cannot be trusted. */
  read(): Promise<string | null>;
  /** Stores the authorities. False: they could not be stored, and the problem was logged. */
  write(authorities: string): Promise<boolean>;
}

export function keepAuthorities(folder: string, ca: string, log: Pick<Log, 'warn'>): KeptAuthorities {
  const path = join(folder, `authorities-${digestOf(ca)}.pem`);
  return {
    read: async () => {
      try {
        return certificatesIn(await readFile(path, 'utf8')).join('\n');
      } catch (error) {
        if (!isMissing(error)) log.warn({ path, err: error }, 'the authorities on disk are not used, because their file cannot be read');
        return null;
      }
    },
    write: (authorities) =>
      // The folder belongs to the spool, which creates it.
      replaceFile(path, [authorities]).then(
        () => true,
        (error: unknown) => {
          log.warn({ path, err: error }, 'the authorities of the control plane could not be stored on disk');
          return false;
        },
      ),
  };
}

/** Returns a digest of the certificates themselves, and not of the text that contains them. */
function digestOf(ca: string): string {
  const hash = createHash('sha256');
  for (const one of certificatesIn(ca)) hash.update(new X509Certificate(one).raw);
  return hash.digest('hex').slice(0, 16);
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
