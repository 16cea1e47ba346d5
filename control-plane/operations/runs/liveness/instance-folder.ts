// Which control planes of this machine run agents, by a folder for each: its owner holds it while it lives, and the kernel lets go of
// it with the process, however that ends. So the next start knows at once whose runs were left behind. Folders of another machine
// say nothing here.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, takeHold } from '@tollgate/sidecar/embed';

interface Own {
  readonly instance: string;
  readonly host: string;
  readonly randomId: () => string;
}

export interface InstanceFolder {
  /** Instances of this machine whose process has ended. */
  readonly dead: readonly string[];
  /** They need not be known any more. */
  forget(): Promise<void>;
  /** Call when this instance has no runs any more. */
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
  // It appears held: between two steps it would look dead.
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

/** Also where that cannot be told, it is taken for alive: it will be missed soon enough. */
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
