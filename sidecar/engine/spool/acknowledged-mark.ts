// Stores on disk how far a spool is acknowledged, so that a later process does not ship everything again. The stored
// value may be too low but never too high. A value that is too low is harmless, because the control plane skips entries
// that it has. The backlog of each spool uses this.
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import type { SpoolFs } from './spool-fs.ts';
import { readRange } from './spool-fs.ts';

const bytesLength = 12;
/** An acknowledgement arrives with every batch. One write a second is enough to avoid most repeated shipping. */
const writeEveryMs = 1_000;

export interface AcknowledgedMark {
  note(sequence: number): void;
  close(): void;
}

export function createAcknowledgedMark({ fs, clock }: { fs: SpoolFs; clock: Clock }, folder: string): AcknowledgedMark {
  const bytes = Buffer.alloc(bytesLength);
  let fd: number | undefined;
  let noted = 0;
  let saved = 0;
  let savedAt = -Infinity;

  function save(): void {
    savedAt = clock.wallTime();
    if (saved === noted) return;
    bytes.writeBigInt64LE(BigInt(noted));
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 8)), 8);
    try {
      fd ??= fs.openSync(pathIn(folder), 'w', 0o600);
      fs.writeSync(fd, bytes, 0, bytesLength, 0);
      saved = noted;
    } catch {
      // The stored value is then too low, which is harmless.
    }
  }

  return {
    note(sequence) {
      noted = sequence;
      if (clock.wallTime() - savedAt >= writeEveryMs) save();
    },
    close() {
      save();
      if (fd !== undefined) fs.closeSync(fd);
      fd = undefined;
    },
  };
}

/** Returns the last acknowledged sequence. 0: nothing is stored, or the stored value is damaged. */
export async function readAcknowledgedMark(fs: SpoolFs, folder: string): Promise<number> {
  let fd: number;
  try {
    fd = fs.openSync(pathIn(folder), 'r');
  } catch {
    return 0;
  }
  try {
    const bytes = await readRange(fs, fd, 0, bytesLength);
    return bytes.readUInt32LE(8) === crc32(bytes.subarray(0, 8)) ? Number(bytes.readBigInt64LE()) : 0;
  } finally {
    fs.closeSync(fd);
  }
}

function pathIn(folder: string): string {
  return join(folder, 'acknowledged');
}
