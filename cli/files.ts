// Writes a file completely or leaves it unchanged.
import { randomBytes } from 'node:crypto';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { Failure } from './failure.ts';

/** Writes a file that only its owner can read. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await writeStream(path, (write) => write(text));
}

/**
 * Writes a file that only its owner can read, in several steps. After a failure, the part that was written stays in
 * `<path>.partial`.
 */
export async function writeStream(path: string, produce: (write: (text: string) => Promise<void>) => Promise<void>): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new Failure(
      `${path} cannot be written (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'})`,
      [],
      error,
    );
  });
  try {
    await produce((text) => writeFile(file, text));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
}

/**
 * Replaces a file that other programs read: they see the old content or the new content. After a failure no temporary
 * file remains.
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(fresh, 'wx', mode);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
