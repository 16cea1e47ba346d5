// A control plane that is killed, at any moment, does not prevent the next start on its data directory.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientConfig } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { startProcess } from '../../support/control-plane-process.ts';
import { noneWorkIn, isRoot, query, readDraft, usePlace } from './place.ts';

const { place, start, readPid } = usePlace();

async function findChild(parent: number): Promise<number> {
  const stats = (await readdir('/proc'))
    .filter((name) => Number(name) > 0)
    .map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''));
  const child = (await Promise.all(stats)).find((stat) => stat.includes(`) S ${parent} `));
  if (!child) throw new Error(`${parent} has no child`);
  return Number.parseInt(child, 10);
}

/**
 * Starts a control plane and kills it when initdb reaches this file. False: the check came too late, and it was killed
 * after that.
 */
async function killedAt(home: string, file: string): Promise<boolean> {
  const killed = startProcess({ dataDir: place.dataDir });
  let isInTime = true;
  await vi.waitFor(
    async () => {
      isInTime = !existsSync(join(home, 'data'));
      if (isInTime) await readDraft(home, file);
    },
    { timeout: 20_000, interval: 2 },
  );
  await killed.signalGroup('SIGKILL');
  if (!isInTime) await endPostgres(home);
  return isInTime;
}

/** Ends the server that a killed control plane left behind. */
async function endPostgres(home: string): Promise<void> {
  const pid = await readPid().catch(() => null);
  if (pid !== null) process.kill(pid, 'SIGKILL');
  await noneWorkIn(home);
}

describe('a control plane that is killed', () => {
  test('leaves a server that the next control plane adopts, and stops', async () => {
    const killed = startProcess({ dataDir: place.dataDir });
    const { connection } = (await killed.event('started')) as unknown as { connection: ClientConfig };
    await query({ connection }, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await killed.signalGroup('SIGKILL');
    const pid = await readPid();
    const server = await start();
    expect(server.adopted).toBe(true);
    expect(await readPid()).toBe(pid);
    expect(await query(server, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
    await server.close();
    await noneWorkIn(place.scratch);
  });

  test('does not prevent the next start when its server was killed too', async () => {
    const killed = startProcess({ dataDir: place.dataDir });
    const { connection } = (await killed.event('started')) as unknown as { connection: ClientConfig };
    await query({ connection }, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await killed.signalGroup('SIGKILL');
    process.kill(await readPid(), 'SIGKILL');
    const server = await start();
    expect(server.adopted).toBe(false);
    expect(await query(server, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
  });

  test.runIf(process.platform === 'linux')(
    'does not prevent the next start when processes of its server linger: the start waits for them',
    async () => {
      const killed = startProcess({ dataDir: place.dataDir });
      await killed.event('started');
      await killed.signalGroup('SIGKILL');
      const postmaster = await readPid();
      const lingering = await findChild(postmaster);
      process.kill(lingering, 'SIGSTOP');
      process.kill(postmaster, 'SIGKILL');
      const next = start();
      const said = () => readFile(join(place.dataDir, 'postgres/server.log'), 'utf8');
      await vi.waitFor(async () => expect(await said()).toContain('pre-existing shared memory block'), 5_000);
      process.kill(lingering, 'SIGCONT');
      expect((await next).adopted).toBe(false);
    },
  );

  test('does not prevent the next start when another process has received the pid of its server', async () => {
    await (await start()).close();
    const data = join(place.dataDir, 'postgres/data');
    const { uid, gid } = await stat(data);
    // PostgreSQL takes a living process of its own account for itself.
    const other = spawn('sleep', ['1000'], isRoot ? { uid, gid } : {});
    for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
      await writeFile(join(data, name), `${other.pid}\n/proc/self/cwd\n1\n5432\n.\n\n`);
      await chown(join(data, name), uid, gid);
    }
    try {
      expect((await start()).adopted).toBe(false);
      expect(other.exitCode ?? other.signalCode).toBe(null);
    } finally {
      other.kill();
    }
  });

  test('does not prevent the next start when its server lives but its socket was deleted', async () => {
    const killed = startProcess({ dataDir: place.dataDir });
    await killed.event('started');
    await killed.signalGroup('SIGKILL');
    const pid = await readPid();
    await rm(join(place.dataDir, 'postgres/data/.s.PGSQL.5432'));
    const server = await start();
    expect(server.adopted).toBe(false);
    expect(await readPid()).not.toBe(pid);
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test.each(['PG_VERSION', 'base', 'global/pg_control', 'pg_wal', 'base/5'])(
    'in the middle of the first start, at %s, leaves nothing that prevents the next start',
    async (at) => {
      const home = join(place.dataDir, 'postgres');
      while (!(await killedAt(home, at))) await rm(home, { recursive: true, force: true });
      const server = await start();
      expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect((await readdir(home)).filter((name) => name.startsWith('init-'))).toEqual([]);
    },
  );

  test('frees the lock, however many processes died before', async () => {
    for (let round = 0; round < 3; round++) {
      const killed = startProcess({ dataDir: place.dataDir });
      await killed.event('started');
      await killed.signalGroup('SIGKILL');
    }
    await start();
    expect((await readdir(join(place.dataDir, 'postgres'))).filter((name) => name.endsWith('.sock'))).toHaveLength(1);
  });
});
