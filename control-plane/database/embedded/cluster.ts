// Creates the cluster, PostgreSQL's data directory, at the first start. It is created under a temporary name and
// renamed when complete. Therefore data/ is either absent or complete, however often a start was killed. Called by
// `start.ts`, which holds the lock.
import { chown, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Account, accountOptions, clusterPath, runProgram } from './account.ts';
import { openLog } from './server-log.ts';
import { superuser } from './settings.ts';

interface ClusterConfig {
  readonly home: string;
  readonly binaries: string;
  readonly account: Account;
  readonly logFile: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export async function createCluster(config: ClusterConfig): Promise<void> {
  const { home, account, log } = config;
  await removeHalfMade(home);
  if (await stat(join(home, 'data')).catch(() => undefined)) return;
  log(`creating the embedded PostgreSQL in ${home}`);
  const draft = await mkdtemp(join(home, 'init-'));
  if (account) await chown(draft, account.uid, account.gid);
  await initialise(draft, config).catch(async (error: unknown) => {
    await removeHalfMade(home);
    throw error;
  });
  await rename(draft, join(home, 'data'));
  await syncFolder(home);
}

async function initialise(draft: string, { binaries, account, logFile, signal }: ClusterConfig): Promise<void> {
  const args = [
    '-D',
    clusterPath(account, draft),
    `--username=${superuser}`,
    '--no-instructions',
    // The method `trust` is safe, because the socket is in the cluster's folder with mode 0700: a user who can connect
    // can also read and write the files. The method `peer` would reject root, because root's name differs from the name
    // of the account.
    '--auth=trust',
    // These settings give the same sort order and case rules on every machine.
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  const output = await openLog(logFile);
  try {
    const stdio = ['ignore' as const, output.fd, output.fd];
    const code = await runProgram(join(binaries, 'bin/initdb'), args, { ...accountOptions(account), cwd: draft, stdio, signal });
    if (code !== 0) throw new Error(await output.explain(`PostgreSQL's initdb failed with exit code ${code}`));
  } finally {
    await output.close();
  }
}

async function removeHalfMade(home: string): Promise<void> {
  // An initdb whose parent was killed can continue to write for a moment. For this reason there are retries.
  const drafts = (await readdir(home)).filter((name) => name.startsWith('init-'));
  for (const draft of drafts) await rm(join(home, draft), { recursive: true, force: true, maxRetries: 20 });
}

/**
 * Writes the rename to the disk. Without this, the draft's name could return after a power failure, and all data would
 * be lost.
 */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
