// The subfolders of the spool folder, one for each process that wrote entries there: how they appear, what they say
// about themselves, how they vanish. All three at one instant, by a rename:
//   <id>.new   being made; nobody looks at it
//   <id>       a spool, with its meta file and, from its first moment, its owner's socket
//   <id>.gone  acknowledged to the end; whoever sees it may delete it
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hold, takeHold } from './hold.ts';

const format = 1;

/** Makes the spool folder too, if need be. */
export async function makeSpoolFolder(
  root: string,
  { id, workspace, randomId }: { id: string; workspace: string; randomId: () => string },
): Promise<Hold> {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const making = join(root, `${id}.new`);
  const folder = join(root, id);
  mkdirSync(making, { mode: 0o700 });
  writeFileSync(metaIn(making), JSON.stringify({ format, workspace }), { flush: true });
  const hold = await takeHold(making, randomId);
  if (!hold) throw new Error(`the new spool ${making} is held by another process`);
  renameSync(making, folder);
  return { ...hold, folder };
}

export interface FoundSpool {
  readonly id: string;
  readonly folder: string;
  /** undefined: not a spool that this version can read. */
  readonly workspace: string | undefined;
}

/** Every spool there is, dead or alive. */
export function listSpools(root: string): readonly FoundSpool[] {
  const ids = namesIn(root).filter((name) => /^[0-9a-f]{32}$/.test(name));
  return ids.map((id) => ({ id, folder: join(root, id), workspace: readWorkspace(join(root, id)) }));
}

export async function removeSpoolFolder(folder: string): Promise<void> {
  renameSync(folder, `${folder}.gone`);
  await rm(`${folder}.gone`, { recursive: true, force: true });
}

/** What a process that died while it removed its spool left behind. */
export async function removeRemnants(root: string): Promise<void> {
  for (const name of namesIn(root)) {
    if (/^[0-9a-f]{32}\.gone$/.test(name)) await rm(join(root, name), { recursive: true, force: true });
  }
}

function namesIn(root: string): readonly string[] {
  return readdirSync(root);
}

function readWorkspace(folder: string): string | undefined {
  try {
    const meta: unknown = JSON.parse(readFileSync(metaIn(folder), 'utf8'));
    if (typeof meta !== 'object' || meta === null || !('format' in meta) || !('workspace' in meta)) return undefined;
    return meta.format === format && typeof meta.workspace === 'string' ? meta.workspace : undefined;
  } catch {
    return undefined;
  }
}

function metaIn(folder: string): string {
  return join(folder, 'spool.json');
}
