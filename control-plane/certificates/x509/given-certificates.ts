// Reads a certificate that another program, such as cert-manager, renews. The kubelet replaces the files.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Pair } from './certificate.ts';

/** Throws when certificate and key do not match, which is possible for a moment. */
export async function readCertificates(folder: string): Promise<Pair> {
  const [certificate, key] = await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(folder, name), 'utf8')));
  if (certificate === undefined || key === undefined) throw new Error(`${folder} must contain the files tls.crt and tls.key`);
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    // Details about a key must not appear in a log.
    throw new Error(`in ${folder}, tls.crt must be a certificate, and tls.key must be the private key of this certificate`);
  }
  return { certificate, key };
}
