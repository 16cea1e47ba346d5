// Starts the embedded PostgreSQL, or adopts the server of a control plane that was killed. The control plane calls it
// at start-up if DATABASE_URL is not set.
//
// One control plane at a time holds <dataDir>/postgres (`lock.ts`). The holder finds the server in one of four states:
// - answering: an earlier control plane was killed and its server still runs. It is adopted.
// - busy: the server is starting, recovering or stopping. Wait until it answers or has ended.
// - silent: its process is alive but does not answer on the socket. Stop it, then continue as for absent.
// - absent: no process. Create the cluster if this is the first start, then launch.
//
// From then on it is kept running (`keep-running.ts`) until close(), which stops it whether it was launched or adopted.
// If our process dies first, the server continues to run and answer, for the next control plane.
//
//   <dataDir>/postgres/             ours, closed to others
//     data/                         the cluster and its socket, owned by the server's account
//     server.log                    the log of PostgreSQL
//     holder-<pid>-<random>.sock    the lock
import { mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { chooseAccount } from './account.ts';
import { findNative, prepareBinaries } from './binaries.ts';
import { createCluster } from './cluster.ts';
import { keepRunning } from './keep-running.ts';
import type { Connection } from './probe-server.ts';
import { acquireLock } from './lock.ts';
import { adoptPostmaster, launchPostmaster, type Postmaster, type Server } from './postmaster.ts';
import { tmpdir } from 'node:os';

export interface EmbeddedConfig {
  /** Absolute. Everything is stored in its folder `postgres`. */
  readonly dataDir: string;
  readonly log: (line: string) => void;
  /** For events that people should know: the server has ended, or runs again. By default `log`. */
  readonly warn?: ((line: string) => void) | undefined;
  /** Cancels the start. After the start, only close() stops the server. */
  readonly signal?: AbortSignal | undefined;
  /** PostgreSQL's bin, lib and share; by default those of the npm package. */
  readonly native?: string | undefined;
  /** Folder for a copy of the binaries if the server's account cannot run them in place. */
  readonly copyDir?: string | undefined;
}

export interface EmbeddedPostgres {
  /** For `new pg.Pool(connection)`. */
  readonly connection: Connection;
  /** True if the server was already running. */
  readonly adopted: boolean;
  /** Stops the server, which rolls back open transactions, and waits for its end. */
  readonly close: () => Promise<void>;
}

/** Returns whether a cluster was created in `dataDir` before. */
export const hasEmbedded = (dataDir: string): Promise<boolean> =>
  stat(join(dataDir, 'postgres', 'data')).then(
    () => true,
    () => false,
  );

export async function startEmbedded(config: EmbeddedConfig): Promise<EmbeddedPostgres> {
  const { log, warn = log, signal } = config;
  const home = await openHome(config.dataDir);
  const undo: (() => Promise<void>)[] = [];
  const close = once(async () => {
    for (const step of undo.toReversed()) await step();
  });
  try {
    const short = await shortenPath(home);
    undo.push(short.remove);
    const lock = await acquireLock(short.path, config.dataDir, signal);
    undo.push(lock.release);
    const server: Server = { dir: join(home, 'data'), logFile: join(home, 'server.log'), socketDir: join(short.path, 'data'), log, signal };
    const running = await adoptPostmaster(server);
    const postmaster = running ?? (await launch(config, home, server, 'new'));
    // At this point, a missing cluster is an error, and no new cluster must be created.
    const startAgain = async (until: AbortSignal): Promise<Postmaster> => {
      const again = { ...server, signal: until };
      return (await adoptPostmaster(again)) ?? (await launch(config, home, again, 'old'));
    };
    undo.push(keepRunning(postmaster, { start: startAgain, warn }).stop);
    log(`${running ? 'adopted the running' : 'started the'} embedded PostgreSQL in ${home}, pid ${postmaster.pid}`);
    return { connection: postmaster.connection, adopted: running !== undefined, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `new`: the cluster is created if it does not exist. `old`: the cluster must exist. */
async function launch(config: EmbeddedConfig, home: string, server: Server, cluster: 'new' | 'old'): Promise<Postmaster> {
  const account = await chooseAccount(server.dir);
  const { native = findNative(), copyDir = defaultCopyDir(home), log, signal } = config;
  const binaries = await prepareBinaries({ native, account, copyDir, log });
  if (cluster === 'new') await createCluster({ home, binaries, account, logFile: server.logFile, log, signal });
  return launchPostmaster(server, binaries, account);
}

/**
 * If this process runs as root, the copy of the binaries must be in a folder that another account can reach and that
 * only root can write to. A temporary folder is not suitable.
 */
const defaultCopyDir = (home: string) => (process.getuid?.() === 0 ? '/var/lib/tollgate' : home);

async function openHome(dataDir: string): Promise<string> {
  if (!isAbsolute(dataDir)) throw new Error(`The data directory must be an absolute path, not ${dataDir}`);
  const home = join(dataDir, 'postgres');
  const uid = process.getuid?.();
  // If this process runs as root, the server's account must be able to pass through this folder. The private part is
  // deeper, in data/, with mode 0700.
  const mode = uid === 0 ? 0o711 : 0o700;
  await mkdir(dataDir, { recursive: true, mode });
  // This call does not use `recursive`: on a file system that accepts no folders, such as /proc, Node would retry
  // without end.
  await mkdir(home, { mode }).catch((error: unknown) => throwUnlessThere(home, error));
  const owner = (await stat(home)).uid;
  // If a normal user controls the folder, a link in it could make root write anywhere.
  if (owner !== uid)
    throw new Error(
      `${home} belongs to user ${owner}, but this process runs as user ${uid}. Start the control plane as the owner of the folder, or set another TOLLGATE_DATA_DIR.`,
    );
  return home;
}

async function throwUnlessThere(folder: string, error: unknown): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory() !== true) throw error;
}

function once(action: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => (result ??= action());
}

// Gives a folder a path that is short enough for the Unix sockets in it. The socket of a deeply nested folder is
// reached through a link in a private temporary folder. The sockets themselves stay in the data directory, so a restart
// finds them whatever happened to the link.

/** Socket paths can have 107 bytes on Linux and 103 on macOS. The longest name below the folder has less than 40. */
const folderBytesMax = 103 - 40;

async function shortenPath(folder: string): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  if (Buffer.byteLength(folder) <= folderBytesMax) return { path: folder, remove: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), 'tollgate-'));
  const path = join(temporary, 'postgres');
  await symlink(folder, path);
  return { path, remove: () => rm(temporary, { recursive: true, force: true }) };
}
