import { cpSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QuotaCounter } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { GrantFile, type GrantedRun, type KeptGrant } from '../../../../sidecar/engine/spool/grant-file.ts';
import { hasGrants, readGrants, removeGrants } from '../../../../sidecar/engine/spool/left-grants.ts';
import { diskFs, type SpoolFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { runOf } from '../../../support/lease-names.ts';
import { adoptAll, errnoError, openTestSpool, temporaryFolder } from '../../../support/spools.ts';

interface TestGrant extends KeptGrant {
  used: number;
}

/** Runs whose grants the test changes. */
function createSource(epoch = 'e') {
  const runs = new Map<string, { readonly counter: QuotaCounter; readonly heldGrants: TestGrant[] }>();
  const changed = new Set<GrantedRun>();
  return {
    epoch,
    takeChangedRuns: () => {
      const taken = [...changed];
      changed.clear();
      return taken;
    },
    heldRuns: () => [...runs.values()],
    use: (agent: string, id: number, used: number): void => {
      const run = runs.get(agent) ?? { counter: runOf(agent), heldGrants: [] };
      runs.set(agent, run);
      changed.add(run);
      const grant = run.heldGrants.find((one) => one.id === id);
      if (grant === undefined) run.heldGrants.push({ id, used, kept: null });
      else grant.used = used;
    },
    end: (agent: string): void => void runs.delete(agent),
  };
}

interface TestFile {
  readonly boot?: string;
  readonly isSynced?: boolean;
  readonly fs?: Partial<SpoolFs>;
}

function createFile({ boot = 'boot-1', isSynced = false, fs = {} }: TestFile = {}) {
  const folder = temporaryFolder();
  const source = createSource();
  const file = new GrantFile({ ...diskFs, ...fs }, { folder, bootId: boot, ...(isSynced && { syncFolder: () => undefined }) });
  file.follow(source);
  file.want(true);
  return { folder, file, source, path: join(folder, 'grants') };
}

const usesIn = (folder: string, boot = 'boot-1'): unknown =>
  readGrants(folder, boot)?.grants.map(({ counter, grantId, used }) => [counter.kind === 'run' && counter.agentId, grantId, used]) ?? null;

test('the counts of all grants are read back, the newest of each', () => {
  const { folder, file, source } = createFile();
  file.writeOut();
  expect(readdirSync(folder)).toEqual([]);
  source.use('a', 7, 1);
  file.writeOut();
  source.use('a', 7, 2);
  source.use('b', 7, 1);
  file.writeOut();
  source.use('a', 9, 0);
  source.use('b', 7, 0);
  file.writeOut();
  expect(usesIn(folder)).toEqual([
    ['a', 7, 2],
    ['b', 7, 0],
    ['a', 9, 0],
  ]);
  const left = readGrants(folder, 'boot-1');
  expect(left?.epoch).toBe('e');
  expect(left?.grants[0]?.counter).toEqual(runOf('a'));
  expect(statSync(join(folder, 'grants')).mode & 0o777).toBe(0o600);
});

test('a count that has not changed costs no write', () => {
  let writes = 0;
  const writeSync: SpoolFs['writeSync'] = (...args) => {
    writes += 1;
    return diskFs.writeSync(...args);
  };
  const { file, source } = createFile({ fs: { writeSync } });
  for (const used of [1, 1, 2]) {
    source.use('a', 7, used);
    file.writeOut();
    file.writeOut();
  }
  expect(writes).toBe(2);
});

test('a byte that has changed anywhere, and an end that is missing in a record, mean that all was used', () => {
  const { folder, file, source, path } = createFile();
  const ends = new Set<number>();
  for (let used = 1; used <= 4; used += 1) {
    source.use('a', 7, used);
    file.writeOut();
    ends.add(statSync(path).size);
  }
  const bytes = readFileSync(path);
  for (let at = 0; at < bytes.length; at += 1) {
    for (const xor of [1, 0x80]) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(at) ^ xor, at);
      writeFileSync(path, damaged);
      expect(usesIn(folder)).toBe(null);
    }
  }
  writeFileSync(path, bytes);
  for (let size = bytes.length - 1; size > 0; size -= 1) {
    truncateSync(path, size);
    if (size < Math.min(...ends)) expect(usesIn(folder) ?? []).toEqual([]);
    else if (!ends.has(size)) expect(usesIn(folder)).toBe(null);
  }
  writeFileSync(path, '');
  expect(usesIn(folder)).toBe(null);
  removeGrants(folder);
  expect(usesIn(folder)).toBe(null);
});

test('after another boot of the machine the counts are known only with durability disk', () => {
  for (const isSynced of [false, true]) {
    const { folder, file, source } = createFile({ isSynced });
    source.use('a', 7, 3);
    file.writeOut();
    expect(usesIn(folder)).toEqual([['a', 7, 3]]);
    expect(usesIn(folder, 'boot-2')).toEqual(isSynced ? [['a', 7, 3]] : null);
  }
  const unknown = createFile({ boot: '' });
  unknown.source.use('a', 7, 3);
  unknown.file.writeOut();
  expect(usesIn(unknown.folder, '')).toBe(null);
});

test('the counts in a copy of the folder mean nothing, because the process of the copy may still live', () => {
  const { folder, file, source } = createFile();
  source.use('a', 7, 3);
  file.writeOut();
  const copy = join(temporaryFolder(), 'copy');
  cpSync(folder, copy, { recursive: true });
  expect(usesIn(copy)).toBe(null);
});

test('a count that cannot be written is an error, also for the next entries, until the file is written as a whole', () => {
  let isBroken = false;
  const writeSync: SpoolFs['writeSync'] = (fd, buffer, offset, length, position) => {
    if (isBroken) return diskFs.writeSync(fd, buffer, offset, Math.min(length, 5), position);
    return diskFs.writeSync(fd, buffer, offset, length, position);
  };
  const { folder, file, source } = createFile({ fs: { writeSync } });
  source.use('a', 7, 1);
  file.writeOut();
  isBroken = true;
  source.use('a', 7, 2);
  expect(() => file.writeOut()).toThrow('only 5 of');
  // The set of changed runs is empty now, but the count is not written.
  expect(() => file.writeOut()).toThrow('only 5 of');
  expect(usesIn(folder)).toBe(null);
  isBroken = false;
  file.writeOut();
  expect(usesIn(folder)).toEqual([['a', 7, 2]]);
});

test('where calls may continue without an entry the file says nothing, and is emptied as soon as it can be', () => {
  let isBroken = false;
  const openSync: SpoolFs['openSync'] = (...args) => {
    if (isBroken) throw errnoError('EROFS');
    return diskFs.openSync(...args);
  };
  const { folder, file, source } = createFile({ fs: { openSync } });
  source.use('a', 7, 1);
  file.writeOut();
  isBroken = true;
  file.want(false);
  expect(usesIn(folder)).toEqual([['a', 7, 1]]);
  isBroken = false;
  source.use('a', 7, 2);
  file.writeOut();
  expect(usesIn(folder)).toBe(null);
  file.want(true);
  source.use('a', 7, 3);
  file.writeOut();
  expect(usesIn(folder)).toEqual([['a', 7, 3]]);
});

test('the file is written as a whole when it has become large, and then has only the grants that exist', () => {
  const { folder, file, source, path } = createFile();
  source.use('ended', 5, 1);
  let largest = 0;
  for (let used = 1; used <= 100_000; used += 1) {
    source.use('a', 7, used);
    if (used === 2) source.end('ended');
    file.writeOut();
    if (used % 1_000 === 0) largest = Math.max(largest, statSync(path).size);
  }
  expect(largest).toBeLessThan(1.1 * 1024 * 1024);
  expect(usesIn(folder)).toEqual([['a', 7, 100_000]]);
  expect(readdirSync(folder)).toEqual(['grants']);
});

test('the grants of another epoch are in another file', () => {
  const { folder, file, source } = createFile();
  source.use('a', 7, 1);
  file.writeOut();
  source.end('a');
  source.epoch = 'f';
  source.use('b', 1, 1);
  file.writeOut();
  expect(readGrants(folder, 'boot-1')?.epoch).toBe('f');
  expect(usesIn(folder)).toEqual([['b', 1, 1]]);
});

test('with durability disk an entry and the counts before it are synced together', async () => {
  const synced: number[] = [];
  const fdatasync: SpoolFs['fdatasync'] = (fd, done) => {
    synced.push(fd);
    diskFs.fdatasync(fd, done);
  };
  const spool = await openTestSpool({ folder: temporaryFolder(), durability: 'disk', fs: { fdatasync } });
  const source = createSource();
  spool.grants.follow(source);
  spool.grants.want(true);
  source.use('a', 7, 1);
  await spool.appendAsync('"first: the file is begun and synced as a whole"');
  source.use('a', 7, 2);
  synced.length = 0;
  await spool.appendAsync('"second"');
  expect(new Set(synced).size).toBe(2);
  synced.length = 0;
  await spool.appendAsync('"no call of a session"');
  expect(synced).toHaveLength(1);
  await spool.close();
});

test('an entry whose count cannot be written is refused', async () => {
  const folder = temporaryFolder();
  const renameSync: SpoolFs['renameSync'] = (from, to) => {
    if (to.endsWith('grants')) throw errnoError('EIO');
    diskFs.renameSync(from, to);
  };
  const spool = await openTestSpool({ folder, fs: { renameSync } });
  const source = createSource();
  spool.grants.follow(source);
  spool.grants.want(true);
  spool.append('"no call of a session"');
  source.use('a', 7, 1);
  expect(() => spool.append('"a call"')).toThrow('EIO');
  expect(spool.backlog.last).toBe(1);
  await spool.close();
});

test('a spool is deleted when its entries are acknowledged and its counts are settled', async () => {
  const folder = temporaryFolder();
  const leave = async (): Promise<void> => {
    const spool = await openTestSpool({ folder });
    const source = createSource();
    spool.grants.follow(source);
    spool.grants.want(true);
    source.use('a', 7, 1);
    spool.append('"a call"');
    spool.backlog.acknowledge(1);
    await spool.close();
  };
  await leave();
  const adopt = async (isKnown: boolean): Promise<unknown> => {
    let uses: unknown = 'nothing is reported';
    const settle = async (secret: Buffer, read: () => ReturnType<typeof readGrants>): Promise<boolean> => {
      uses = [secret.length, read()?.grants.map(({ grantId, used }) => [grantId, used])];
      return isKnown;
    };
    const adopted = await adoptAll(folder, 'acme', settle);
    for (const backlog of adopted) {
      await backlog.settled;
      expect(hasGrants(join(folder, backlog.id))).toBe(!isKnown);
      await backlog.close();
    }
    return uses;
  };
  expect(await adopt(false)).toEqual([32, [[7, 1]]]);
  expect(await adopt(true)).toEqual([32, [[7, 1]]]);
  expect(readdirSync(folder)).toEqual([]);
});
