// Encrypts secrets of tenants with the operator's keys before they reach the database. The first key encrypts, and
// every key can decrypt, so that the operator can replace keys. A secret is encrypted for one context and cannot be
// decrypted for another, because the context is authenticated together with the secret.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { RandomBytes } from '../../access/rules/key.ts';

export interface Sealer {
  /** The number of keys with which it can decrypt. */
  readonly keys: number;
  /** Returns `nonce ‖ tag ‖ ciphertext`. `place`: the context to which the secret is bound. */
  seal(text: string, place: string): Uint8Array;
  /**
   * Returns the secret. Null: it was not sealed with one of the keys, was sealed for another context, or was changed.
   */
  open(sealed: Uint8Array, place: string): string | null;
  /**
   * Encrypts the same secret again with the first key. If the first key has already encrypted it, the input is
   * returned. The nonce stays the same. So all control planes compute the same bytes, and code that compares nonces
   * sees no change. This is safe, because no key uses one nonce for two different texts. Null: the secret cannot be
   * decrypted, as in `open`.
   */
  reseal(sealed: Uint8Array, place: string): Uint8Array | null;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** `operatorKeys` are the keys of `TOLLGATE_SECRET_KEY`, at least one. */
export function createSealer(operatorKeys: readonly string[], random: RandomBytes): Sealer {
  const keys = operatorKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'tollgate sealed secrets', keyBytes)));
  const [first, ...older] = keys;
  if (first === undefined) throw new Error('createSealer must receive at least one key');
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

interface SealInput {
  readonly text: string;
  readonly place: string;
  readonly nonce: Uint8Array;
}

function encrypt(key: Uint8Array, { text, place, nonce }: SealInput): Uint8Array {
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(place));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Decrypts with the first key that fits. Null: no key fits. */
function decrypt(keys: readonly Uint8Array[], sealed: Uint8Array, place: string): string | null {
  const nonce = sealed.subarray(0, nonceBytes);
  const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
  if (tag.length < tagBytes) return null;
  for (const key of keys) {
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(place)).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      // This key cannot decrypt it, so the next key is tried.
    }
  }
  return null;
}
