// Writes a file completely or leaves it unchanged. Only its owner can read it.
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { Failure } from './failure.ts';

export async function writeWhole(path: string, text: string): Promise<void> {
  await writeStream(path, (write) => write(text));
}

/** After a failure, the part that was written stays in `<path>.partial`. */
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
