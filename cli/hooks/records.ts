// Records what was created for our hooks, in a file next to the profiles, so that an uninstall restores exactly the
// earlier state.
import { configFolder, connectionPath } from './connection.ts';
import { dirname } from 'node:path';
import { isRow, type Row } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import type { World } from '../world.ts';
import { pathsOf } from './paths.ts';
import { makeFolder, readSettings, removeFolders, removeSettings } from './settings-file.ts';
import { replaceFile } from '../files.ts';

export type Here = Pick<World, 'env' | 'home' | 'cwd'> & { readonly platform?: NodeJS.Platform };

export interface Made {
  /** What was created in the file, in the format of the code that edits it. */
  readonly made: readonly string[];
  /** Whether the file was created too. */
  readonly file: boolean;
  /** The folders that were created too, outermost first. */
  readonly folders: readonly string[];
}

/** The name of the record for our own folder. No settings file has this name. */
const ownFolder = '';

const recordPath = (here: Here): string => pathsOf(here).join(configFolder(here), 'hooks.json');

async function readRecords(here: Here): Promise<Row | null> {
  const text = await readSettings(recordPath(here));
  if (text === null) return null;
  const value = parsed(text);
  if (isRow(value)) return value;
  // If the content were ignored, what was created for our hooks would never be removed.
  throw new Failure(
    `${recordPath(here)} must contain one JSON object: the record of everything that "tollgate hooks install" created. Correct the file, or delete it. If you delete it, "tollgate hooks uninstall" does not remove ${connectionPath(here)}, nor the empty lists and objects that were created in settings files`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);

/** Returns what was created for the hooks in the file at `path`; null: there is no record. */
export async function readRecord(here: Here, path: string): Promise<Made | null> {
  const record = (await readRecords(here))?.[path];
  return isRow(record) ? { made: textsIn(record['made']), file: record['file'] === true, folders: textsIn(record['folders']) } : null;
}

export async function writeRecord(here: Here, path: string, record: Made): Promise<void> {
  const { [path]: _, ...others } = (await readRecords(here)) ?? {};
  await writeOwn(here, recordPath(here), { ...others, [path]: record });
}

/** Stores the address and key that `tollgate hook` uses. */
export async function keepConnection(here: Here, connection: { readonly sidecar: string; readonly key: string }): Promise<string> {
  const path = connectionPath(here);
  await writeOwn(here, path, connection);
  return path;
}

async function writeOwn(here: Here, path: string, value: unknown): Promise<void> {
  const folders = await makeFolder(dirname(path), 0o700);
  await replaceFile(path, `${JSON.stringify(value, null, 2)}\n`, 0o600);
  if (folders.length > 0) await writeRecord(here, ownFolder, { made: [], file: false, folders });
}

/** Returns only the records of files that still exist. For example, the files of a deleted project do not. */
async function thatAreThere(records: Row): Promise<Row> {
  const found = await Promise.all(
    Object.entries(records).map(async ([path, record]) => {
      // A file that cannot be read is treated as existing, so its record stays.
      const isThere = path === ownFolder || (await readSettings(path).catch(() => '')) !== null;
      return isThere ? [[path, record] as const] : [];
    }),
  );
  return Object.fromEntries(found.flat());
}

/**
 * Removes the record of a file. If it is the last record and no other hooks need the key, the key and all records are
 * removed. `isNeeded`: whether other hooks still use the key.
 */
export async function dropRecord(here: Here, path: string, isNeeded: () => Promise<boolean>): Promise<void> {
  const records = await readRecords(here);
  if (records === null) return;
  const { [path]: _, ...rest } = records;
  const others = await thatAreThere(rest);
  const isLast = Object.keys(others).every((name) => name === ownFolder) && !(await isNeeded());
  if (!isLast) return writeOwn(here, recordPath(here), others);
  const own = await readRecord(here, ownFolder);
  await removeSettings(connectionPath(here));
  await removeSettings(recordPath(here));
  await removeFolders(own?.folders ?? [configFolder(here)]);
}
