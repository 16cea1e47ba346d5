import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordBytesMax } from '../../../sidecar/audit/record.ts';
import { diskFs } from '../../../sidecar/audit/spool-fs.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { adoptAll, openTestSpool, readAll, readLeftBehind, segmentFiles, temporaryFolder, textOf } from '../../support/spools.ts';

test('what is appended is read back in order, by this process and by the next', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  const entries = ['{"a":1}', '{"ü":"日本語 😀"}', JSON.stringify({ long: 'x'.repeat(70_000) }), '{}'];
  expect(entries.map(spool.append)).toEqual([1, 2, 3, 4]);
  const wanted = entries.map((entry, index) => `${index + 1}: ${entry}`);
  expect(textOf(await readAll(spool))).toEqual(wanted);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(wanted);
});

test('a lone surrogate and a NUL do not hurt the records around them', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (const entry of ['{"a":1}', '{"a":"\ud800"}', '{"a":"\0"}', '{"a":2}']) spool.append(entry);
  expect(textOf(await readAll(spool))).toEqual(['1: {"a":1}', '2: {"a":"\ufffd"}', '3: {"a":"\0"}', '4: {"a":2}']);
  await spool.close();
});

test('the asynchronous door writes everything of one turn at once, in the order of the calls, what goes in at once included', async () => {
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
  expect(textOf(await readAll(spool))).toEqual(['1: "1"', '2: "2"', '3: "3"', '4: "4"', '5: "5"']);
  await spool.close();
});

test('with durability disk a promise resolves after a sync, which all that came meanwhile share, and nothing is shipped before it', async () => {
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
  expect(await readAll(spool)).toEqual([]);
  const secondAsked = asked();
  syncs.shift()?.();
  expect(await first).toBe(1);
  expect(textOf(await readAll(spool))).toEqual(['1: "1"']);
  await secondAsked;
  syncs.shift()?.();
  expect(await Promise.all(later)).toEqual([2, 3]);
  expect(syncs).toEqual([]);
  expect(() => spool.append('"4"')).toThrow('appendAsync');
  await spool.close();
});

test('segments rotate, and go when they are acknowledged; a spool that is acknowledged to the end goes at close', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 100 });
  for (let n = 1; n <= 20; n += 1) spool.append(JSON.stringify({ n, pad: 'x'.repeat(20) }));
  const names = segmentFiles(folder, spool.id).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(names[0]).toBe('0000000000000001.segment');
  expect(await readAll(spool, { recordsMax: 3, bytesMax: 1024 })).toHaveLength(20);
  const before = spool.status().bytes;
  spool.acknowledge(15);
  expect(spool.status()).toMatchObject({ records: 5, lost: 0 });
  expect(spool.status().bytes).toBeLessThan(before / 2);
  expect(await readAll(spool)).toHaveLength(5);
  spool.acknowledge(20);
  await spool.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('a later process ships what was not acknowledged, and nothing from before', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (let n = 1; n <= 10; n += 1) spool.append(`${n}`);
  spool.acknowledge(7);
  await spool.close();
  const [adopted] = await adoptAll(folder);
  expect(adopted?.id).toBe(spool.id);
  expect(adopted?.status()).toMatchObject({ records: 3 });
  expect(adopted && textOf(await readAll(adopted))).toEqual(['8: 8', '9: 9', '10: 10']);
  adopted?.acknowledge(10);
  await adopted?.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('no batch is larger than asked for, except by a single record', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  for (let n = 1; n <= 30; n += 1) spool.append(JSON.stringify('x'.repeat(98)));
  expect(await spool.readBatch(0, { recordsMax: 7, bytesMax: 100_000 })).toHaveLength(7);
  expect(await spool.readBatch(7, { recordsMax: 100, bytesMax: 500 })).toHaveLength(4);
  expect(await spool.readBatch(11, { recordsMax: 100, bytesMax: 1 })).toHaveLength(1);
  expect(await spool.readBatch(3, { recordsMax: 100, bytesMax: 100_000 })).toHaveLength(27);
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
  const reading = spool.readBatch(0, { recordsMax: 1_000, bytesMax: 100_000 });
  spool.acknowledge(30);
  expect((await reading).map(({ sequence }) => sequence)).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39, 40]);
  const readingAgain = spool.readBatch(30, { recordsMax: 1_000, bytesMax: 100_000 });
  spool.acknowledge(40);
  const closed = spool.close();
  await expect(readingAgain).resolves.toBeDefined();
  await closed;
  expect(spool.status().lost).toBe(0);
});

test('a full spool refuses, and takes entries again when the control plane has caught up', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder(), bytesMax: 1_000 });
  const entry = JSON.stringify('x'.repeat(82));
  for (let n = 1; n <= 10; n += 1) spool.append(entry);
  expect(() => spool.append(entry)).toThrow(expect.objectContaining({ kind: 'audit_unavailable', why: 'full' }));
  await expect(spool.appendAsync(entry)).rejects.toMatchObject({ why: 'full' });
  expect(spool.status()).toMatchObject({ records: 10, bytes: 1_000, failure: 'the spool holds 1000 of 1000 bytes' });
  spool.acknowledge(4);
  expect(spool.status().failure).toBeUndefined();
  expect(spool.append(entry)).toBe(11);
  spool.acknowledge(11);
  for (let n = 12; n <= 100; n += 1) {
    expect(spool.append(entry)).toBe(n);
    spool.acknowledge(n);
  }
  expect(spool.status()).toMatchObject({ records: 0, failure: undefined });
  await spool.close();
});

test('an oversized record is refused and takes no sequence', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  spool.append('1');
  for (const entry of ['', 'x'.repeat(recordBytesMax + 1), 'ü'.repeat(recordBytesMax / 2 + 1)]) {
    expect(() => spool.append(entry)).toThrow(expect.objectContaining({ why: 'oversized' }));
    await expect(spool.appendAsync(entry)).rejects.toMatchObject({ why: 'oversized' });
  }
  const largest = 'ü'.repeat(recordBytesMax / 2);
  expect(spool.append(largest)).toBe(2);
  expect(textOf(await readAll(spool))).toEqual(['1: 1', `2: ${largest}`]);
  await spool.close();
});

test('more than a mebibyte behind a sync is refused, not kept in memory', async () => {
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
  expect(await readAll(spool)).toHaveLength(12);
  await spool.close();
});

test('whoever waits for the control plane is told when it has the entry, or that it never will by this process', async () => {
  const spool = await openTestSpool({ folder: temporaryFolder() });
  spool.append('1');
  spool.append('2');
  const first = spool.whenAcknowledged(1);
  const second = spool.whenAcknowledged(2);
  spool.acknowledge(1);
  await first;
  await spool.whenAcknowledged(1);
  const refused = expect(second).rejects.toMatchObject({ kind: 'audit_unavailable', why: 'closed' });
  await spool.close();
  await refused;
  await expect(spool.whenAcknowledged(2)).rejects.toMatchObject({ why: 'closed' });
  expect(() => spool.append('3')).toThrow(expect.objectContaining({ why: 'closed' }));
});

test('the age is that of the oldest unacknowledged record', async () => {
  const clock = createManualClock(0);
  const spool = await openTestSpool({ folder: temporaryFolder(), clock });
  for (const at of [0, 1_000, 2_000]) {
    expect(clock.wall()).toBe(at);
    spool.append(String(at));
    await readAll(spool);
    clock.advance(1_000);
  }
  expect(spool.status().oldestAt).toBe(0);
  spool.acknowledge(1);
  expect(spool.status().oldestAt).toBe(1_000);
  spool.acknowledge(3);
  expect(spool.status().oldestAt).toBeUndefined();
  spool.append('again');
  expect(spool.status().oldestAt).toBe(3_000);
  await spool.close();
});

test('a spool folder may be deeper than a socket path may be long', async () => {
  const folder = join(temporaryFolder(), 'd'.repeat(120), 'e'.repeat(120));
  mkdirSync(folder, { recursive: true });
  const spool = await openTestSpool({ folder });
  spool.append('1');
  expect(await adoptAll(folder)).toEqual([]);
  await spool.close();
  expect(await readLeftBehind(folder)).toEqual(['1: 1']);
  expect(existsSync(join(folder, spool.id))).toBe(true);
});
