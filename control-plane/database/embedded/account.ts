// Chooses the account under which PostgreSQL runs, and runs PostgreSQL's programs under this account. PostgreSQL
// refuses to run as root. If our process runs as root, an unprivileged account is used; otherwise our own account.
// Called by the other files of this folder.
import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';

/** Absent: our own account. */
export type Account = { readonly uid: number; readonly gid: number } | undefined;

/** The account of macOS is named `_postgres`. */
const preferred = ['postgres', '_postgres', 'nobody'];

export async function chooseAccount(clusterDir: string): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  // An existing cluster keeps its owner, even if a preferred account has been created later.
  const owner = await stat(clusterDir).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of preferred) {
    const user = users.find((fields) => fields[0] === name);
    if (user) return { uid: Number(user[2]), gid: Number(user[3]) };
  }
  throw new Error(
    `PostgreSQL does not run as root, and none of the accounts ${preferred.join(', ')} exists. Start the control plane as another user, or set DATABASE_URL.`,
  );
}

/**
 * Returns the path of the cluster that PostgreSQL receives. On Linux it can be `/proc/self/cwd`, because PostgreSQL's
 * process changes into its working directory, the cluster, before it drops root's rights. The account can therefore
 * reach a cluster inside a home directory that is closed to the account. Other systems do not have this path.
 */
export const clusterPath = (account: Account, dir: string) => (account && process.platform === 'linux' ? '/proc/self/cwd' : dir);

export function accountOptions(account: Account) {
  return {
    ...account,
    // PostgreSQL gets its own process group and session. Ctrl-C in the terminal then reaches only our process, and our
    // process decides when PostgreSQL stops.
    detached: true,
    // PostgreSQL inherits no other variables: PGDATA, PGPORT, LD_PRELOAD and similar ones would change what runs.
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
  } satisfies SpawnOptions;
}

/** Returns the exit code. Rejects if the program cannot be started, or on abort. */
export async function runProgram(file: string, args: readonly string[], options: SpawnOptions): Promise<number | null> {
  const child = spawn(file, args, options);
  const [code] = await once(child, 'exit');
  return code;
}
