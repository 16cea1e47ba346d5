// Defines the file-system calls that write entries to the disk and read them back, as in node:fs. They are passed in,
// so that tests can simulate a disk that is full, fails or accepts half a write.
import fs from 'node:fs';

export interface SpoolFs {
  openSync(path: string, flags: string, mode?: number): number;
  closeSync(fd: number): void;
  writeSync(fd: number, buffer: NodeJS.ArrayBufferView, offset: number, length: number, position: number): number;
  ftruncateSync(fd: number, length: number): void;
  fsyncSync(fd: number): void;
  renameSync(from: string, to: string): void;
  fdatasync(fd: number, done: (error: NodeJS.ErrnoException | null) => void): void;
  read(
    fd: number,
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: NodeJS.ErrnoException | null, bytes: number) => void,
  ): void;
  unlink(path: string, done: (error: NodeJS.ErrnoException | null) => void): void;
  copyFile(from: string, to: string, done: (error: NodeJS.ErrnoException | null) => void): void;
}

export const diskFs: SpoolFs = fs;

const pageBytes = 4096;

/**
 * Reads exactly `length` bytes from `position` on. Bytes that the disk does not return (the file is shorter, a page is
 * unreadable) are zeros: no record consists of zeros, so this is detected and counted as lost.
 */
export async function readRange(spoolFs: SpoolFs, fd: number, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  try {
    await fill(spoolFs, fd, bytes, position);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    for (let at = 0; at < length; at += pageBytes) {
      const page = bytes.subarray(at, at + pageBytes);
      await fill(spoolFs, fd, page, position + at).catch((pageError: unknown) => {
        if (!isUnreadable(pageError)) throw pageError;
        page.fill(0);
      });
    }
  }
  return bytes;
}

async function fill(spoolFs: SpoolFs, fd: number, into: Buffer, position: number): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const from = at;
    const read = await new Promise<number>((resolve, reject) => {
      spoolFs.read(fd, into, from, into.length - from, position + from, (error, bytes) => (error ? reject(error) : resolve(bytes)));
    });
    if (read === 0) return;
    at += read;
  }
}

function isUnreadable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EIO';
}
