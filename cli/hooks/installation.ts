// Adds our hooks to a host's settings and removes them again. The removal restores exactly the earlier state, because
// `records.ts` records what was created for the hooks.
import { realpath } from 'node:fs/promises';
import { hosts, type HostName } from '@tollgate/proto/contract';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../failure.ts';
import { BadSettings, readSettings, removeFolders, removeOldCopy, removeSettings, replaceSettings } from './settings-file.ts';
import { connectionPath } from './connection.ts';
import type { HostSettings, Installed, Scope, Way } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { dropRecord, type Here, readRecord, writeRecord } from './records.ts';

export interface Done {
  readonly host: HostName;
  readonly path: string;
  readonly changed: boolean;
}

const none = { made: [], file: false, folders: [] };

export async function installHooks(here: Here, host: HostName, scope: Scope, way: Way): Promise<Done> {
  const settings = hostSettings[host];
  const path = settings.file(scope, here, here.cwd);
  const before = await readSettings(path);
  const known = (await readRecord(here, path)) ?? none;
  const names = await namesOf(path);
  const edit = withPlace(path, () => settings.add(before ?? '', way, { made: known.made, names }));
  if (before !== null && isAsBefore(settings, before, edit.text)) return { host, path, changed: false };
  const own = await followInOwn(here, settings, { names, text: before ?? '', made: known.made, isReplaced: true });
  const folders = await writeBoth(own, () => replaceSettings(path, edit.text, before));
  await removeOldCopy(path);
  await writeRecord(here, path, {
    made: [...new Set([...known.made, ...edit.made])],
    file: known.file || before === null,
    folders: [...folders, ...known.folders],
  });
  return { host, path, changed: true };
}

/** Whether there is nothing to write. If our hooks are already as wanted, they stay where they are in the text. */
const isAsBefore = (settings: HostSettings, before: string, after: string): boolean =>
  after === before || (settings.ours !== undefined && isDeepStrictEqual(settings.ours(before), settings.ours(after)));

/** After a failed install: removes the key that was stored for it, if no other hooks use it. */
export async function dropUnusedConnection(here: Here, host: HostName, scope: Scope): Promise<void> {
  if (await areInstalled(here)) return;
  await removeSettings(connectionPath(here));
  await dropRecord(here, hostSettings[host].file(scope, here, here.cwd), async () => false);
}

export async function uninstallHooks(here: Here, host: HostName, scope: Scope): Promise<Done> {
  const settings = hostSettings[host];
  const path = settings.file(scope, here, here.cwd);
  const before = await readSettings(path);
  const known = (await readRecord(here, path)) ?? none;
  const names = await namesOf(path);
  const after = before === null ? null : withPlace(path, () => settings.remove(before, known.made, { names }));
  const own = await followInOwn(here, settings, { names, text: before ?? '', made: known.made, isReplaced: false });
  const changed = before !== after;
  await writeBoth(own, async () => {
    if (before !== null && after !== null && changed) await replaceSettings(path, after, before);
  });
  await removeOldCopy(path);
  // `known.file`: the file was created for our hooks. It is removed if it has no other content.
  if (after !== null && known.file && settings.isBare(after)) await removeSettings(path);
  await removeFolders(known.folders);
  await dropRecord(here, path, () => areInstalled(here));
  return { host, path, changed };
}

interface OwnEdit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the edit of the user's own settings. The host stores data there about the hooks in other files. This function
 * writes nothing, so that all edits are computed before the first one is written. Null: no edit is needed.
 */
async function followInOwn(
  here: Here,
  settings: HostSettings,
  departure: Parameters<NonNullable<HostSettings['follow']>>[1],
): Promise<OwnEdit | null> {
  const path = settings.file('user', here, here.cwd);
  // If the hooks are in the user's own settings, the edit of the hooks already includes this change.
  if (settings.follow === undefined || (await namesOf(path)).some((name) => departure.names.includes(name))) return null;
  const before = await readSettings(path);
  if (before === null) return null;
  const after = withPlace(path, () => settings.follow?.(before, departure) ?? before);
  return after === before ? null : { path, before, after };
}

/** Writes both files. If the second one cannot be written, the first one is restored. */
async function writeBoth<T>(own: OwnEdit | null, write: () => Promise<T>): Promise<T> {
  if (own === null) return write();
  await replaceSettings(own.path, own.after, own.before);
  try {
    return await write();
  } catch (error) {
    await replaceSettings(own.path, own.before, own.after);
    throw error;
  }
}

/** Whether any host has hooks of ours, as far as this process can see. */
async function areInstalled(here: Here): Promise<boolean> {
  for (const host of hosts)
    for (const scope of ['user', 'project'] as const) {
      const path = hostSettings[host].file(scope, here, here.cwd);
      const text = await readSettings(path).catch(() => null);
      // A file that cannot be read counts as a file without our hooks.
      if (text !== null && hasOurs(hostSettings[host], text)) return true;
    }
  return false;
}

function hasOurs(settings: HostSettings, text: string): boolean {
  try {
    return settings.installed(text) !== null;
  } catch (error) {
    if (error instanceof BadSettings) return /tollgate|bin\.js/.test(text);
    throw error;
  }
}

interface Found {
  readonly path: string;
  readonly text: string;
  readonly installed: Installed | null;
}

export async function findHooks(here: Here, host: HostName, scope: Scope): Promise<Found> {
  const path = hostSettings[host].file(scope, here, here.cwd);
  const text = await readSettings(path);
  return { path, text: text ?? '', installed: text === null ? null : withPlace(path, () => hostSettings[host].installed(text)) };
}

/** Returns all paths of a file: its own path, and the target of a link. */
export const namesOf = async (path: string): Promise<readonly string[]> => [...new Set([path, await realpath(path).catch(() => path)])];

function withPlace<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BadSettings) throw new Failure(`${path} cannot be edited, and is not changed: ${error.message}`);
    throw error;
  }
}
