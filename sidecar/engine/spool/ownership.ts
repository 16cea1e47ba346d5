// Stores the ownership of a spool in its subfolder: the workspace that it was created for, and the secret without which
// the control plane accepts nothing of it. A process that adopts the folder adopts the secret.
//   spool.json   the form of the records, and the workspace
//   secret       64 hex digits, for this account alone
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from './hold.ts';

export interface Ownership {
  /** 32 bytes. */
  readonly secret: Buffer;
  /** The random id of the workspace. Empty: not known yet. */
  readonly workspaceId: string;
  /** Sets the workspace of this spool, if it was not known. Throws if that cannot be written. */
  belongTo(workspaceId: string): void;
}

interface Meta {
  readonly format: number;
  /** The slug of the workspace. */
  readonly workspace: string;
  readonly workspaceId: string;
}

/** The version of the format. 2: records say whether their group continues. 3: spools have secrets. */
const format = 3;
const readableFormats: readonly unknown[] = [1, 2, format];
const secretBytes = 32;
const secretForm = /^[0-9a-f]{64}$/;

/** Writes the workspace and a new secret. Call this only for a folder that no other process reads yet. */
export function writeOwnership(folder: string, workspace: string): void {
  writeFileSync(metaIn(folder), JSON.stringify({ format, workspace, workspaceId: '' } satisfies Meta), { flush: true });
  writeSecret(folder);
}

/** Returns the slug of the spool's workspace. Undefined: not a spool that this version can read. */
export const readWorkspace = (folder: string): string | undefined => readMeta(folder)?.workspace;

/**
 * Reads the ownership of a folder that this process holds. Throws if it cannot be read. An old spool, from the time
 * before spools had secrets, gets a secret.
 */
export function readOwnership(folder: string): Ownership {
  const meta = readMeta(folder);
  if (meta === undefined) throw new Error(`${metaIn(folder)} cannot be read`);
  const secret = readSecret(folder, meta);
  let { workspaceId } = meta;
  return {
    secret,
    get workspaceId() {
      return workspaceId;
    },
    belongTo(id) {
      if (workspaceId !== '' || id === '') return;
      // The file is replaced as a whole or stays unchanged, because a process that adopts the folder reads it.
      const making = `${metaIn(folder)}.new`;
      writeFileSync(making, JSON.stringify({ ...meta, format, workspaceId: id } satisfies Meta), { flush: true });
      renameSync(making, metaIn(folder));
      workspaceId = id;
    },
  };
}

function readSecret(folder: string, meta: Meta): Buffer {
  try {
    const text = readFileSync(secretIn(folder), 'utf8');
    if (!secretForm.test(text)) throw new Error(`${secretIn(folder)} must contain 64 hex digits in lower case`);
    return Buffer.from(text, 'hex');
  } catch (error) {
    if (meta.format >= format || !isErrno(error, 'ENOENT')) throw error;
    return writeSecret(folder);
  }
}

function writeSecret(folder: string): Buffer {
  const secret = randomBytes(secretBytes);
  const making = `${secretIn(folder)}.new`;
  writeFileSync(making, secret.toString('hex'), { mode: 0o600, flush: true });
  renameSync(making, secretIn(folder));
  return secret;
}

function readMeta(folder: string): Meta | undefined {
  try {
    const meta: unknown = JSON.parse(readFileSync(metaIn(folder), 'utf8'));
    if (typeof meta !== 'object' || meta === null || !('format' in meta) || !('workspace' in meta)) return undefined;
    if (!readableFormats.includes(meta.format) || typeof meta.workspace !== 'string') return undefined;
    const workspaceId = 'workspaceId' in meta && typeof meta.workspaceId === 'string' ? meta.workspaceId : '';
    return { format: Number(meta.format), workspace: meta.workspace, workspaceId };
  } catch {
    return undefined;
  }
}

const metaIn = (folder: string): string => join(folder, 'spool.json');
const secretIn = (folder: string): string => join(folder, 'secret');
