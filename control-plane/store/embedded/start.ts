// Starts the embedded PostgreSQL, or adopts the one a killed control plane left behind. The
// control plane's start-up calls it when there is no DATABASE_URL.
//
// One control plane at a time holds <dataDir>/postgres (lock.ts); the holder finds the server
// in one of four states:
//   answering   a predecessor was killed and its server lives on: adopt it.
//   busy        it is starting, recovering or stopping: wait until it is answering or gone.
//   silent      its process lives but nobody answers on the socket: stop it, then as absent.
//   absent      no process: create the cluster if this is the first start, then launch.
// From then on it is kept running (keep-running.ts) until close(), which stops it whether launched
// or adopted. If we die first it runs on, answering, for our successor.
//
//   <dataDir>/postgres/             ours, closed to others
//     data/                         the cluster and its socket, owned by the server's account
//     server.log                    what PostgreSQL says
//     holder-<pid>-<random>.sock    the lock
import { mkdir, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { chooseAccount } from './account.ts';
import { findNative, prepareBinaries } from './binaries.ts';
import { createCluster } from './cluster.ts';
import { keepRunning } from './keep-running.ts';
import type { Connection } from './knock.ts';
import { acquireLock } from './lock.ts';
import { adoptPostmaster, launchPostmaster, type Postmaster, type Server } from './postmaster.ts';
import { shortenPath } from './short-path.ts';

export interface EmbeddedConfig {
  /** Absolute. Everything is kept in its folder `postgres`. */
  readonly dataDir: string;
  readonly log: (line: string) => void;
  /** What somebody should know of: that it ended, and runs again. By default `log`. */
  readonly warn?: ((line: string) => void) | undefined;
  /** Abandons the start; once started, only close() stops the server. */
  readonly signal?: AbortSignal | undefined;
  /** PostgreSQL's bin, lib and share; by default those of the npm package. */
  readonly native?: string | undefined;
  /** Where the binaries are copied when the server's account cannot run them in place. */
  readonly copyDir?: string | undefined;
}

export interface EmbeddedPostgres {
  /** For `new pg.Pool(connection)`. */
  readonly connection: Connection;
  /** True when the server was already running. */
  readonly adopted: boolean;
  /** Stops the server, which rolls back what is open, and waits for its end. */
  readonly close: () => Promise<void>;
}

/** Whether one was ever made there. */
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
    // A cluster that is gone is an error then, and nothing to make another one for.
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

/** `new`: the cluster is made where there is none. */
async function launch(config: EmbeddedConfig, home: string, server: Server, cluster: 'new' | 'old'): Promise<Postmaster> {
  const account = await chooseAccount(server.dir);
  const { native = findNative(), copyDir = defaultCopyDir(home), log, signal } = config;
  const binaries = await prepareBinaries({ native, account, copyDir, log });
  if (cluster === 'new') await createCluster({ home, binaries, account, logFile: server.logFile, log, signal });
  return launchPostmaster(server, binaries, account);
}

/** Root's copy must lie where another account reaches it and only root may write: not in a temporary folder. */
const defaultCopyDir = (home: string) => (process.getuid?.() === 0 ? '/var/lib/tollgate' : home);

async function openHome(dataDir: string): Promise<string> {
  if (!isAbsolute(dataDir)) throw new Error(`The data directory must be an absolute path, not ${dataDir}`);
  const home = join(dataDir, 'postgres');
  const uid = process.getuid?.();
  // Under root the server's account must pass through; what is private lies deeper, in data/, mode 0700.
  const mode = uid === 0 ? 0o711 : 0o700;
  await mkdir(dataDir, { recursive: true, mode });
  // Not by `recursive` as well: of a file system that takes no folders, as /proc, Node would ask for it without end.
  await mkdir(home, { mode }).catch((error: unknown) => throwUnlessThere(home, error));
  const owner = (await stat(home)).uid;
  // Root working in a folder that a plain user controls could be led, by a link, into writing anywhere.
  if (owner !== uid)
    throw new Error(`${home} belongs to user ${owner} and we run as ${uid}: start as that user or set another TOLLGATE_DATA_DIR.`);
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
