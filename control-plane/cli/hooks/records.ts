// What was made for our hooks, kept next to the profiles: so that taking them out leaves what was there before, and nothing else.
import { configFolder, connectionPath } from './connection.ts';
import { dirname } from 'node:path';
import { isRow, type Row } from '../answer.ts';
import { Failure } from '../failure.ts';
import type { World } from '../world.ts';
import { pathsOf } from './paths.ts';
import { makeFolder, readSettings, removeFolders, removeSettings, writeWhole } from './settings-file.ts';

export type Here = Pick<World, 'env' | 'home' | 'cwd'> & { readonly platform?: NodeJS.Platform };

export interface Made {
  /** In the file, in the words of who edits it. */
  readonly made: readonly string[];
  /** The file too. */
  readonly file: boolean;
  /** And these folders, outermost first. */
  readonly folders: readonly string[];
}

/** Of our own folder: a name that no settings have. */
const ownFolder = '';

const recordPath = (here: Here): string => pathsOf(here).join(configFolder(here), 'hooks.json');

async function readRecords(here: Here): Promise<Row | null> {
  const text = await readSettings(recordPath(here));
  if (text === null) return null;
  const value = parsed(text);
  if (isRow(value)) return value;
  // Taken for empty, it would leave what was made for hooks of ours.
  throw new Failure(
    `${recordPath(here)} must be one JSON object: it says what was made for hooks of ours. Correct it, or delete it: then what hooks leave empty stays, and ${connectionPath(here)} too`,
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

/** Null: nothing is known of it. */
export async function readRecord(here: Here, path: string): Promise<Made | null> {
  const record = (await readRecords(here))?.[path];
  return isRow(record) ? { made: textsIn(record['made']), file: record['file'] === true, folders: textsIn(record['folders']) } : null;
}

export async function writeRecord(here: Here, path: string, record: Made): Promise<void> {
  const { [path]: _, ...others } = (await readRecords(here)) ?? {};
  await writeOwn(here, recordPath(here), { ...others, [path]: record });
}

/** Keeps the address and key that `tollgate hook` asks with. */
export async function keepConnection(here: Here, connection: { readonly sidecar: string; readonly key: string }): Promise<string> {
  const path = connectionPath(here);
  await writeOwn(here, path, connection);
  return path;
}

async function writeOwn(here: Here, path: string, value: unknown): Promise<void> {
  const folders = await makeFolder(dirname(path), 0o700);
  await writeWhole(path, `${JSON.stringify(value, null, 2)}\n`, 0o600);
  if (folders.length > 0) await writeRecord(here, ownFolder, { made: [], file: false, folders });
}

/** Without those of files that are gone, such as those of a project that was deleted. */
async function thatAreThere(records: Row): Promise<Row> {
  const found = await Promise.all(
    Object.entries(records).map(async ([path, record]) => {
      // What cannot be read may be there.
      const isThere = path === ownFolder || (await readSettings(path).catch(() => '')) !== null;
      return isThere ? [[path, record] as const] : [];
    }),
  );
  return Object.fromEntries(found.flat());
}

/** With the last hooks go the key and all that is known of them; `isNeeded`: other hooks still ask with the key. */
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
