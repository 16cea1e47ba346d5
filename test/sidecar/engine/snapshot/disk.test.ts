import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policyService } from '@tollgate/proto';
import { expect, onTestFinished, test } from 'vitest';
import { bindCaller } from '../../../../sidecar/engine/decide/bind.ts';
import { decide } from '../../../../sidecar/engine/decide/decide.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { createPolicyCell, type PolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { readSnapshotFile, touchSnapshotFile, writeSnapshotFile } from '../../../../sidecar/engine/snapshot/disk.ts';
import { type Keeper, keepOnDisk } from '../../../../sidecar/engine/snapshot/keep.ts';
import { verifySnapshot } from '../../../../sidecar/engine/snapshot/verify.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { agent, deltaBetween, ruleFor, snapshotMessage } from '../../../support/snapshots.ts';
import { temporaryFolder } from '../../../support/spools.ts';

const wallTimeStart = Date.UTC(2026, 0, 1);

interface StartedKeeper {
  readonly cell: PolicyCell;
  readonly keeper: Keeper;
  readonly warnings: readonly string[];
}

/** A sidecar's start as far as the snapshot file is concerned, at a wall-clock time. `now` counts from 1,000,000. */
async function startFrom(path: string, wallTime = wallTimeStart): Promise<StartedKeeper> {
  const warnings: string[] = [];
  const cell = createPolicyCell({ now: () => 1_000_000 }, 'acme');
  const clock = { ...createManualClock(), now: () => 1_000_000, wallTime: () => wallTime };
  const log = { warn: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`) };
  const keeper = await keepOnDisk({ cell, clock, log, isOurs: () => true }, path);
  onTestFinished(() => keeper.close());
  return { cell, keeper, warnings };
}

test('what is written is read unchanged, with the time of the last contact with the control plane', async () => {
  const path = join(temporaryFolder(), 'new', 'folder', 'snapshot');
  const message = snapshotMessage({ revision: 9 });
  await writeSnapshotFile(path, message);
  await touchSnapshotFile(path, wallTimeStart + 1_000);
  const stored = await readSnapshotFile(path);
  expect(stored?.heardAt).toBe(wallTimeStart + 1_000);
  expect(verifySnapshot(stored?.message ?? message, 'acme')).toEqual(verifySnapshot(message, 'acme'));
  expect(stored?.message.revision).toEqual({ epoch: 'e1', number: 9 });
});

test('a file of many entries equals the wire form of all of them, and other work runs while it is made', async () => {
  const agents = Array.from({ length: 2_345 }, (_, at) => agent({ id: `a-${at}`, name: 'x'.repeat(at % 300) }));
  const path = join(temporaryFolder(), 'snapshot');
  for (const count of [0, 1, 498, 499, 500, 2_345]) {
    const message = snapshotMessage({ agents: agents.slice(0, count) });
    let turns = 0;
    let written = false;
    const takeTurn = (): void => {
      turns += 1;
      if (!written) setImmediate(takeTurn);
    };
    setImmediate(takeTurn);
    await writeSnapshotFile(path, message);
    written = true;
    const body = policyService.Sync.responseSerialize({ snapshot: { ...message, entries: [...message.entries] } });
    expect(readFileSync(path).subarray(32).equals(body)).toBe(true);
    expect(turns).toBeGreaterThanOrEqual(Math.ceil(message.entries.length / 500));
    expect((await readSnapshotFile(path))?.message.entries).toHaveLength(message.entries.length);
  }
});

test('only the owner can read it, and no other file is left', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  await writeSnapshotFile(path, snapshotMessage({ revision: 2 }));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['snapshot']);
});

test('a missing file is no snapshot and no problem; noting its age creates none', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await touchSnapshotFile(path, wallTimeStart);
  expect(await readSnapshotFile(path)).toBeNull();
  const { cell, warnings } = await startFrom(path);
  expect(cell.current).toBeNull();
  expect(warnings).toEqual([]);
});

test('a file damaged at any byte is not used', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  const bytes = readFileSync(path);
  let believed = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    writeFileSync(path, damaged);
    await readSnapshotFile(path).then(
      () => (believed += 1),
      (error: unknown) => expect(error).toMatchObject({ message: expect.stringContaining('is damaged') }),
    );
  }
  expect(bytes.length).toBeGreaterThan(500);
  expect(believed).toBe(0);
});

test('a file torn at any length, or grown, is not used', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  const bytes = readFileSync(path);
  const torn = [
    ...Array.from({ length: 64 }, (_, at) => bytes.subarray(0, at)),
    ...[100, 300, bytes.length - 1].map((at) => bytes.subarray(0, at)),
  ];
  for (const content of [...torn, Buffer.concat([bytes, Buffer.alloc(1)]), Buffer.alloc(bytes.length)]) {
    writeFileSync(path, content);
    await expect(readSnapshotFile(path)).rejects.toThrow();
  }
});

test('an intact file with other content is not used', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  for (const body of [Buffer.alloc(0), Buffer.from('{"revision":1}')]) {
    writeFileSync(path, Buffer.concat([createHash('sha256').update(body).digest(), body]));
    await expect(readSnapshotFile(path)).rejects.toThrow();
  }
});

test('a sidecar starts with the snapshot on disk, at its age', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage({ revision: 4 }));
  await touchSnapshotFile(path, wallTimeStart - 30_000);
  const { cell, warnings } = await startFrom(path);
  expect(cell.status()).toMatchObject({ revision: 4, connected: false, ageMs: 30_000 });
  expect(warnings).toEqual([]);
});

test('the outage rule counts the time in which no process ran', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  const outage = {
    maxStalenessSeconds: 60,
    then: { interactive: 'last_known', subagent: 'deny', background: 'deny', api: 'deny' },
  } as const;
  await writeSnapshotFile(path, snapshotMessage({ settings: { outage } }));
  const decided = async (ageMs: number, tier: 'interactive' | 'api') => {
    await touchSnapshotFile(path, wallTimeStart - ageMs);
    const { cell } = await startFrom(path);
    if (cell.current === null) throw new Error('nothing was restored');
    const caller = bindCaller(cell.current, { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ tier, client: 'c', agent: 'bot' }] });
    const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: 1_000_000 });
    const { code, outage: marked } = decide(caller, 'mail.send', usage, cell.freshness, 1_000_000);
    return { code, marked };
  };
  expect(await decided(60_000, 'api')).toEqual({ code: 'allowed', marked: false });
  expect(await decided(60_001, 'api')).toEqual({ code: 'outage', marked: true });
  expect(await decided(60_001, 'interactive')).toEqual({ code: 'allowed', marked: true });
});

test('a file from the future counts as fresh, and not for longer than a fresh one', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  await touchSnapshotFile(path, wallTimeStart + 3_600_000);
  const { cell } = await startFrom(path);
  expect(cell.status().ageMs).toBe(0);
});

test('a damaged file, or one of another workspace, causes a warning and the sidecar starts empty', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  writeFileSync(path, 'rubbish');
  const damaged = await startFrom(path);
  expect(damaged.cell.current).toBeNull();
  expect(damaged.warnings).toEqual([expect.stringContaining('the snapshot on disk is not used')]);
  await writeSnapshotFile(path, { ...snapshotMessage(), workspace: 'other' });
  const other = await startFrom(path);
  expect(other.cell.current).toBeNull();
  expect(other.warnings).toEqual([expect.stringContaining('wrong_workspace')]);
});

/** A sidecar that receives one revision after the other, and the writes that follow. */
async function createWriter() {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  const clock = createManualClock(1_000_000);
  const cell = createPolicyCell(clock, 'acme');
  const keeper = await keepOnDisk({ cell, clock, log: { warn: () => undefined }, isOurs: () => true }, path);
  let revision = 0;
  const takes = (count: number): void => {
    for (let n = 0; n < count; n += 1) {
      revision += 1;
      expect(cell.offer(snapshotMessage({ revision, documents: [ruleFor(`tool.${revision}`, { permission: 'deny' })] }))).toMatchObject({
        ok: true,
      });
      keeper.save();
    }
  };
  const written = async (): Promise<number | undefined> => (await readSnapshotFile(path))?.message.revision?.number;
  return { folder, path, clock, cell, keeper, takes, written };
}

test('under a stream of changes the file is written at once, and then at most every second, with the newest; close writes the rest', async () => {
  const { folder, clock, keeper, takes, written } = await createWriter();
  takes(1);
  await expect.poll(written).toBe(1);
  takes(20);
  clock.advance(999);
  expect(await written()).toBe(1);
  clock.advance(1);
  await expect.poll(written).toBe(21);
  takes(1);
  clock.advance(999);
  expect(await written()).toBe(21);
  await keeper.close();
  expect(await written()).toBe(22);
  expect(readdirSync(folder)).toEqual(['snapshot']);
});

test('after a delta the file holds the whole, and a sidecar that starts from it decides as the one before', async () => {
  const { path, cell, keeper } = await createWriter();
  const first = snapshotMessage({ revision: 1, documents: [ruleFor('a.b', { permission: 'allow' })] });
  const second = snapshotMessage({ revision: 2, documents: [ruleFor('a.b', { permission: 'deny' })], agents: [] });
  cell.offer(first);
  keeper.save();
  expect(cell.change(deltaBetween(first, second))).toMatchObject({ ok: true });
  keeper.save();
  await keeper.close();
  const { cell: next, warnings } = await startFrom(path);
  expect(next.current).toEqual(cell.current);
  expect(next.current?.hash.equals(second.hash)).toBe(true);
  expect(warnings).toEqual([]);
});

test('a rejected key leaves no file, even if one was being written; what is received later is stored again', async () => {
  const { folder, keeper, takes, written } = await createWriter();
  takes(2);
  keeper.drop();
  await expect.poll(() => readdirSync(folder)).toEqual([]);
  takes(1);
  await keeper.close();
  expect(await written()).toBe(3);
});

test('a disk that cannot be written causes a warning and no other harm', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'taken', 'snapshot');
  writeFileSync(join(folder, 'taken'), 'a file where a folder should be');
  const { cell, keeper, warnings } = await startFrom(path);
  cell.offer(snapshotMessage());
  keeper.save();
  await keeper.close();
  expect(warnings.at(-1)).toContain('the snapshot could not be stored on disk');
  expect(cell.current?.revision).toBe(1);
});

test('where the new file cannot replace the old, the old one stays whole and the temporary one is removed', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  mkdirSync(path);
  writeFileSync(join(path, 'in the way'), '');
  await expect(writeSnapshotFile(path, snapshotMessage())).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(['snapshot']);
  rmSync(path, { recursive: true });
  await writeSnapshotFile(path, snapshotMessage());
  expect((await readSnapshotFile(path))?.message.revision?.number).toBe(1);
});

test('a process killed before the rename leaves the old snapshot, whole', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  const script = new URL('../../../support/write-snapshot-until-rename.ts', import.meta.url).pathname;
  const killed = spawnSync(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', script, path], { encoding: 'utf8' });
  expect({ signal: killed.signal, stderr: killed.stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  // The second write was complete on disk under its temporary name.
  expect(readdirSync(folder)).toHaveLength(2);
  return expect(readSnapshotFile(path)).resolves.toMatchObject({ message: { revision: { number: 1 } } });
});

test('noting the age changes only the modification time', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  utimesSync(path, 1, 1);
  const before = readFileSync(path);
  await touchSnapshotFile(path, wallTimeStart);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(statSync(path).mtimeMs).toBe(wallTimeStart);
});
