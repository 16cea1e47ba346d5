// Secrets of tenants, encrypted under the operator's key before they reach the database. What is sealed for one place
// cannot be opened in another: the place is authenticated along with it.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { RandomBytes } from '../domain/access/key.ts';

export interface Sealer {
  /** `nonce ‖ tag ‖ ciphertext`. */
  seal(text: string, place: string): Buffer;
  /** Null where it was sealed under another key or for another place, or was changed since. */
  open(sealed: Uint8Array, place: string): string | null;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** `operatorKey`: `TOLLGATE_SECRET_KEY`. */
export function createSealer(operatorKey: string, random: RandomBytes): Sealer {
  const key = Buffer.from(hkdfSync('sha256', operatorKey, '', 'tollgate sealed secrets', keyBytes));
  return {
    seal: (text, place) => {
      const nonce = random(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(place));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
    },
    open: (sealed, place) => {
      const nonce = sealed.subarray(0, nonceBytes);
      const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
      if (tag.length < tagBytes) return null;
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(place)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
