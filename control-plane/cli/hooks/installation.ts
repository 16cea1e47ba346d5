// Puts our hooks into a host's settings and takes them out again. What was made for them on the way is remembered beside the
// profiles, so that taking them out leaves what was there before, and nothing else.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HostName } from '@tollgate/proto/contract';
import { isRow, type Row } from '../answer.ts';
import { Failure } from '../failure.ts';
import type { World } from '../world.ts';
import { configFolder, connectionPath } from './connection.ts';
import type { Installed, Scope, Way } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { BadSettings } from './jsonc.ts';
import { readSettings, removeSettings, replaceSettings, writeWhole } from './settings-file.ts';

type Here = Pick<World, 'env' | 'home' | 'cwd'>;

export interface Done {
  readonly host: HostName;
  readonly path: string;
  readonly changed: boolean;
  /** A copy of what was there. */
  readonly backup: string | null;
}

export async function installHooks(here: Here, host: HostName, scope: Scope, way: Way): Promise<Done> {
  const settings = hostSettings[host];
  const path = settings.file(scope, here, here.cwd);
  const before = await readSettings(path);
  const known = await readRecord(here, path);
  const bare = withPlace(path, () => settings.remove(before ?? '', []));
  const edit = withPlace(path, () => settings.add(bare, way));
  const made = [...new Set([...edit.made, ...known.made])];
  if (edit.text === before) return { host, path, changed: false, backup: null };
  const backup = await replaceSettings(path, edit.text, bare === before);
  await writeRecord(here, path, { made, file: known.file || before === null });
  return { host, path, changed: true, backup };
}

export async function uninstallHooks(here: Here, host: HostName, scope: Scope): Promise<Done> {
  const settings = hostSettings[host];
  const path = settings.file(scope, here, here.cwd);
  const before = await readSettings(path);
  if (before === null) return { host, path, changed: false, backup: null };
  const known = await readRecord(here, path);
  const after = withPlace(path, () => settings.remove(before, known.made));
  if (after === before) return { host, path, changed: false, backup: null };
  const backup = await replaceSettings(path, after, false);
  // The file was made for our hooks too.
  if (known.file && settings.isBare(after)) await removeSettings(path);
  await writeRecord(here, path, null);
  return { host, path, changed: true, backup };
}

interface Found {
  readonly path: string;
  readonly installed: Installed | null;
}

export async function findHooks(here: Here, host: HostName, scope: Scope): Promise<Found> {
  const path = hostSettings[host].file(scope, here, here.cwd);
  const text = await readSettings(path);
  return { path, installed: text === null ? null : withPlace(path, () => hostSettings[host].installed(text)) };
}

function withPlace<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BadSettings) throw new Failure(`${path} cannot be edited, and is left as it is: ${error.message}`);
    throw error;
  }
}

/** Keeps the address and key that `tollgate hook` asks with. */
export async function keepConnection(here: Here, connection: { readonly sidecar: string; readonly key: string }): Promise<string> {
  const path = connectionPath(here);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeWhole(path, `${JSON.stringify(connection, null, 2)}\n`, 0o600);
  return path;
}

interface Made {
  /** Containers that were made for our hooks. */
  readonly made: readonly string[];
  /** The file too. */
  readonly file: boolean;
}

const recordPath = (here: Here): string => join(configFolder(here), 'hooks.json');

async function readRecords(here: Here): Promise<Row> {
  const text = await readSettings(recordPath(here));
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return isRow(value) ? value : {};
  } catch {
    return {};
  }
}

async function readRecord(here: Here, path: string): Promise<Made> {
  const record = (await readRecords(here))[path];
  const made = isRow(record) && Array.isArray(record['made']) ? record['made'].filter((one) => typeof one === 'string') : [];
  return { made, file: isRow(record) && record['file'] === true };
}

async function writeRecord(here: Here, path: string, record: Made | null): Promise<void> {
  const { [path]: _, ...others } = await readRecords(here);
  const records = record === null ? others : { ...others, [path]: record };
  await mkdir(configFolder(here), { recursive: true, mode: 0o700 });
  await writeWhole(recordPath(here), `${JSON.stringify(records, null, 2)}\n`, 0o600);
}
