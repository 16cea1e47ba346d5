// Follows certificate files that another program keeps up to date: for example, cert-manager issues them, and the
// kubelet replaces the files. They are read again every half minute. Files that do not match each other, which can
// happen for a moment, are not used.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { createCredentialsCell, expiryOf, type LinkCredentials, type Material } from './credentials.ts';
import { certificatesIn } from './options.ts';

const rereadMs = 30_000;

/** Resolves after the first attempt to read the files, even if it failed. */
export async function followGiven({ clock, log }: { readonly clock: Clock; readonly log: Log }, folder: string): Promise<LinkCredentials> {
  let timer: Timer | null = null;
  let closed = false;
  const cell = createCredentialsCell(true, () => {
    closed = true;
    timer?.cancel();
    return Promise.resolve();
  });
  const look = async (): Promise<void> => {
    const { problem, current } = cell.credentials;
    const found = await readGiven(folder).catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (closed) return;
    timer = clock.after(rereadMs, () => void look());
    timer.unref();
    const why = typeof found === 'string' ? found : expiredAt(found, clock.wallTime());
    if (typeof found !== 'string' && !isSame(found, current)) {
      cell.take(found);
      log.info({ folder, expiresAt: isoOf(found) }, 'the certificate of this sidecar was read');
    }
    if (why !== null && why !== problem) log.warn({ problem: why }, 'the certificate of this sidecar is not up to date');
    cell.fail(why);
  };
  await look();
  return cell.credentials;
}

async function readGiven(folder: string): Promise<Material & { readonly own: { readonly certificate: string; readonly key: string } }> {
  const read = (name: string): Promise<string> =>
    readFile(join(folder, name), 'utf8').catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      throw new Error(`${join(folder, name)} cannot be read (${code})`, { cause: error });
    });
  // Reads the files one after the other, so that the error always names the same missing file.
  const certificate = await read('tls.crt');
  const key = await read('tls.key');
  const ca = await read('ca.crt');
  try {
    createSecureContext({ cert: certificate, key });
    expiryOf(certificate);
  } catch {
    // Details about a wrong key must not appear in a log.
    throw new Error(`in ${folder}, tls.crt must be a valid certificate, and tls.key must be the private key of this certificate`);
  }
  try {
    return { authorities: certificatesIn(ca).join('\n'), own: { certificate, key } };
  } catch {
    throw new Error(`ca.crt in ${folder} must contain valid certificates of authorities`);
  }
}

const isSame = (found: Material, held: Material | null): boolean =>
  held !== null &&
  found.authorities === held.authorities &&
  found.own?.certificate === held.own?.certificate &&
  found.own?.key === held.own?.key;

function expiredAt({ own }: { readonly own: { readonly certificate: string } }, wallTime: number): string | null {
  return expiryOf(own.certificate) <= wallTime ? `the certificate expired at ${isoOf({ own })}` : null;
}

const isoOf = ({ own }: { readonly own: { readonly certificate: string } }): string => new Date(expiryOf(own.certificate)).toISOString();
