// A disk that fails on request and loses data on request, over real files. Data that was written but not synced,
// including a file's name, may be lost after a power loss, torn at any byte and in any order. Sockets and the meta file
// are not affected.
import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { diskFs, type SpoolFs } from '../../sidecar/engine/spool/spool-fs.ts';
import { errnoError } from './spools.ts';

export type DiskOperation = 'open' | 'write' | 'truncate' | 'sync' | 'rename' | 'unlink';

export interface DiskFault {
  readonly operation: DiskOperation;
  /** `short`: less is written than requested, without an error; only for `write`. */
  readonly how: 'ENOSPC' | 'EIO' | 'short';
  /** How many bytes are still written, modulo the requested number; -1: as many as possible. */
  readonly at: number;
  readonly times: number;
}

interface File {
  readonly path: string;
  /** The minimum of its bytes that a power loss leaves. */
  durable: Buffer;
  isNameDurable: boolean;
  isUnlinked: boolean;
}

export interface ModelDisk {
  readonly fs: SpoolFs;
  /** The next operations of that kind fail, as many as the fault says. */
  fail(fault: DiskFault): void;
  heal(): void;
  /**
   * True when a write stored all its bytes although it failed, then cutting the file, writing and beginning a file all
   * failed too, and nothing has worked since. A later process may then find the refused data, because no record against
   * it could be written.
   */
  readonly isSpeechless: boolean;
  /** A byte of a file changes spontaneously. */
  rot(path: string, offset: number, xor: number): void;
  /** From now on every operation fails except closing files: the process is dead. */
  die(): void;
  /**
   * Writes into `into` the files that a later process finds: with `random` after a power loss, otherwise after a kill.
   */
  image(from: string, into: string, random?: () => number): void;
}

export function createModelDisk({ isSynced }: { isSynced: boolean }): ModelDisk {
  const files = new Map<string, File>();
  const pathOf = new Map<number, string>();
  let faults: (DiskFault & { left: number })[] = [];
  let isDead = false;
  let last: 'truncate' | 'write' | 'open' | undefined;
  const failed = new Set<DiskOperation>();
  let isAllThere = false;

  function meet(operation: DiskOperation): DiskFault | undefined {
    if (isDead) throw errnoError('EIO');
    const fault = faults.find((one) => one.operation === operation && one.left > 0);
    if (!fault) return undefined;
    fault.left -= 1;
    failed.add(operation === 'sync' && last ? last : operation);
    return fault;
  }

  function failAt(operation: DiskOperation): void {
    const fault = meet(operation);
    if (fault) throw errnoError(fault.how === 'short' ? 'EIO' : fault.how);
  }

  // With syncs data is confirmed when it is synced; a new file, when its folder is.
  function said(bySync: boolean): void {
    if (bySync !== isSynced) return;
    failed.clear();
    isAllThere = false;
  }

  function synced(fd: number): void {
    const path = pathOf.get(fd) ?? '';
    const file = files.get(path);
    if (file) {
      file.durable = existsSync(path) ? readFileSync(path) : file.durable;
      if (last !== 'open') said(true);
    } else {
      for (const inside of [...files.values()].filter((one) => dirname(one.path) === path)) {
        if (inside.isUnlinked) files.delete(inside.path);
        else inside.isNameDurable = true;
      }
      said(true);
    }
  }

  function settle(operation: DiskOperation, done: (error: NodeJS.ErrnoException | null) => void, work: () => void): void {
    setImmediate(() => {
      try {
        failAt(operation);
      } catch (error) {
        done(error instanceof Error ? error : null);
        return;
      }
      work();
    });
  }

  const fs: SpoolFs = {
    ...diskFs,
    openSync(path, flags, mode) {
      last = 'open';
      failAt('open');
      const fd = diskFs.openSync(path, flags, mode);
      pathOf.set(fd, path);
      if (flags === 'w') {
        const known = files.get(path);
        if (known) known.isUnlinked = false;
        else files.set(path, { path, durable: Buffer.alloc(0), isNameDurable: false, isUnlinked: false });
        said(false);
      }
      return fd;
    },
    writeSync(fd, buffer, offset, length, position) {
      last = 'write';
      const fault = meet('write');
      if (!fault) {
        const taken = diskFs.writeSync(fd, buffer, offset, length, position);
        said(false);
        return taken;
      }
      const most = fault.how === 'short' ? length - 1 : length;
      const bytes = fault.at < 0 ? most : fault.at % (most + 1);
      isAllThere ||= bytes === length;
      const taken = bytes > 0 ? diskFs.writeSync(fd, buffer, offset, bytes, position) : 0;
      if (fault.how === 'short') return taken;
      throw errnoError(fault.how);
    },
    ftruncateSync(fd, length) {
      last = 'truncate';
      failAt('truncate');
      diskFs.ftruncateSync(fd, length);
      said(false);
    },
    fsyncSync(fd) {
      failAt('sync');
      synced(fd);
    },
    fdatasync(fd, done) {
      isAllThere = true;
      settle('sync', done, () => {
        synced(fd);
        done(null);
      });
    },
    renameSync(from, to) {
      failAt('rename');
      diskFs.renameSync(from, to);
    },
    unlink(path, done) {
      settle('unlink', done, () => {
        const file = files.get(path);
        if (file) file.isUnlinked = true;
        unlinkSync(path);
        done(null);
      });
    },
  };

  function image(from: string, into: string, random?: () => number): void {
    for (const id of readdirSync(from).filter((name) => /^[0-9a-f]{32}$/.test(name))) {
      mkdirSync(join(into, id));
      const known = [...files.values()].filter(({ path }) => dirname(path) === join(from, id)).map(({ path }) => basename(path));
      const there = readdirSync(join(from, id)).filter((name) => !/^(alive|taking)/.test(name));
      for (const name of new Set([...there, ...known])) {
        const bytes = leftOf(join(from, id, name), random);
        if (bytes) writeFileSync(join(into, id, name), bytes);
      }
    }
  }

  function leftOf(path: string, random: (() => number) | undefined): Buffer | undefined {
    const file = files.get(path);
    const now = existsSync(path) ? readFileSync(path) : undefined;
    if (!random || !file) return now;
    const isSure = file.isNameDurable && !file.isUnlinked;
    const isPossible = file.isNameDurable || !file.isUnlinked;
    if (!isPossible || (!isSure && random() < 0.5)) return undefined;
    return blend(file.durable, now ?? file.durable, random);
  }

  return {
    fs,
    fail(fault) {
      faults = [...faults.filter((one) => one.operation !== fault.operation), { ...fault, left: fault.times }];
    },
    heal() {
      faults = [];
    },
    get isSpeechless() {
      return isAllThere && (['truncate', 'write', 'open'] as const).every((operation) => failed.has(operation));
    },
    rot(path, offset, xor) {
      const durable = files.get(path)?.durable;
      if (durable !== undefined && offset < durable.length) durable[offset] = (durable[offset] ?? 0) ^ xor;
    },
    die() {
      isDead = true;
    },
    image,
  };
}

// A mix of any length between the two: each range of bytes is from one of them, or zeros where the older one has none.
function blend(durable: Buffer, now: Buffer, random: () => number): Buffer {
  const shorter = Math.min(durable.length, now.length);
  const longer = Math.max(durable.length, now.length);
  const shape = random();
  const length = shape < 0.3 ? durable.length : shape < 0.6 ? now.length : shorter + Math.floor(random() * (longer - shorter + 1));
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const until = Math.min(length, at + 1 + Math.floor(random() * 90));
    const source = random() < 0.5 ? durable : now;
    source.copy(bytes, at, Math.min(at, source.length), Math.min(until, source.length));
    at = until;
  }
  return bytes;
}
