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

interface Hashed {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Sum modulo 2²⁵⁶ of the entries' digests, big-endian, so that a change of one entry rehashes only that entry. */
export const snapshotHash = (entries: Iterable<Hashed>): Buffer => bytesOf(sumOf(entries) % modulus);

/** The hash of a snapshot of that hash after some of its entries went and others came: only these are hashed. */
export const snapshotHashAfter = (hash: Buffer, gone: Iterable<Hashed>, come: Iterable<Hashed>): Buffer =>
  bytesOf((((numberOf(hash) - sumOf(gone) + sumOf(come)) % modulus) + modulus) % modulus);

/** The hash of a snapshot that is put together from disjoint parts, by theirs. */
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
