// A PostgreSQL for one test, on a socket in a temporary folder, that the test may stop, crash and freeze.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryResultRow } from 'pg';
import { type EmbeddedPostgres, startEmbedded } from '../../control-plane/database/embedded/start.ts';
import { withClient } from '../support/database.ts';
import { eventually } from '../support/programs.ts';

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

export async function startPostgres() {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-chaos-'));
  const launch = (): Promise<EmbeddedPostgres> => startEmbedded({ dataDir, log: () => {} });
  let server = await launch().catch(async (error: unknown) => {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  });
  let running = true;
  let frozen: readonly number[] = [];
  const { connection } = server;
  const postmaster = (): number => Number.parseInt(readFileSync(join(connection.host, 'postmaster.pid'), 'utf8'), 10);

  const query = async <R extends QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<readonly R[]> =>
    withClient(connection, async (client) => (await client.query<R>(sql, [...values])).rows);
  /** None of its processes does anything, and every socket stays open. */
  const freeze = (pids: readonly number[]): void => {
    frozen = [...frozen, ...pids];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
  };
  const thaw = (): void => {
    for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT');
    frozen = [];
  };
  const start = async (): Promise<void> => {
    server = await launch();
    running = true;
  };
  const postgres = {
    connection,
    /** The URL for a control plane; its connections have that name in `pg_stat_activity`. */
    url: (name: string): string =>
      `postgres://${connection.user}@localhost/${connection.database}?host=${encodeURIComponent(connection.host)}&port=${connection.port}&sslmode=disable&application_name=${name}`,
    query,
    /** A fast shutdown: sessions are notified. */
    stop: async () => {
      running = false;
      await server.close();
    },
    /** As after a crash: no session is notified, and the log is replayed at the next start. */
    crash: async () => {
      running = false;
      const pid = postmaster();
      process.kill(pid, 'SIGQUIT');
      await eventually(
        async () => isAlive(pid),
        (alive) => !alive,
      );
      await server.close();
    },
    start,
    freeze: () => {
      // The postmaster first, so that no new process starts meanwhile.
      freeze([postmaster()]);
      freeze(childrenOf(postmaster()));
    },
    freezeProcess: (pid: number) => freeze([pid]),
    thaw,
    /** Undoes the faults of a test that failed half-way. */
    heal: async () => {
      thaw();
      if (!running) await start();
    },
    close: async () => {
      thaw();
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  try {
    // A test does not survive a power failure anyway.
    await query('alter system set fsync = off');
    await query('select pg_reload_conf()');
  } catch (error) {
    await postgres.close();
    throw error;
  }
  return postgres;
}

function isAlive(pid: number): boolean {
  try {
    // A zombie has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

function childrenOf(parent: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => parentOf(pid) === parent).map(Number);
}

function parentOf(pid: string): number | null {
  try {
    // `pid (name) state parent …`; a name may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}
