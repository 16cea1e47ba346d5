import { copyFileSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diskFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import {
  adoptAll,
  errnoError,
  onlySegment,
  openTestSpool,
  readAll,
  readLeftBehind,
  type SegmentFile,
  segmentFiles,
  temporaryFolder,
  textOf,
} from '../../../support/spools.ts';

const entries = ['{"tool":"first"}', '{"tool":"second","n":2}', '{"tool":"die dritte, größer","list":[1,2,3]}', '{}', '{"tool":"last"}'];
const texts = entries.map((entry, index) => `${index + 1}: ${entry}`);

interface LeftBehind {
  readonly folder: string;
  readonly id: string;
  readonly segment: SegmentFile;
  readonly intact: Buffer;
  /** The offset where each record begins, and the offset where the last one ends. */
  readonly offsets: readonly number[];
}

async function leaveBehind(): Promise<LeftBehind> {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder });
  for (const entry of entries) spool.append(entry);
  await spool.close();
  const segment = onlySegment(folder, spool.backlog.id);
  const offsets = entries.reduce<number[]>((sum, entry) => [...sum, (sum.at(-1) ?? 0) + 16 + Buffer.byteLength(entry)], [0]);
  return { folder, id: spool.backlog.id, segment, intact: segment.read(), offsets };
}

test('a tail torn at any byte of the last record is cut: the records before it are there, and nothing counts as lost', async () => {
  const { folder, segment, intact, offsets } = await leaveBehind();
  const [from = 0, to = 0] = offsets.slice(-2);
  for (let length = from; length < to; length += 1) {
    segment.write(intact.subarray(0, length));
    expect(await readLeftBehind(folder), `cut at byte ${length}`).toEqual(texts.slice(0, -1));
  }
  expect(readdirSync(folder).filter((name) => name.endsWith('.bad'))).toEqual([]);
});

test('a byte changed anywhere loses exactly the record it is in, which is counted; all others are intact', async () => {
  const { folder, segment, intact, offsets } = await leaveBehind();
  const change = fc.integer({ min: 1, max: 255 });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: intact.length, maxLength: intact.length }), async (changes) => {
      for (const [at, xor] of changes.entries()) {
        const damaged = Buffer.from(intact);
        damaged[at] = (damaged[at] ?? 0) ^ xor;
        segment.write(damaged);
        const hit = offsets.findLastIndex((offset) => offset <= at);
        expect(await readLeftBehind(folder), `byte ${at} xor ${xor}`).toEqual(
          texts.map((text, index) => (index === hit ? `${index + 1} lost` : text)),
        );
      }
    }),
    { numRuns: 2 },
  );
});

test('a run of bytes overwritten with anything loses the records it touches and no other', async () => {
  const { folder, segment, intact, offsets } = await leaveBehind();
  const lastStart = offsets.at(-2) ?? 0;
  const run = fc.tuple(fc.nat(lastStart - 1), fc.uint8Array({ minLength: 1, maxLength: 120 }));
  await fc.assert(
    fc.asyncProperty(run, async ([from, bytes]) => {
      const damaged = Buffer.from(intact);
      const until = Math.min(from + bytes.length, lastStart);
      damaged.set(bytes.subarray(0, until - from), from);
      segment.write(damaged);
      const wanted = texts.map((text, index) => {
        const [start = 0, end = 0] = [offsets[index], offsets[index + 1]];
        return damaged.subarray(start, end).equals(intact.subarray(start, end)) ? text : `${index + 1} lost`;
      });
      expect(await readLeftBehind(folder)).toEqual(wanted);
    }),
    { numRuns: 300 },
  );
});

test('a damaged segment is moved out of the spool, once, and stays after the spool is removed', async () => {
  const { folder, id, segment, intact } = await leaveBehind();
  const damaged = Buffer.from(intact);
  damaged.fill(0, 30, 50);
  segment.write(damaged);
  const [adopted] = await adoptAll(folder);
  if (!adopted) throw new Error('not adopted');
  await readAll(adopted);
  await readAll(adopted);
  expect(adopted.status().lost).toBe(2);
  adopted.acknowledge(5);
  await adopted.close();
  expect(readdirSync(folder)).toEqual([`${id}.0000000000000001.segment.bad`]);
});

test('a live process counts what its disk lost too, and continues', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 60 });
  for (let n = 1; n <= 6; n += 1) spool.append(`{"live":${n}}`);
  const [first, second, third] = segmentFiles(folder, spool.backlog.id);
  if (!first || !second || !third) throw new Error('three segments of two records were expected');
  first.write(first.read().fill(0));
  truncateSync(join(folder, spool.backlog.id, second.name), 30);
  expect(textOf(await readAll(spool.backlog))).toEqual(['1 lost', '2 lost', '3: {"live":3}', '4 lost', '5: {"live":5}', '6: {"live":6}']);
  spool.append('{"after":true}');
  expect(textOf(await readAll(spool.backlog)).at(-1)).toBe('7: {"after":true}');
  expect(spool.backlog.status().lost).toBe(3);
  await spool.close();
});

test('a missing segment is counted record by record', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 80 });
  for (let n = 1; n <= 12; n += 1) spool.append(`{"n":${n}}`);
  await spool.close();
  const [, second, third] = segmentFiles(folder, spool.backlog.id);
  rmSync(join(folder, spool.backlog.id, second?.name ?? ''));
  const from = Number.parseInt(second?.name ?? '', 10);
  const to = Number.parseInt(third?.name ?? '', 10);
  expect(to - from).toBe(3);
  const wanted = Array.from({ length: 12 }, (_, index) => index + 1).map((n) => (n >= from && n < to ? `${n} lost` : `${n}: {"n":${n}}`));
  expect(await readLeftBehind(folder)).toEqual(wanted);
});

test('an unreadable page loses the records in it, not the segment', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({
    folder,
    fs: {
      read(fd, buffer, offset, length, position, done) {
        if (position < 8_192 && position + length > 4_096) done(errnoError('EIO'), 0);
        else diskFs.read(fd, buffer, offset, length, position, done);
      },
    },
  });
  const pad = 'x'.repeat(500);
  for (let n = 1; n <= 40; n += 1) spool.append(JSON.stringify({ n, pad }));
  const records = await readAll(spool.backlog);
  const lost = textOf(records)
    .flatMap((text) => /^(\d+) lost$/.exec(text)?.[1] ?? [])
    .map(Number);
  expect(textOf(records)).toHaveLength(40);
  expect(lost).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16]);
  await spool.close();
});

test('an acknowledgement file counts only if it is intact', async () => {
  const { folder, id } = await leaveBehind();
  const path = join(folder, id, 'acknowledged');
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(12), Buffer.from('rubbish rubbish')]) {
    writeFileSync(path, bytes);
    expect(await readLeftBehind(folder)).toEqual(texts);
  }
});

test('segments that were acknowledged and deleted do not count as lost, whatever happened to the acknowledgement file', async () => {
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, segmentBytes: 80 });
  for (let n = 1; n <= 12; n += 1) spool.append(`{"n":${n}}`);
  spool.backlog.acknowledge(8);
  await spool.close();
  rmSync(join(folder, spool.backlog.id, 'acknowledged'));
  const found = await readLeftBehind(folder);
  expect(found.length).toBeLessThan(12);
  expect(found.slice(-4)).toEqual(['9: {"n":9}', '10: {"n":10}', '11: {"n":11}', '12: {"n":12}']);
  expect(found.filter((text) => text.includes('lost'))).toEqual([]);
});

test('bytes inside an entry that look like a record are not read as one', async () => {
  const folder = temporaryFolder();
  const { segment: donor } = await leaveBehind();
  const spool = await openTestSpool({ folder });
  spool.append(JSON.stringify({ smuggled: donor.read().toString('latin1') }));
  spool.append('{"n":2}');
  await spool.close();
  const segment = onlySegment(folder, spool.backlog.id);
  const damaged = segment.read();
  damaged[0] = 1;
  segment.write(damaged);
  expect(await readLeftBehind(folder)).toEqual(['1 lost', '2: {"n":2}']);
});

test('a folder restored without its sockets is adopted', async () => {
  const { folder, id } = await leaveBehind();
  const restored = temporaryFolder();
  mkdirSync(join(restored, id));
  for (const name of readdirSync(join(folder, id)).filter((other) => !other.startsWith('alive'))) {
    copyFileSync(join(folder, id, name), join(restored, id, name));
  }
  expect(await readLeftBehind(restored)).toEqual(texts);
});
