// Reads certificates that another program, such as cert-manager, renews: tls.crt, tls.key and ca.crt of a folder. The
// files are read at each check. Files that do not match, which is possible for a moment, are rejected.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCertificates } from '../x509/given-certificates.ts';
import type { Material } from './material.ts';

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const givenIn =
  (folder: string) =>
  async (held: Material | null): Promise<Material> => {
    const [pair, authorities] = await Promise.all([readCertificates(folder), readAuthorities(folder)]);
    const isSame =
      held !== null && held.certificate === pair.certificate && held.key === pair.key && held.authorities.join() === authorities.join();
    return isSame ? held : { ...pair, authorities };
  };

async function readAuthorities(folder: string): Promise<readonly string[]> {
  const found = (await readFile(join(folder, 'ca.crt'), 'utf8')).match(pem) ?? [];
  if (found.length === 0) throw new Error(`ca.crt in ${folder} contains no certificate`);
  if (!found.every(isCertificate)) throw new Error(`ca.crt in ${folder} contains text that is not a certificate`);
  return found.map((certificate) => `${certificate}\n`);
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
