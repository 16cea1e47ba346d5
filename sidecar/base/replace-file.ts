// Replaces a file atomically. If the process is killed at any moment, the file has either its old or its new content.
// The new content is written to a temporary file in the same folder, synced and renamed.
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Writes `parts` to the file, one after the other. The file has mode 600. */
export async function replaceFile(path: string, parts: Iterable<Uint8Array | string>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      // Each part is written after the end of the previous one.
      for (const part of parts) await file.writeFile(part);
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
