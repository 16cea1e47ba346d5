// Stores the last good snapshot on disk, so that a sidecar that starts without a control plane can decide by it. A file
// consists of a SHA-256 digest and the snapshot in its wire form, which the digest covers. The file is replaced as a
// whole (temporary file, fsync, rename). Its modification time says when the last message of the control plane arrived.
// It contains key hashes, so its mode is 600.
import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { policyService, type Snapshot } from '@tollgate/proto';
import { replaceFile } from '../../base/replace-file.ts';
import type { SnapshotMessage } from './verify.ts';

export interface StoredSnapshot {
  readonly message: SnapshotMessage;
  /** The time of the last message of the control plane, in wall-clock ms. */
  readonly heardAt: number;
}

/** Returns null if there is no file. Throws with the reason if the file cannot be trusted. */
export async function readSnapshotFile(path: string): Promise<StoredSnapshot | null> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (bytes === null) return null;
  const body = bytes.subarray(digestBytes);
  if (!digest([body]).equals(bytes.subarray(0, digestBytes))) throw new Error(`${path} is damaged: its digest does not match`);
  const { snapshot } = policyService.Sync.responseDeserialize(body);
  if (snapshot == null) throw new Error(`${path} contains no snapshot`);
  return { message: snapshot, heardAt: (await stat(path)).mtimeMs };
}

export async function writeSnapshotFile(path: string, message: SnapshotMessage): Promise<void> {
  const body = await encodeInTurns(message);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, [digest(body), ...body]);
}

/** Notes that a message of the control plane arrived at `heardAt` (wall-clock ms). */
export async function touchSnapshotFile(path: string, heardAt: number): Promise<void> {
  const time = new Date(heardAt);
  await utimes(path, time, time).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

const digestBytes = 32;

function digest(parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

const entriesATurn = 500;

/**
 * Returns a `SyncResponse` that contains the snapshot, in parts. The parts are encoded one by one, and calls can be
 * decided in between. This is needed because encoding thirty thousand entries takes some fifty milliseconds.
 */
async function encodeInTurns({ entries, ...head }: SnapshotMessage): Promise<readonly Uint8Array[]> {
  const parts = [encodeSnapshot({ ...head, entries: [] })];
  for (let at = 0; at < entries.length; at += entriesATurn) {
    await nextTurn();
    parts.push(encodeSnapshot({ entries: entries.slice(at, at + entriesATurn) }));
  }
  const length = parts.reduce((sum, { length: bytes }) => sum + bytes, 0);
  return [Buffer.from([snapshotTag, ...varint(length)]), ...parts];
}

// In Protobuf, consecutive encoded fields of a message form one message. An embedded message is preceded by a tag and
// its length.
const snapshotTag = 0x0a;

/** Returns the encoded fields of a snapshot, without the bytes that precede them in a `SyncResponse`. */
function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const response = policyService.Sync.responseSerialize({ snapshot });
  const end = response.findIndex((byte, at) => at > 0 && byte < 0x80);
  return response.subarray(end + 1);
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
