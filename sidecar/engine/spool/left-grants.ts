// Reads how many calls a dead process has used of the grants of its sessions (`grant-file.ts`), so that the ledger gets
// back the rest. A file is accepted only as a whole: anything that is not as it was written means that all was used.
//
// The counts are in memory of the kernel unless the durability is `disk`, so the file counts only for the same boot of
// the machine. It counts only in the subfolder in which it was written, because the process of a copy may still live.
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { QuotaCounter } from '@tollgate/proto/contract';
import { headerBytes, isIntact, isPlausibleLength, readHeader } from './record.ts';

interface LeftGrant {
  readonly counter: QuotaCounter;
  readonly grantId: number;
  readonly used: number;
}

/** What a dead process has used of its grants. */
export interface LeftGrants {
  readonly epoch: string;
  readonly grants: readonly LeftGrant[];
}

const format = 1;
/** The maximum size of a file that is read. A process has leases of at most half as many bytes, with all names. */
const readBytesMax = 64 * 1024 * 1024;

/** Returns the path of the file in a spool's subfolder. */
export const grantsIn = (folder: string): string => join(folder, 'grants');

/** Returns an id of the current boot of the machine. Empty: unknown. */
export function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** Returns whether a dead process left a file. A spool's subfolder with such a file must not be deleted. */
export const hasGrants = (folder: string): boolean => existsSync(grantsIn(folder));

/** Call this when the ledger knows what was used, or when nothing can be told to it. */
export const removeGrants = (folder: string): void => rmSync(grantsIn(folder), { force: true });

/** Returns what a dead process has used of its grants. Null: that is unknown, so all of them were used. */
export function readGrants(folder: string, bootId: string): LeftGrants | null {
  try {
    if (statSync(grantsIn(folder)).size > readBytesMax) return null;
    return parse(readFileSync(grantsIn(folder)), (head) => isTrusted(head, folder, bootId));
  } catch {
    return null;
  }
}

interface Head {
  readonly format: number;
  readonly epoch: string;
  readonly bootId: string;
  /** True: the counts survive a power loss. */
  readonly isSynced: boolean;
  /** The inode of the subfolder: a copy of the subfolder has another one. */
  readonly folder: string;
}

export const headOf = (folder: string, { epoch, bootId, isSynced }: Pick<Head, 'epoch' | 'bootId' | 'isSynced'>): Head => ({
  format,
  epoch,
  bootId,
  isSynced,
  folder: inodeOf(folder),
});

const inodeOf = (folder: string): string => String(statSync(folder, { bigint: true }).ino);

const isTrusted = (head: Head, folder: string, bootId: string): boolean =>
  head.format === format && head.folder === inodeOf(folder) && (head.isSynced || (bootId !== '' && head.bootId === bootId));

function parse(bytes: Buffer, isTrustedHead: (head: Head) => boolean): LeftGrants | null {
  const found = new Map<number, { grantId: number; used: number; counter: QuotaCounter }>();
  let head: Head | null = null;
  let offset = 0;
  for (let record = 1; offset < bytes.length; record += 1) {
    const text = recordAt(bytes, offset, record);
    if (text === null) return null;
    offset += headerBytes + text.length;
    const value = JSON.parse(text.toString('utf8'));
    if (head === null) {
      if (!isTrustedHead(value)) return null;
      head = value;
    } else if (Array.isArray(value)) {
      const [of, used] = value;
      const grant = found.get(of);
      if (grant === undefined) return null;
      grant.used = used;
    } else {
      const { id: grantId, used, run } = value;
      found.set(record, { grantId, used, counter: { kind: 'run', ...run } });
    }
  }
  return head === null ? null : { epoch: head.epoch, grants: [...found.values()] };
}

/** Returns the text of the record. Null: it is not as it was written. */
function recordAt(bytes: Buffer, offset: number, record: number): Buffer | null {
  if (bytes.length - offset < headerBytes) return null;
  const header = readHeader(bytes, offset);
  const end = offset + headerBytes + header.length;
  if (!isPlausibleLength(header.length) || end > bytes.length || header.sequence !== record || header.isVoid) return null;
  return isIntact(bytes, offset, header) ? bytes.subarray(offset + headerBytes, end) : null;
}
