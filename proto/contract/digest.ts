// Defines the digests that control plane and sidecars must compute in the same way.
import { createHash } from 'node:crypto';

const modulus = 1n << 256n;

/** Returns SHA-256 of one snapshot entry: uint32be(byte length of key) ‖ key ‖ value. 32 bytes. */
export function snapshotEntryDigest(key: string, value: Uint8Array): Buffer {
  const keyBytes = Buffer.from(key, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(keyBytes.length);
  return createHash('sha256').update(length).update(keyBytes).update(value).digest();
}

interface Hashed {
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * Returns the sum modulo 2²⁵⁶ of the entries' digests, big-endian. So after a change of one entry, only that entry is
 * hashed again.
 */
export const snapshotHash = (entries: Iterable<Hashed>): Buffer => bytesOf(sumOf(entries) % modulus);

/**
 * Returns the hash of a snapshot after some entries were removed and others were added. `hash` is the hash before the
 * change. Only the removed and added entries are hashed.
 */
export const snapshotHashAfter = (hash: Buffer, gone: Iterable<Hashed>, come: Iterable<Hashed>): Buffer =>
  bytesOf((((numberOf(hash) - sumOf(gone) + sumOf(come)) % modulus) + modulus) % modulus);

/** Returns the hash of a snapshot that consists of disjoint parts, from the hashes of the parts. */
export const snapshotHashOfParts = (hashes: Iterable<Buffer>): Buffer => {
  let sum = 0n;
  for (const hash of hashes) sum += numberOf(hash);
  return bytesOf(sum % modulus);
};

function sumOf(entries: Iterable<Hashed>): bigint {
  let sum = 0n;
  for (const { key, value } of entries) sum += numberOf(snapshotEntryDigest(key, value));
  return sum;
}

const numberOf = (digest: Buffer): bigint => BigInt(`0x${digest.toString('hex')}`);
const bytesOf = (sum: bigint): Buffer => Buffer.from(sum.toString(16).padStart(64, '0'), 'hex');
