// A temporary folder for each test of the embedded PostgreSQL, and helpers to query a server in it. Each test file in
// this folder calls usePlace once. After each test no server and no process is left; a remaining process fails the
// test.
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientConfig } from 'pg';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { type EmbeddedPostgres, startEmbedded } from '../../../control-plane/database/embedded/start.ts';
import { withClient } from '../../support/database.ts';

const log = () => {};
export const isRoot = process.getuid?.() === 0;
export const otherAccount = { uid: 54_321, gid: 54_321 };

interface Place {
  scratch: string;
  dataDir: string;
}

export function usePlace() {
  const place: Place = { scratch: '', dataDir: '' };
  let started: EmbeddedPostgres[] = [];

  beforeEach(async () => {
    place.scratch = await realpath(await mkdtemp(join(tmpdir(), 'tollgate-test-')));
    // The accounts under test need to pass through this folder.
    await chmod(place.scratch, 0o755);
    place.dataDir = join(place.scratch, '.tollgate');
    started = [];
  });

  afterEach(async () => {
    for (const server of started) await server.close();
    const left = await processesLeft(place.scratch);
    await rm(place.scratch, { recursive: true, force: true });
    expect(left, 'processes left behind').toEqual([]);
  });

  async function start(config: Partial<Parameters<typeof startEmbedded>[0]> = {}): Promise<EmbeddedPostgres> {
    const server = await startEmbedded({ dataDir: place.dataDir, log, ...config });
    started.push(server);
    return server;
  }

  const readPid = async () => Number.parseInt(await readFile(join(place.dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10);
  return { place, start, readPid };
}

/** Returns the processes that do not end on their own. They are killed. */
async function processesLeft(scratch: string): Promise<readonly number[]> {
  const left = await noneWorkIn(scratch).then(
    () => [],
    () => findPostgres(scratch),
  );
  for (const pid of left) process.kill(pid, 'SIGKILL');
  await noneWorkIn(scratch);
  return left;
}

/**
 * Rejects where processes stay in the folder. A process that has ended is still listed there for a moment, because the
 * kernel removes its command line first. Processes that a killed process had started end on their own when they next
 * look for their files.
 */
export async function noneWorkIn(folder: string): Promise<void> {
  await vi.waitFor(async () => expect(await findPostgres(folder)).toEqual([]), 20_000);
}

export const query = (server: { connection: ClientConfig }, sql: string) =>
  withClient(server.connection, async (client) => (await client.query(sql)).rows);

/** Returns the processes that work in a folder, as far as they are visible: root in a container sees only its own. */
async function findPostgres(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => places[index]?.startsWith(folder));
}

/** Creates a package whose programs are shell scripts. */
export async function createStub(scratch: string, { version = 'exit 0', postgres = 'exit 0', initdb = 'exit 0' }): Promise<string> {
  const folder = join(scratch, 'stub');
  await mkdir(join(folder, 'native/bin'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "version": "0" }');
  await writeFile(join(folder, 'native/pg-symlinks.json'), '[]');
  const write = (name: string, script: string) => writeFile(join(folder, 'native/bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await write('postgres', `[ "$1" = --version ] && { ${version}; }\n${postgres}`);
  await write('initdb', initdb);
  return join(folder, 'native');
}

/** Fails until initdb has reached this file. */
export async function readDraft(home: string, file: string): Promise<void> {
  const draft = (await readdir(home)).find((name) => name.startsWith('init-'));
  await stat(join(home, draft ?? 'none', file));
}
