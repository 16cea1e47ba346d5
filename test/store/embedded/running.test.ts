// A running server, a server that is killed under its control plane, and two control planes with the same data
// directory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientConfig, Pool } from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { EmbeddedPostgres } from '../../../control-plane/database/embedded/start.ts';
import { startProcess } from '../../support/control-plane-process.ts';
import { noneWorkIn, isRoot, query, otherAccount, usePlace } from './place.ts';

const { place, start, readPid } = usePlace();

describe('a running server', () => {
  test('has the database, keeps fsync on, and can be reached only through its socket', async () => {
    const server = await start();
    expect(server.adopted).toBe(false);
    const sql = `SELECT current_database(), current_user, current_setting('fsync') AS fsync, current_setting('listen_addresses') AS tcp`;
    expect(await query(server, sql)).toEqual([{ current_database: 'tollgate', current_user: 'tollgate', fsync: 'on', tcp: '' }]);
    expect((await stat(join(place.dataDir, 'postgres/data'))).mode & 0o777).toBe(0o700);
  });

  test('runs no process for replication, which it does not use', async () => {
    const server = await start();
    const sql = "SELECT backend_type FROM pg_stat_activity WHERE backend_type ILIKE '%replication%' OR backend_type ILIKE 'wal%er'";
    expect(await query(server, sql)).toEqual([{ backend_type: 'walwriter' }]);
  });

  test('keeps its data from one start to the next', async () => {
    const first = await start();
    await query(first, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await first.close();
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
  });

  test('is stopped by close, however often, and open transactions are rolled back', async () => {
    const server = await start();
    await query(server, 'CREATE TABLE numbers (number int)');
    const client = new Client(server.connection);
    const lost = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO numbers VALUES (1)');
    await Promise.all([server.close(), server.close()]);
    await server.close();
    await lost;
    await noneWorkIn(place.scratch);
    expect(await query(await start(), 'SELECT * FROM numbers')).toEqual([]);
  });

  test('works in a data directory whose path is longer than a socket path can be', async () => {
    place.dataDir = join(place.scratch, 'deep'.repeat(20), 'deeper'.repeat(20), '.tollgate');
    const server = await start();
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(start()).rejects.toThrow(place.dataDir);
    await server.close();
    expect((await start()).connection.host).not.toBe(server.connection.host);
    await expect(stat(server.connection.host)).rejects.toThrow('ENOENT');
  });

  test.runIf(isRoot)('lets no other local user connect', async () => {
    const { connection } = await start();
    const script = `require('node:net').connect(${JSON.stringify(`${connection.host}/.s.PGSQL.5432`)}).on('error', (error) => process.exit(error.code === 'EACCES' ? 13 : 1))`;
    const [code] = await once(spawn(process.execPath, ['-e', script], { ...otherAccount, cwd: '/' }), 'exit');
    expect(code).toBe(13);
  });
});

describe('a server that is killed', () => {
  const killServer = async (): Promise<number> => {
    const pid = await readPid();
    process.kill(pid, 'SIGKILL');
    return pid;
  };
  const lines: string[] = [];
  const warn = (line: string): void => void lines.push(line);
  beforeEach(() => void lines.splice(0));
  /** Uses a pool that existed before, as the control plane does. */
  const reached = (pool: Pool, sql: string) => vi.waitFor(async () => (await pool.query(sql)).rows, { timeout: 20_000, interval: 50 });
  const pooled = async (server: EmbeddedPostgres, use: (pool: Pool) => Promise<void>): Promise<void> => {
    const pool = new Pool({ ...server.connection, max: 2 });
    pool.on('error', () => {});
    try {
      await use(pool);
    } finally {
      await pool.end();
    }
  };

  test('is started again each time it is killed, reports it, keeps what was committed, and is stopped by close', async () => {
    const server = await start({ warn });
    await pooled(server, async (pool) => {
      await pool.query('CREATE TABLE kept AS SELECT 7 AS seven');
      for (let round = 1; round <= 2; round += 1) {
        const pid = await killServer();
        await vi.waitFor(() => expect(lines).toHaveLength(2 * round), 20_000);
        expect(await reached(pool, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
        expect(lines.at(-1)).toBe(`the embedded PostgreSQL runs again, pid ${await readPid()}`);
        expect(lines.at(-2)).toMatch(
          `pid ${pid}, has ended, signal SIGKILL: see ${join(place.dataDir, 'postgres/server.log')}; it is started again`,
        );
      }
    });
    await server.close();
    await noneWorkIn(place.scratch);
  });

  test('is started again where it was adopted', async () => {
    const killed = startProcess({ dataDir: place.dataDir });
    await killed.event('started');
    await killed.signalGroup('SIGKILL');
    const server = await start({ warn });
    expect(server.adopted).toBe(true);
    await pooled(server, async (pool) => {
      await killServer();
      await vi.waitFor(() => expect(lines).toHaveLength(2), 20_000);
      expect(await reached(pool, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  test('is not started again after a close that comes first, and a removed cluster is not created again', async () => {
    const server = await start({ warn });
    await rename(join(place.dataDir, 'postgres/data'), join(place.dataDir, 'postgres/away'));
    process.kill(Number.parseInt(await readFile(join(place.dataDir, 'postgres/away/postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    await vi.waitFor(() => expect(lines.join()).toMatch(/did not start again; next try in [\d.]+ s: ENOENT/), 20_000);
    await server.close();
    expect(await readdir(join(place.dataDir, 'postgres'))).not.toContain('data');
  });
});

describe('two control planes on one data directory', () => {
  test('the second is rejected with the directory and the pid of the first, which continues', async () => {
    const first = startProcess({ dataDir: place.dataDir });
    const { connection } = (await first.event('started')) as unknown as { connection: ClientConfig };
    await expect(start()).rejects.toThrow(`The data directory ${place.dataDir} is in use by another control plane, pid ${first.pid}:`);
    expect(await query({ connection }, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await first.close();
  });

  test('exactly one of several that start at the same moment succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const results = await Promise.allSettled([start(), start(), start()]);
      const [winner, ...others] = results.filter((result) => result.status === 'fulfilled');
      expect(others).toEqual([]);
      expect(
        results.map((result) => (result.status === 'rejected' ? String(result.reason) : '')).filter((text) => text.includes('in use')),
      ).toHaveLength(2);
      await winner?.value.close();
    }
  });

  test('exactly one of several processes that start at the same moment succeeds', async () => {
    const processes = [
      startProcess({ dataDir: place.dataDir }),
      startProcess({ dataDir: place.dataDir }),
      startProcess({ dataDir: place.dataDir }),
    ];
    const results = await Promise.allSettled(processes.map((each) => each.event('started')));
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    for (const each of processes) await each.close();
  });
});
