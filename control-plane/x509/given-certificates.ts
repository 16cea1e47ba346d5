// A certificate that somebody else keeps fresh, such as cert-manager, as files that the kubelet replaces.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Pair } from './certificate.ts';

/** Throws where the two do not belong together, as for a moment they may. */
export async function readCertificates(folder: string): Promise<Pair> {
  const [certificate, key] = await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(folder, name), 'utf8')));
  if (certificate === undefined || key === undefined) throw new Error(`${folder} must hold tls.crt and tls.key`);
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    // What is wrong with a key is nothing for a log.
    throw new Error(`tls.crt and tls.key in ${folder} are no certificate and its key`);
  }
  return { certificate, key };
}
