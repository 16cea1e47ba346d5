// A file that is there whole, as it was or as it is to be, whoever is killed meanwhile: written beside itself, synced, renamed.
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** `parts` one after the other; mode 600. */
export async function replaceFile(path: string, parts: Iterable<Uint8Array | string>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      // Each goes on where the one before it ended.
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
