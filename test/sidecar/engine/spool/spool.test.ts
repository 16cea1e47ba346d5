import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordBytesMax } from '../../../../sidecar/engine/spool/record.ts';
import { diskFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { adoptAll, openTestSpool, readAll, readLeftBehind, segmentFiles, temporaryFolder, textOf } from '../../../support/spools.ts';

test('what is appended is read back in order, by this process and by the next', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  const entries = ['{"a":1}', '{"ü":"日本語 😀"}', JSON.stringify({ long: 'x'.repeat(70_000) }), '{}'];
  expect(entries.map(spool.append)).toEqual([1, 2, 3, 4]);
  const wanted = entries.map((entry, index) => `${index + 1}: ${entry}`);
  expect(textOf(await readAll(spool.backlog))).toEqual(wanted);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(wanted);
});

test('a lone surrogate and a NUL do not harm the records around them', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (const entry of ['{"a":1}', '{"a":"\ud800"}', '{"a":"\0"}', '{"a":2}']) spool.append(entry);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1: {"a":1}', '2: {"a":"\ufffd"}', '3: {"a":"\0"}', '4: {"a":2}']);
  await spool.close();
});

test('the asynchronous append writes everything of one turn at once, in the order of the calls, with the synchronous ones included', async () => {
  const folder = temporaryFolder();
  const writes: number[] = [];
  const spool = await openTestSpool({
    folder,
    fs: {
      writeSync(...args) {
        writes.push(args[3]);
        return diskFs.writeSync(...args);
      },
    },
  });
  const first = spool.appendAsync('"1"');
  const second = spool.appendAsync('"2"');
  expect(writes).toEqual([]);
  expect(spool.append('"3"')).toBe(3);
  expect(writes).toHaveLength(1);
  expect(await Promise.all([first, second, spool.appendAsync('"4"'), spool.appendAsync('"5"')])).toEqual([1, 2, 4, 5]);
  expect(writes).toHaveLength(2);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1: "1"', '2: "2"', '3: "3"', '4: "4"', '5: "5"']);
  await spool.close();
});

test('where the turn before was long, the first two entries of a turn are written before its end', async () => {
  const clock = createManualClock();
  let writes = 0;
  const spool = await openTestSpool({
    folder: temporaryFolder(),
    clock,
    fs: {
      writeSync(...args) {
        writes += 1;
        return diskFs.writeSync(...args);
      },
    },
  });
  /** Returns the number of writes before the end of the turn, which takes `ms`, and in total. */
  const turn = async (ms: number): Promise<readonly number[]> => {
    writes = 0;
    const all: Promise<number>[] = [];
    for (let n = 0; n < 4; n += 1) {
      all.push(spool.appendAsync('{}'));
      await new Promise<void>((ticked) => process.nextTick(ticked));
    }
    const before = writes;
    clock.advance(ms);
    await Promise.all(all);
    await new Promise((ended) => setImmediate(ended));
    return [before, writes];
  };
  expect(await turn(2)).toEqual([0, 1]);
  expect(await turn(3)).toEqual([0, 1]);
  expect(await turn(2)).toEqual([2, 3]);
  expect(await turn(2)).toEqual([0, 1]);
  await spool.close();
});

test('with durability disk a promise resolves after a sync, which all meanwhile appended entries share, and nothing is shipped before it', async () => {
  const folder = temporaryFolder();
  const syncs: (() => void)[] = [];
  let syncAsked = (): void => {};
  const spool = await openTestSpool({
    folder,
    durability: 'disk',
    fs: {
      fdatasync(fd, done) {
        syncs.push(() => diskFs.fdatasync(fd, done));
        syncAsked();
      },
    },
  });
  const asked = (): Promise<void> =>
    new Promise((resolve) => {
      syncAsked = resolve;
    });
  const firstAsked = asked();
  const first = spool.appendAsync('"1"');
  await firstAsked;
  const later = [spool.appendAsync('"2"'), spool.appendAsync('"3"')];
  expect(await readAll(spool.backlog)).toEqual([]);
  const secondAsked = asked();
  syncs.shift()?.();
  expect(await first).toBe(1);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1: "1"']);
  await secondAsked;
  syncs.shift()?.();
  expect(await Promise.all(later)).toEqual([2, 3]);
  expect(syncs).toEqual([]);
  expect(() => spool.append('"4"')).toThrow('appendAsync');
  await spool.close();
});

test('segments rotate, and are deleted when acknowledged; a spool that is acknowledged to the end is removed at close', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 100 });
  for (let n = 1; n <= 20; n += 1) spool.append(JSON.stringify({ n, pad: 'x'.repeat(20) }));
  const names = segmentFiles(folder, spool.backlog.id).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(names[0]).toBe('0000000000000001.segment');
  expect(await readAll(spool.backlog, { recordsMax: 3, bytesMax: 1024 })).toHaveLength(20);
  const before = spool.backlog.status().bytes;
  spool.backlog.acknowledge(15);
  expect(spool.backlog.status()).toMatchObject({ records: 5, lost: 0 });
  expect(spool.backlog.status().bytes).toBeLessThan(before / 2);
  expect(await readAll(spool.backlog)).toHaveLength(5);
  spool.backlog.acknowledge(20);
  await spool.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('a later process ships what was not acknowledged, and nothing from before', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (let n = 1; n <= 10; n += 1) spool.append(`${n}`);
  spool.backlog.acknowledge(7);
  await spool.close();
  const [adopted] = await adoptAll(folder);
  expect(adopted?.id).toBe(spool.backlog.id);
  expect(adopted?.status()).toMatchObject({ records: 3 });
  expect(adopted && textOf(await readAll(adopted))).toEqual(['8: 8', '9: 9', '10: 10']);
  adopted?.acknowledge(10);
  await adopted?.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('no batch is larger than requested, except by a single record', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  for (let n = 1; n <= 30; n += 1) spool.append(JSON.stringify('x'.repeat(98)));
  expect(await spool.backlog.readBatch(0, { recordsMax: 7, bytesMax: 100_000 })).toHaveLength(7);
  expect(await spool.backlog.readBatch(7, { recordsMax: 100, bytesMax: 500 })).toHaveLength(4);
  expect(await spool.backlog.readBatch(11, { recordsMax: 100, bytesMax: 1 })).toHaveLength(1);
  expect(await spool.backlog.readBatch(3, { recordsMax: 100, bytesMax: 100_000 })).toHaveLength(27);
  await spool.close();
});

test('an acknowledgement that comes while a batch is read makes nothing lost, and closing waits for the read', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({
    folder,
    segmentBytes: 100,
    fs: { read: (...args) => void setImmediate(() => setImmediate(() => diskFs.read(...args))) },
  });
  for (let n = 1; n <= 40; n += 1) spool.append(JSON.stringify({ n, pad: 'x'.repeat(20) }));
  const reading = spool.backlog.readBatch(0, { recordsMax: 1_000, bytesMax: 100_000 });
  spool.backlog.acknowledge(30);
  expect((await reading).map(({ sequence }) => sequence)).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39, 40]);
  const readingAgain = spool.backlog.readBatch(30, { recordsMax: 1_000, bytesMax: 100_000 });
  spool.backlog.acknowledge(40);
  const closed = spool.close();
  await expect(readingAgain).resolves.toBeDefined();
  await closed;
  expect(spool.backlog.status().lost).toBe(0);
});

test('a full spool rejects entries, and accepts them again when the control plane has caught up', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder(), bytesMax: 1_000 });
  const entry = JSON.stringify('x'.repeat(82));
  for (let n = 1; n <= 10; n += 1) spool.append(entry);
  expect(() => spool.append(entry)).toThrow(expect.objectContaining({ kind: 'audit_unavailable', why: 'full' }));
  await expect(spool.appendAsync(entry)).rejects.toMatchObject({ why: 'full' });
  expect(spool.backlog.status()).toMatchObject({ records: 10, bytes: 1_000 });
  expect(spool.failure).toBe('the spool holds 1000 of 1000 bytes');
  spool.backlog.acknowledge(4);
  expect(spool.failure).toBeUndefined();
  expect(spool.append(entry)).toBe(11);
  spool.backlog.acknowledge(11);
  for (let n = 12; n <= 100; n += 1) {
    expect(spool.append(entry)).toBe(n);
    spool.backlog.acknowledge(n);
  }
  expect(spool.backlog.status().records).toBe(0);
  expect(spool.failure).toBeUndefined();
  await spool.close();
});

test('entries of other processes use a part of the space until they are shipped, and none is dropped for new ones', async () => {
  let others = 950;
  const spool = await openTestSpool({ folder: temporaryFolder(), bytesMax: 1_000, othersBytes: () => others });
  const entry = JSON.stringify('x'.repeat(82));
  expect(() => spool.append(entry)).toThrow(expect.objectContaining({ why: 'full' }));
  expect(spool.failure).toBe('the spool holds 950 of 1000 bytes, 950 of them from before this process');
  others = 700;
  expect(spool.failure).toBeUndefined();
  for (let n = 1; n <= 3; n += 1) expect(spool.append(entry)).toBe(n);
  expect(() => spool.append(entry)).toThrow(expect.objectContaining({ why: 'full' }));
  // Its own acknowledged entries free space. Those of the others do not.
  spool.backlog.acknowledge(3);
  expect(spool.append(entry)).toBe(4);
  spool.backlog.acknowledge(4);
  others = 1_000;
  expect(() => spool.append(entry)).toThrow(expect.objectContaining({ why: 'full' }));
  others = 0;
  expect(spool.append(entry)).toBe(5);
  expect(textOf(await readAll(spool.backlog))).toEqual([`5: ${entry}`]);
  await spool.close();
});

test('an oversized record is rejected and uses no sequence', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  spool.append('1');
  for (const entry of ['', 'x'.repeat(recordBytesMax + 1), 'ü'.repeat(recordBytesMax / 2 + 1)]) {
    expect(() => spool.append(entry)).toThrow(expect.objectContaining({ why: 'oversized' }));
    await expect(spool.appendAsync(entry)).rejects.toMatchObject({ why: 'oversized' });
  }
  const largest = 'ü'.repeat(recordBytesMax / 2);
  expect(spool.append(largest)).toBe(2);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1: 1', `2: ${largest}`]);
  await spool.close();
});

test('more than a mebibyte that waits for a sync is rejected, not kept in memory', async () => {
  const blocked: (() => void)[] = [];
  let isBlocking = true;
  const spool = await openTestSpool({
    folder: temporaryFolder(),
    durability: 'disk',
    fs: {
      fdatasync(fd, done) {
        if (isBlocking) blocked.push(() => diskFs.fdatasync(fd, done));
        else diskFs.fdatasync(fd, done);
      },
    },
  });
  const entry = JSON.stringify('x'.repeat(200_000));
  const answers = Promise.allSettled(Array.from({ length: 20 }, () => spool.appendAsync(entry)));
  expect(blocked).toHaveLength(1);
  isBlocking = false;
  blocked[0]?.();
  const refused = (await answers).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(8);
  expect(refused).toContainEqual(expect.objectContaining({ reason: expect.objectContaining({ why: 'busy' }) }));
  expect(await readAll(spool.backlog)).toHaveLength(12);
  await spool.close();
});

test('a closed spool rejects entries', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  await spool.close();
  expect(() => spool.append('1')).toThrow(expect.objectContaining({ kind: 'audit_unavailable', why: 'closed' }));
  await expect(spool.appendAsync('1')).rejects.toMatchObject({ why: 'closed' });
});

test('entries that fall behind are reported, also after records that were acknowledged without being read', async () => {
  const { backlog, append, close } = await openTestSpool({
    folder: temporaryFolder(),
    fs: { read: (...args) => void setImmediate(() => diskFs.read(...args)) },
  });
  let told = 0;
  backlog.onBehind(() => (told += 1));
  append('1');
  append('2');
  expect(told).toBe(1);
  backlog.acknowledge(2);
  append('3');
  append('4');
  expect(told).toBe(2);
  const reading = backlog.readBatch(2, { recordsMax: 1, bytesMax: 1024 });
  backlog.acknowledge(4);
  await reading;
  append('5');
  expect(told).toBe(3);
  await close();
});

test('the age is that of the oldest unacknowledged record', async () => {
  const clock = createManualClock(0);
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  for (const at of [0, 1_000, 2_000]) {
    expect(clock.wallTime()).toBe(at);
    spool.append(String(at));
    await readAll(spool.backlog);
    clock.advance(1_000);
  }
  expect(spool.backlog.status().oldestAt).toBe(0);
  spool.backlog.acknowledge(1);
  expect(spool.backlog.status().oldestAt).toBe(1_000);
  spool.backlog.acknowledge(3);
  expect(spool.backlog.status().oldestAt).toBeUndefined();
  spool.append('again');
  expect(spool.backlog.status().oldestAt).toBe(3_000);
  await spool.close();
});

test('a spool folder can be deeper than a socket path may be long', async () => {
  const folder = join(temporaryFolder(), 'd'.repeat(120), 'e'.repeat(120));
  mkdirSync(folder, { recursive: true });
  const spool = await openTestSpool({ folder });
  spool.append('1');
  expect(await adoptAll(folder)).toEqual([]);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(['1: 1']);
  expect(existsSync(join(folder, spool.backlog.id))).toBe(true);
});
