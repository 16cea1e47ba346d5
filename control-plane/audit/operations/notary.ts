// Signs checkpoints with an Ed25519 key. The key is in a file, outside the database whose content it certifies. Each
// control plane can have its own key.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Notary {
  /** The 32 bytes of the key, without encoding. */
  readonly publicKey: Uint8Array;
  readonly sign: (body: string) => Uint8Array;
  /** How long entries are kept. Checkpoints contain this number. */
  readonly retentionDays: number;
}

export function createNotary(privateKey: KeyObject, retentionDays: number): Notary {
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { publicKey: spki.subarray(-32), sign: (body) => sign(null, Buffer.from(body), privateKey), retentionDays };
}

export const newNotaryKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

/** Reads the key. If the file does not exist yet, creates it first, so that only the owner of the file can read it. */
export function openNotaryKey(path: string): { readonly key: KeyObject } | { readonly problem: string } {
  mkdirSync(dirname(path), { recursive: true });
  const making = `${path}.${randomUUID()}`;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      writeFileSync(making, newNotaryKey().export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx', flush: true });
      // Unlike a rename, a link does not overwrite a file that another process has created in the meantime.
      linkSync(making, path);
    }
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EEXIST')
      return { problem: `the checkpoint key cannot be written to ${path} (${code}): its folder must exist and be writable` };
  } finally {
    rmSync(making, { force: true });
  }
  return readNotaryKey(path);
}

export function readNotaryKey(path: string): { readonly key: KeyObject } | { readonly problem: string } {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return { problem: `${path} does not exist; it must contain the checkpoint key` };
  if (!file.isFile()) return { problem: `${path} is not a file; it must contain the checkpoint key` };
  if ((file.mode & 0o007) !== 0) return { problem: `${path} contains the checkpoint key, and every user can read it; set its mode to 600` };
  const pem = contentOf(path);
  if (typeof pem === 'string') return { problem: `${path} contains the checkpoint key, and cannot be read (${pem})` };
  const key = keyFrom(pem);
  return key?.asymmetricKeyType === 'ed25519' ? { key } : { problem: `${path} must hold an Ed25519 private key as PEM (PKCS #8)` };
}

/** Returns the content, or the error code. */
function contentOf(path: string): Buffer | string {
  try {
    return readFileSync(path);
  } catch (error) {
    return codeOf(error);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

function keyFrom(pem: Buffer): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
