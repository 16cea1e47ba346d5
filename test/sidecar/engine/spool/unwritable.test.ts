import { readdirSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Spool } from '../../../../sidecar/engine/spool/spool.ts';
import { diskFs, type SpoolFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { AuditUnavailable } from '../../../../sidecar/engine/spool/unavailable.ts';
import { createModelDisk, type ModelDisk } from '../../../support/model-disk.ts';
import { errnoError, openTestSpool, readAll, readLeftBehind, segmentFiles, temporaryFolder, textOf } from '../../../support/spools.ts';

type Fault = 'ENOSPC' | 'EIO' | 'short' | 'all but' | 'cannot cut back' | 'no new segment' | 'no new name' | 'sync';

/** A disk that behaves as the current fault defines. */
function createFaultyDisk(): { fault: Fault | undefined; readonly fs: Partial<SpoolFs> } {
  const disk: { fault: Fault | undefined; readonly fs: Partial<SpoolFs> } = {
    fault: undefined,
    fs: {
      openSync(path, flags, mode) {
        if (disk.fault === 'no new segment' && flags === 'w') throw errnoError('ENOSPC');
        return diskFs.openSync(path, flags, mode);
      },
      writeSync(fd, buffer, offset, length, position) {
        switch (disk.fault) {
          case 'ENOSPC':
          case 'EIO':
            throw errnoError(disk.fault);
          case 'short':
            return diskFs.writeSync(fd, buffer, offset, Math.min(length, 21), position);
          case 'all but':
          case 'cannot cut back':
            return diskFs.writeSync(fd, buffer, offset, length - 1, position);
          default:
            return diskFs.writeSync(fd, buffer, offset, length, position);
        }
      },
      ftruncateSync(fd, length) {
        if (disk.fault === 'cannot cut back') throw errnoError('EIO');
        diskFs.ftruncateSync(fd, length);
      },
      fsyncSync(fd) {
        if (disk.fault === 'no new name') throw errnoError('EIO');
        diskFs.fsyncSync(fd);
      },
      fdatasync(fd, done) {
        if (disk.fault === 'sync') setImmediate(done, errnoError('EIO'));
        else diskFs.fdatasync(fd, done);
      },
    },
  };
  return disk;
}

for (const fault of ['ENOSPC', 'EIO', 'short', 'all but', 'cannot cut back'] as const) {
  test(`${fault}: the entry is rejected, nothing of it stays, and the next one that fits is accepted with its sequence`, async () => {
    const folder = temporaryFolder();
    const disk = createFaultyDisk();
    const spool = await openTestSpool({ folder, fs: disk.fs });
    spool.append('{"n":1}');
    disk.fault = fault;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(() => spool.append('{"refused":true}')).toThrow(expect.objectContaining({ kind: 'audit_unavailable', why: 'unwritable' }));
    }
    expect(spool.failure).toContain('the spool cannot be written');
    expect(textOf(await readAll(spool.backlog))).toEqual(['1: {"n":1}']);
    disk.fault = undefined;
    expect(spool.append('{"n":2}')).toBe(2);
    expect(spool.failure).toBeUndefined();
    const wanted = ['1: {"n":1}', '2: {"n":2}'];
    expect(textOf(await readAll(spool.backlog))).toEqual(wanted);
    await spool.close();
    expect(await readLeftBehind(folder)).toEqual(wanted);
  });
}

test('a half-written group is rejected as a whole', async () => {
  const folder = temporaryFolder();
  const disk = createFaultyDisk();
  const spool = await openTestSpool({ folder, fs: disk.fs });
  disk.fault = 'cannot cut back';
  const answers = await Promise.allSettled(['1', '2', '3'].map(spool.appendAsync));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  disk.fault = undefined;
  expect(await spool.appendAsync('"taken"')).toBe(1);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(['1: "taken"']);
});

test('a sync that fails rejects its group and those behind it, and none of them is shipped', async () => {
  const folder = temporaryFolder();
  const disk = createFaultyDisk();
  const spool = await openTestSpool({ folder, fs: disk.fs, durability: 'disk' });
  await spool.appendAsync('"before"');
  disk.fault = 'sync';
  const answers = await Promise.allSettled(['1', '2', '3'].map(spool.appendAsync));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  disk.fault = undefined;
  expect(await spool.appendAsync('"after"')).toBe(2);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1: "before"', '2: "after"']);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(['1: "before"', '2: "after"']);
});

test('a sync that fails also rejects entries that came while it ran', async () => {
  const folder = temporaryFolder();
  let failSync = (): void => {};
  let syncAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    syncAsked = resolve;
  });
  const spool = await openTestSpool({
    folder,
    durability: 'disk',
    fs: {
      fdatasync(_fd, done) {
        failSync = () => done(errnoError('EIO'));
        syncAsked();
      },
    },
  });
  const first = spool.appendAsync('1');
  await asked;
  const answers = Promise.allSettled([first, spool.appendAsync('2')]);
  failSync();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await readAll(spool.backlog)).toEqual([]);
  await spool.close();
});

test('a segment that could not be started does not hide what is appended to the one before it', async () => {
  const folder = temporaryFolder();
  const disk = createFaultyDisk();
  const spool = await openTestSpool({ folder, fs: disk.fs, segmentBytes: 150, durability: 'disk' });
  const large = JSON.stringify('x'.repeat(80));
  await spool.appendAsync(large);
  disk.fault = 'no new name';
  await expect(spool.appendAsync(large)).rejects.toMatchObject({ why: 'unwritable' });
  disk.fault = undefined;
  expect(await spool.appendAsync('"small"')).toBe(2);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual([`1: ${large}`, '2: "small"']);
});

test('a rejected group is not shipped after a kill, whether the file could be cut back or only overwritten', async () => {
  for (const isOverwritten of [false, true]) {
    const disk = createModelDisk({ isSynced: false });
    const folder = temporaryFolder();
    const spool = await openTestSpool({ folder, fs: disk.fs });
    spool.append('"before"');
    disk.fail({ operation: 'write', how: 'EIO', at: -1, times: 1 });
    if (isOverwritten) disk.fail({ operation: 'truncate', how: 'EIO', at: 0, times: 9 });
    const answers = await Promise.allSettled(['"one"', '"two"'].map(spool.appendAsync));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await readAfterKill(disk, spool, folder)).toEqual(['1: "before"']);
  }
});

test('a rejected group that cannot be overwritten either ends where the next segment begins', async () => {
  const folder = temporaryFolder();
  const disk = createModelDisk({ isSynced: false });
  const marks: number[] = [];
  const fs: Partial<SpoolFs> = {
    ...disk.fs,
    writeSync(fd, buffer, offset, length, position) {
      if (buffer.byteLength > 17) return disk.fs.writeSync(fd, buffer, offset, length, position);
      marks.push(position);
      throw errnoError('EIO');
    },
  };
  const spool = await openTestSpool({ folder, fs });
  spool.append('"before"');
  disk.fail({ operation: 'write', how: 'EIO', at: -1, times: 1 });
  disk.fail({ operation: 'truncate', how: 'EIO', at: 0, times: 9 });
  expect(() => spool.append('"refused"')).toThrow(AuditUnavailable);
  expect(marks).toEqual([24]);
  expect(await readAfterKill(disk, spool, folder)).toEqual(['1: "before"']);
});

test('a part of a group, on a disk that then accepts nothing, is not shipped either', async () => {
  const folder = temporaryFolder();
  const disk = createModelDisk({ isSynced: false });
  let isLast = false;
  const fs: Partial<SpoolFs> = {
    ...disk.fs,
    writeSync(fd, buffer, offset, length, position) {
      const taken = disk.fs.writeSync(fd, buffer, offset, isLast ? 16 + 5 + 16 + 2 : length, position);
      if (isLast) disk.die();
      return taken;
    },
  };
  const spool = await openTestSpool({ folder, fs });
  spool.append('"before"');
  isLast = true;
  const answers = await Promise.allSettled(['"one"', '"two"'].map(spool.appendAsync));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await readAfterKill(disk, spool, folder)).toEqual(['1: "before"']);
});

test('with durability disk, what a failed sync rejected does not come back after a power loss', async () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const folder = temporaryFolder();
    const disk = createModelDisk({ isSynced: true });
    let isFailing = false;
    // Data that was not synced may still have reached the disk.
    const fdatasync: SpoolFs['fdatasync'] = (fd, done) => disk.fs.fdatasync(fd, (error) => done(isFailing ? errnoError('EIO') : error));
    const spool = await openTestSpool({ folder, fs: { ...disk.fs, fdatasync }, durability: 'disk' });
    await spool.appendAsync('"before"');
    isFailing = true;
    await expect(spool.appendAsync('"refused"')).rejects.toThrow(AuditUnavailable);
    expect(await readAfterKill(disk, spool, folder, () => ((seed * 7_919) % 101) / 101)).toEqual(['1: "before"']);
  }
});

async function readAfterKill(disk: ModelDisk, spool: Spool, folder: string, random?: () => number): Promise<readonly string[]> {
  const left = temporaryFolder();
  disk.image(folder, left, random);
  disk.die();
  await spool.close().catch(() => {});
  return readLeftBehind(left);
}

test('a disk that was filled by its own entries has space again once they are acknowledged: nothing keeps their file', async () => {
  const folder = temporaryFolder();
  const open = new Map<number, string>();
  const disk = createFaultyDisk();
  const spool = await openTestSpool({
    folder,
    fs: {
      ...disk.fs,
      openSync(path, flags, mode) {
        const fd = diskFs.openSync(path, flags, mode);
        open.set(fd, path);
        return fd;
      },
      closeSync(fd) {
        open.delete(fd);
        diskFs.closeSync(fd);
      },
      unlink(path, done) {
        rmSync(path);
        done(null);
      },
    },
  });
  spool.append('1');
  await readAll(spool.backlog);
  disk.fault = 'ENOSPC';
  expect(() => spool.append('2')).toThrow(AuditUnavailable);
  spool.backlog.acknowledge(1);
  // This attempt removes its file, even if it still fails.
  expect(() => spool.append('2')).toThrow(AuditUnavailable);
  expect([...open.values()].filter((path) => path.endsWith('1.segment'))).toEqual([]);
  disk.fault = undefined;
  expect(spool.append('2')).toBe(2);
  expect(segmentFiles(folder, spool.backlog.id).map(({ name }) => name)).toEqual(['0000000000000002.segment']);
  await spool.close();
});

const step = fc.record({
  fault: fc.option(
    fc.constantFrom<Fault>('ENOSPC', 'EIO', 'short', 'all but', 'cannot cut back', 'no new segment', 'no new name', 'sync'),
    {
      nil: undefined,
    },
  ),
  sync: fc.boolean(),
  entries: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 }),
});

for (const durability of ['kernel', 'disk'] as const) {
  test(`whatever the disk does, the spool has exactly what was accepted, in order (${durability})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const folder = temporaryFolder();
        const disk = createFaultyDisk();
        const spool = await openTestSpool({ folder, fs: disk.fs, segmentBytes: 150, durability });
        const accepted: string[] = [];
        let n = 0;
        for (const { fault, sync, entries } of steps) {
          disk.fault = fault;
          const answers = entries.map((length) => {
            n += 1;
            const entry = JSON.stringify({ n, pad: 'x'.repeat(length) });
            return { entry, sequence: append(sync && durability === 'kernel', entry) };
          });
          for (const { entry, sequence } of answers) {
            const taken = await sequence.catch(ifUnavailable);
            if (taken !== undefined) accepted.push(`${taken}: ${entry}`);
          }
        }
        expect(accepted).toEqual(textOf(await readAll(spool.backlog)));
        disk.fault = undefined;
        await spool.close();
        if (accepted.length > 0) expect(await readLeftBehind(folder)).toEqual(accepted);
        else expect(readdirSync(folder)).toEqual([]);

        async function append(atOnce: boolean, entry: string): Promise<number> {
          return atOnce ? spool.append(entry) : spool.appendAsync(entry);
        }
      }),
      { numRuns: 150 },
    );
  });
}

function ifUnavailable(error: unknown): undefined {
  if (!(error instanceof AuditUnavailable)) throw error;
}
