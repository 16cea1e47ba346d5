// Finds, launches and stops the postmaster, PostgreSQL's main process. Called by `start.ts`, which holds the lock, so
// that no other process launches or stops it at the same time.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Account, accountOptions, clusterPath } from './account.ts';
import { errorCode } from './error-code.ts';
import { type Connection, probeServer } from './probe-server.ts';
import { openLog } from './server-log.ts';
import { databaseName, port, serverSettings, superuser } from './settings.ts';

export interface Server {
  /** The cluster's folder. */
  readonly dir: string;
  /** The same folder with a path that is short enough for its socket. */
  readonly socketDir: string;
  readonly logFile: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface Postmaster {
  readonly pid: number;
  readonly connection: Connection;
  /** Resolves when the process has ended. The result says how it ended. */
  readonly ended: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

/**
 * The maximum time to wait until a server is ready. After a crash, its recovery replays at most about max_wal_size.
 * Even a slow disk needs less than this time for the recovery.
 */
const busyMsMax = 120_000;
const stopMsMax = 60_000;
/** After a kill -9 of the postmaster, its other processes need a moment to notice. */
const orphansMsMax = 10_000;
const pollMs = 20;
/** How often to check whether an adopted process has ended. It is not our child, so Node does not report its end. */
const adoptedPollMs = 500;

const connectionTo = ({ socketDir }: Server): Connection => ({
  host: socketDir,
  port,
  user: superuser,
  database: databaseName,
  ssl: false,
});

/** Returns the server that already runs, or undefined when no server runs. */
export async function adoptPostmaster(server: Server): Promise<Postmaster | undefined> {
  const pid = await readPid(server.dir);
  if (pid === undefined) return undefined;
  const connection = connectionTo(server);
  let state = await probeServer(connection);
  for (const start = performance.now(); state === 'busy'; state = await probeServer(connection)) {
    if (performance.now() - start > busyMsMax)
      throw new Error(`PostgreSQL (pid ${pid}) in ${server.dir} did not become ready: see ${server.logFile}`);
    await delay(pollMs, undefined, { signal: server.signal });
  }
  if (state === 'answering') return { pid, connection, ended: () => endOf(pid), stop: () => stopProcess(pid) };
  await clearSilent(server, pid);
  return undefined;
}

/**
 * Removes the files that prevent a start. PostgreSQL refuses to start while a process has the pid in `postmaster.pid`.
 * After a reboot, any process can have this pid.
 */
async function clearSilent({ dir }: Server, pid: number): Promise<void> {
  const command = await readCommand(pid);
  const ours = command.includes(await clusterMark(dir));
  if (ours) await stopProcess(pid);
  // A PostgreSQL process without any mark was started by hand, possibly in this folder. The files stay, so that
  // PostgreSQL itself decides whether there is a conflict.
  if (!ours && command.includes('postgres') && !command.includes(markName)) return;
  for (const name of ['postmaster.pid', `.s.PGSQL.${port}.lock`]) await rm(join(dir, name), { force: true });
}

export async function launchPostmaster(server: Server, binaries: string, account: Account): Promise<Postmaster> {
  const { dir, signal } = server;
  const settings = Object.entries(serverSettings).map(([name, value]) => `${name}=${value}`);
  const args = ['-D', clusterPath(account, dir), ...[...settings, await clusterMark(dir)].flatMap((setting) => ['-c', setting])];
  const output = await openLog(server.logFile);
  try {
    for (const start = performance.now(); ; await delay(100, undefined, { signal })) {
      const child = spawn(join(binaries, 'bin/postgres'), args, {
        ...accountOptions(account),
        cwd: dir,
        stdio: ['ignore', output.fd, output.fd],
      });
      const postmaster = await awaitAnswer(child, server);
      if (postmaster) return postmaster;
      const orphans = (await output.read()).includes('pre-existing shared memory block');
      if (!orphans || performance.now() - start > orphansMsMax)
        throw new Error(await output.explain(`PostgreSQL did not start: it ended with ${ending(child)}`));
    }
  } finally {
    await output.close();
  }
}

/** Waits until the server answers. Returns undefined if its process ended before that. */
async function awaitAnswer(child: ChildProcess, server: Server): Promise<Postmaster | undefined> {
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) return undefined;
  // The child must survive if our process is killed, and must not keep our process alive.
  child.unref();
  const connection = connectionTo(server);
  try {
    for (const start = performance.now(); (await probeServer(connection)) !== 'answering'; ) {
      if (child.exitCode !== null || child.signalCode !== null) return undefined;
      if (performance.now() - start > busyMsMax)
        throw new Error(`PostgreSQL did not become ready within ${busyMsMax / 1000} s: see ${server.logFile}`);
      await delay(pollMs, undefined, { signal: server.signal });
    }
  } catch (error) {
    await stopProcess(pid);
    throw error;
  }
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const ended = async () => {
    if (!isOver()) await once(child, 'exit');
    return `${ending(child)}: see ${server.logFile}`;
  };
  return { pid, connection, ended, stop: () => stopProcess(pid) };
}

async function endOf(pid: number): Promise<string> {
  for (const command = await readCommand(pid); command !== '' && (await readCommand(pid)) === command; )
    await delay(adoptedPollMs, undefined, { ref: false });
  return 'in an unknown way';
}

const ending = ({ exitCode, signalCode }: ChildProcess) => (signalCode ? `signal ${signalCode}` : `exit code ${exitCode}`);

/**
 * Stops the process with PostgreSQL's fast shutdown: open transactions are rolled back, and committed data is written.
 */
async function stopProcess(pid: number): Promise<void> {
  const command = await readCommand(pid);
  if (!command.includes('postgres')) return;
  try {
    process.kill(pid, 'SIGINT');
  } catch (error) {
    // The process has already ended.
    if (errorCode(error) !== 'ESRCH') throw error;
  }
  for (const start = performance.now(); (await readCommand(pid)) === command; await delay(pollMs)) {
    if (performance.now() - start > stopMsMax) throw new Error(`PostgreSQL (pid ${pid}) did not stop within ${stopMsMax / 1000} s.`);
  }
}

async function readPid(dir: string): Promise<number | undefined> {
  const text = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return pid > 1 ? pid : undefined;
}

const markName = 'tollgate.cluster=';

/**
 * Returns the mark of the cluster, which is a part of the postmaster's command line. It contains the inode, which
 * survives a rename of the parent folders.
 */
const clusterMark = async (dir: string) => `${markName}${(await stat(dir)).ino}.`;

/**
 * Returns the command line of a process. It is empty when the process has ended. A zombie has no command line either.
 */
async function readCommand(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes('<defunct>') ? '' : stdout;
}
