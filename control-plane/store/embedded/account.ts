// Says under which account PostgreSQL runs, and runs its programs there. PostgreSQL refuses
// root, so under root that is an unprivileged account; otherwise it is our own.
// Called by the other files of this folder.
import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';

/** Absent: our own account. */
export type Account = { readonly uid: number; readonly gid: number } | undefined;

/** macOS calls its own `_postgres`. */
const preferred = ['postgres', '_postgres', 'nobody'];

export async function chooseAccount(clusterDir: string): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  // An existing cluster keeps its owner, also when a preferred account has appeared since.
  const owner = await stat(clusterDir).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of preferred) {
    const user = users.find((fields) => fields[0] === name);
    if (user) return { uid: Number(user[2]), gid: Number(user[3]) };
  }
  throw new Error(
    `PostgreSQL does not run as root and none of the accounts ${preferred.join(', ')} exists: start as another user or set DATABASE_URL.`,
  );
}

/**
 * What PostgreSQL is to call the cluster. The change into a working directory happens before
 * root's rights are dropped, so through this name the account reaches a cluster that lies in
 * someone's closed home. Only Linux has it.
 */
export const clusterPath = (account: Account, dir: string) => (account && process.platform === 'linux' ? '/proc/self/cwd' : dir);

export function accountOptions(account: Account) {
  return {
    ...account,
    // A group and session of its own: Ctrl-C in our terminal is for us, and we decide when PostgreSQL stops.
    detached: true,
    // Nothing else is inherited: PGDATA, PGPORT, LD_PRELOAD and the like would change what runs.
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
  } satisfies SpawnOptions;
}

/** The exit code. Rejects when the program cannot be started, or on abort. */
export async function runProgram(file: string, args: readonly string[], options: SpawnOptions): Promise<number | null> {
  const child = spawn(file, args, options);
  const [code] = await once(child, 'exit');
  return code;
}
