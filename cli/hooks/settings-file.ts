// Reads and replaces a settings file of another program. The file is replaced completely or not changed, and keeps its
// mode. A link is followed to the real file. A read-only file is left unchanged.
import { access, constants, mkdir, readFile, readlink, realpath, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import { replaceFile } from '../files.ts';

const bytesMax = 4 * 1024 * 1024;

/** Returns the text of the file; null when it does not exist. */
export async function readSettings(path: string): Promise<string | null> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > bytesMax) throw new Failure(`${path} is larger than ${bytesMax} bytes, and is not changed`);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (error instanceof Failure) throw error;
    throw new Failure(error instanceof TypeError ? `${path} is not UTF-8` : `${path} cannot be read (${codeOf(error)})`, [], error);
  }
}

/**
 * Replaces the content of a file. `before`: the content that was read; if the file has changed since then, nothing is
 * written and a Failure is thrown. Returns the folders that were created for the file.
 */
export async function replaceSettings(path: string, text: string, before: string | null): Promise<readonly string[]> {
  try {
    const target = await targetOf(path);
    const folders = await makeFolder(dirname(target));
    const mode = await modeOf(target);
    if (mode !== null && !(await isWritable(target, mode)))
      throw new Failure(`${path} is read-only, and is not changed; to make it writable: chmod u+w ${target}`);
    if ((await readSettings(path)) !== before)
      throw new Failure(`another program changed ${path} in the meantime, so tollgate did not write to it; try again`);
    await replaceFile(target, text, mode ?? 0o600);
    return folders;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${path} cannot be written (${codeOf(error)})`, [], error);
  }
}

/** Creates a folder. Returns the folders that did not exist before, outermost first. */
export async function makeFolder(folder: string, mode?: number): Promise<readonly string[]> {
  const first = await mkdir(folder, { recursive: true, ...(mode === undefined ? {} : { mode }) });
  if (first === undefined) return [];
  const made = [folder];
  for (let next = folder; next !== first && dirname(next) !== next; ) {
    next = dirname(next);
    made.unshift(next);
  }
  return made;
}

/** Removes only empty folders. A folder with files of another program stays. */
export async function removeFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toReversed()) await rmdir(folder).catch(() => undefined);
}

/** Removes the file. A link to it stays. */
export async function removeSettings(path: string): Promise<void> {
  await rm(await targetOf(path), { force: true });
}

/** Removes the copy that older versions created. After a proven edit it is useless, and its content is outdated. */
export async function removeOldCopy(path: string): Promise<void> {
  await rm(`${await targetOf(path)}.before-tollgate`, { force: true });
}

const linksMax = 40;

/** Returns the real path behind the links of a path, whether the file exists or not. */
async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < linksMax; links++) {
    const folder = await realpath(dirname(target)).catch(() => dirname(target));
    const next = await readlink(target).catch(() => null);
    if (next === null) return realpath(target).catch(() => target);
    target = resolve(folder, next);
  }
  throw new Failure(`${path} is a link to itself or a chain of too many links`);
}

/** Returns the permission bits of a file; null: it does not exist. */
async function modeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Whether the file may be written. A read-only mode is respected, even for a user who could write every file, such as
 * root.
 */
const isWritable = async (path: string, mode: number): Promise<boolean> =>
  (mode & 0o222) !== 0 &&
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  );

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

/** Tells why the settings of a host are left unchanged, with line and column. */
export class BadSettings extends Error {
  override readonly name = 'BadSettings';

  constructor(text: string, at: number, words: string) {
    const before = text.slice(0, at).split('\n');
    super(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${words}`);
  }
}

/**
 * Returns the error for an edit whose result is not the intended one. The last check before a file is written uses it.
 */
export const unprovenEdit = (text: string, at: number, what: string): BadSettings =>
  new BadSettings(text, at, `${what} cannot be changed here without another change; edit it by hand`);
