// Debian's PostgreSQL 15, server and client programs, on a socket in a folder of the test. Backups are tested with it,
// since pg_dump cannot read a server newer than itself. `npm run check` installs it.
import { execFile, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const debianPostgresFolder = '/usr/lib/postgresql/15/bin';
const user = 'postgres';
const run = promisify(execFile);

export type DebianPostgres = Awaited<ReturnType<typeof startDebianPostgres>>;

/** PostgreSQL does not start as root. */
function accountOf(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout));
  if (uid === undefined || gid === undefined || !(uid > 0)) throw new Error(`there is no account ${user} to run PostgreSQL as`);
  return { uid, gid };
}

export async function startDebianPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pg15-'));
  const account = accountOf();
  if (account !== null) chownSync(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  /** Of the server's account, in a folder that it may read. */
  const program = (name: string, ...args: readonly string[]) =>
    run(join(debianPostgresFolder, name), [...args], { cwd: folder, ...account });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const settings = `-c listen_addresses= -c unix_socket_directories=${folder} -c fsync=off`;
  try {
    await program('initdb', '-D', data, '-U', user, '-A', 'trust', '-E', 'UTF8', '--no-sync');
    await program('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start');
  } catch (error) {
    remove();
    throw error;
  }
  return {
    folder,
    /** In the form of DATABASE_URL. */
    url: (database: string): string => `postgres://${user}@/${database}?host=${encodeURIComponent(folder)}`,
    /** Runs a client program, such as pg_dump. */
    program,
    address: (database: string) => ({ host: folder, user, database }),
    close: async () => {
      await program('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
      remove();
    },
  };
}
