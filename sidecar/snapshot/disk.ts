// The last good snapshot on disk, so that a sidecar that starts without a control plane decides by what it knew.
// A file is the SHA-256 of the rest, then the wire form; it is replaced whole (temporary file, fsync, rename). Its
// modification time says when the control plane was last heard from. It holds key hashes: mode 600.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { policyService } from '@tollgate/proto';
import type { SnapshotMessage } from './verify.ts';

export interface StoredSnapshot {
  readonly message: SnapshotMessage;
  /** Wall-clock ms. */
  readonly heardAt: number;
}

/** Null where there is no file; throws with the reason where there is one that cannot be believed. */
export async function readSnapshotFile(path: string): Promise<StoredSnapshot | null> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (bytes === null) return null;
  const body = bytes.subarray(digestBytes);
  if (!digest(body).equals(bytes.subarray(0, digestBytes))) throw new Error(`${path} is damaged: its digest does not match`);
  const { snapshot } = policyService.Sync.responseDeserialize(body);
  if (snapshot == null) throw new Error(`${path} holds no snapshot`);
  return { message: snapshot, heardAt: (await stat(path)).mtimeMs };
}

export async function writeSnapshotFile(path: string, message: SnapshotMessage): Promise<void> {
  const body = policyService.Sync.responseSerialize({ snapshot: { ...message, entries: [...message.entries] } });
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(Buffer.concat([digest(body), body]));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Notes that the control plane was heard from at `heardAt` (wall-clock ms). */
export async function touchSnapshotFile(path: string, heardAt: number): Promise<void> {
  const time = new Date(heardAt);
  await utimes(path, time, time).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

const digestBytes = 32;
const digest = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
