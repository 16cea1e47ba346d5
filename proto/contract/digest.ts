// The digests both programs must compute alike.
import { createHash } from 'node:crypto';

const modulus = 1n << 256n;

/** SHA-256 of one snapshot entry: uint32be(byte length of key) ‖ key ‖ value. 32 bytes. */
export function snapshotEntryDigest(key: string, value: Uint8Array): Buffer {
  const keyBytes = Buffer.from(key, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(keyBytes.length);
  return createHash('sha256').update(length).update(keyBytes).update(value).digest();
}

/** Sum modulo 2²⁵⁶ of the entries' digests, big-endian, so that a change of one entry rehashes only that entry. */
export function snapshotHash(entries: Iterable<{ readonly key: string; readonly value: Uint8Array }>): Buffer {
  let sum = 0n;
  for (const { key, value } of entries) sum += BigInt(`0x${snapshotEntryDigest(key, value).toString('hex')}`);
  return Buffer.from((sum % modulus).toString(16).padStart(64, '0'), 'hex');
}
