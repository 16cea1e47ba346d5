// Determines which control planes of this machine run agents. Each control plane has a folder, and holds a lock on it
// while it is alive. The kernel releases the lock when the process ends for any reason. The next start therefore knows
// immediately which runs were abandoned. Folders of another machine are ignored.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, takeHold } from '@tollgate/sidecar/engine';

interface Own {
  readonly instance: string;
  readonly host: string;
  readonly randomId: () => string;
}

export interface InstanceFolder {
  /** Instances of this machine whose process has ended. */
  readonly dead: readonly string[];
  /** Deletes the folders of the dead instances. */
  forget(): Promise<void>;
  /** Call when this instance has no more runs. */
  readonly close: () => Promise<void>;
}

const hostFile = 'host';

export async function openInstanceFolder(root: string, { instance, host, randomId }: Own): Promise<InstanceFolder> {
  makeFolder(root);
  const dead: { readonly folder: string; readonly id: string }[] = [];
  for (const id of readdirSync(root).filter((name) => /^[A-Za-z0-9]+$/.test(name))) {
    const folder = join(root, id);
    if (await isDead(folder, host, randomId)) dead.push({ folder, id });
  }
  // The folder is created under another name and renamed after it is locked. Otherwise the instance would look dead
  // before the folder is locked.
  const making = join(root, `${instance}.new`);
  const own = join(root, instance);
  mkdirSync(making, { mode: 0o700 });
  writeFileSync(join(making, hostFile), host);
  const hold = await takeHold(making, randomId);
  renameSync(making, own);
  return {
    dead: dead.map(({ id }) => id),
    forget: async () => {
      for (const { folder } of dead) await rm(folder, { recursive: true, force: true });
    },
    close: async () => {
      hold?.release();
      await rm(own, { recursive: true, force: true });
    },
  };
}

/**
 * Whether the process of the folder's instance has ended. If this cannot be determined, the instance counts as alive.
 * An instance that is in fact dead is then found by its missing heartbeats.
 */
async function isDead(folder: string, host: string, randomId: () => string): Promise<boolean> {
  try {
    if (readFileSync(join(folder, hostFile), 'utf8') !== host) return false;
    const hold = await takeHold(folder, randomId);
    hold?.release();
    return hold !== undefined;
  } catch {
    return false;
  }
}
