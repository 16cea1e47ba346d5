// Provides a test run with a temporary folder in memory, where enough is free and the caller has not set TMPDIR. Tests
// write many small files and create databases: on a disk that costs a run minutes. vitest.config.ts names it as a
// global setup; it removes everything afterwards.
import { rmSync } from 'node:fs';
import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const leastBytes = 4 * 2 ** 30;

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TMPDIR'] !== undefined || (await freeBytes()) < leastBytes) return undefined;
  const folder = await mkdtemp(join(memory, 'tollgate-'));
  // The same mode as /tmp: some programs of the tests run under accounts of their own.
  await chmod(folder, 0o1777);
  // For files that must outlast the run, such as the logs of failed kill runs.
  process.env['TOLLGATE_TEST_KEPT'] ??= tmpdir();
  process.env['TMPDIR'] = folder;
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  // An interrupted run calls no teardown.
  process.once('exit', remove);
  return async () => {
    delete process.env['TMPDIR'];
    process.off('exit', remove);
    remove();
  };
}

const freeBytes = (): Promise<number> =>
  statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
