// Creates the cluster, PostgreSQL's data directory, at the first start. It is made under a
// temporary name and renamed when complete: data/ is absent or whole, however often a start
// was killed. Called by start.ts, which holds the lock.
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
    // Trust, because the socket lies in the cluster's folder, mode 0700: who gets as far as connecting
    // could as well read and write the files themselves. Peer would shut out root, whose name is not the account's.
    '--auth=trust',
    // The same order and case rules on every machine.
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
  // An initdb whose parent was killed may write for a moment longer, hence the retries.
  const drafts = (await readdir(home)).filter((name) => name.startsWith('init-'));
  for (const draft of drafts) await rm(join(home, draft), { recursive: true, force: true, maxRetries: 20 });
}

/** Without it a power cut could bring the draft's name back, and with it the loss of all data. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
