// Secrets of tenants, encrypted under the operator's keys before they reach the database. The first key seals, each of them opens, so that
// one can follow another. What is sealed for one place cannot be opened in another: the place is authenticated along with it.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { RandomBytes } from '../domain/access/key.ts';

export interface Sealer {
  /** How many keys it opens by. */
  readonly keys: number;
  /** `nonce ‖ tag ‖ ciphertext`. */
  seal(text: string, place: string): Uint8Array;
  /** Null where it was sealed under none of the keys or for another place, or was changed since. */
  open(sealed: Uint8Array, place: string): string | null;
  /**
   * The same under the first key, itself where that is what sealed it. Its nonce stays: all control planes come to the same bytes, and
   * who goes by the nonce sees no change. No key meets a nonce with two texts by that. Null as of `open`.
   */
  reseal(sealed: Uint8Array, place: string): Uint8Array | null;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** `operatorKeys`: those of `TOLLGATE_SECRET_KEY`, one at least. */
export function createSealer(operatorKeys: readonly string[], random: RandomBytes): Sealer {
  const keys = operatorKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'tollgate sealed secrets', keyBytes)));
  const [first, ...older] = keys;
  if (first === undefined) throw new Error('a sealer needs a key');
  return {
    keys: keys.length,
    seal: (text, place) => encrypt(first, { text, place, nonce: random(nonceBytes) }),
    open: (sealed, place) => decrypt(keys, sealed, place),
    reseal: (sealed, place) => {
      if (decrypt([first], sealed, place) !== null) return sealed;
      const text = decrypt(older, sealed, place);
      return text === null ? null : encrypt(first, { text, place, nonce: sealed.subarray(0, nonceBytes) });
    },
  };
}

interface Sealing {
  readonly text: string;
  readonly place: string;
  readonly nonce: Uint8Array;
}

function encrypt(key: Uint8Array, { text, place, nonce }: Sealing): Uint8Array {
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(place));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** By the first key that fits. */
function decrypt(keys: readonly Uint8Array[], sealed: Uint8Array, place: string): string | null {
  const nonce = sealed.subarray(0, nonceBytes);
  const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
  if (tag.length < tagBytes) return null;
  for (const key of keys) {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(place)).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      // Another key, or nobody's.
    }
  }
  return null;
}
