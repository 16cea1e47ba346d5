import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bindCaller } from '../../../sidecar/decide/bind.ts';
import { decide } from '../../../sidecar/decide/decide.ts';
import { createCounters } from '../../../sidecar/limits/counters.ts';
import { createRunUsage } from '../../../sidecar/limits/usage.ts';
import { createPolicyCell, type PolicyCell } from '../../../sidecar/snapshot/cell.ts';
import { readSnapshotFile, touchSnapshotFile, writeSnapshotFile } from '../../../sidecar/snapshot/disk.ts';
import { type Keeper, keepOnDisk } from '../../../sidecar/snapshot/keep.ts';
import { verifySnapshot } from '../../../sidecar/snapshot/verify.ts';
import { snapshotMessage } from '../../support/snapshots.ts';
import { temporaryFolder } from '../../support/spools.ts';

const wallStart = Date.UTC(2026, 0, 1);

interface Started {
  readonly cell: PolicyCell;
  readonly keeper: Keeper;
  readonly warnings: readonly string[];
}

/** A sidecar's start as far as its snapshot file goes, at a wall-clock time, `now` counting from 1,000,000. */
async function startFrom(path: string, wall = wallStart): Promise<Started> {
  const warnings: string[] = [];
  const cell = createPolicyCell({ now: () => 1_000_000 }, 'acme');
  const clock = { now: () => 1_000_000, wall: () => wall };
  const log = { warn: (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`) };
  const keeper = await keepOnDisk({ cell, clock, log }, path);
  onTestFinished(() => keeper.close());
  return { cell, keeper, warnings };
}

test('what is written is read again as it was, with when the control plane was last heard from', async () => {
  const path = join(temporaryFolder(), 'new', 'folder', 'snapshot');
  const message = snapshotMessage({ revision: 9 });
  await writeSnapshotFile(path, message);
  await touchSnapshotFile(path, wallStart + 1_000);
  const stored = await readSnapshotFile(path);
  expect(stored?.heardAt).toBe(wallStart + 1_000);
  expect(verifySnapshot(stored?.message ?? message, 'acme')).toEqual(verifySnapshot(message, 'acme'));
  expect(stored?.message.revision).toEqual({ epoch: 'e1', number: 9 });
});

test('only the owner may read it, and nothing else is left beside it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  await writeSnapshotFile(path, snapshotMessage({ revision: 2 }));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['snapshot']);
});

test('a file that is not there is no snapshot and no problem; noting its age makes none', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await touchSnapshotFile(path, wallStart);
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

test('a whole file that holds something else is not used', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  for (const body of [Buffer.alloc(0), Buffer.from('{"revision":1}')]) {
    writeFileSync(path, Buffer.concat([createHash('sha256').update(body).digest(), body]));
    await expect(readSnapshotFile(path)).rejects.toThrow();
  }
});

test('a sidecar starts with what is on disk, as old as it is', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage({ revision: 4 }));
  await touchSnapshotFile(path, wallStart - 30_000);
  const { cell, warnings } = await startFrom(path);
  expect(cell.status()).toMatchObject({ revision: 4, connected: false, ageMs: 30_000 });
  expect(warnings).toEqual([]);
});

test('the outage rule counts the time for which nothing ran', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  const outage = {
    maxStalenessSeconds: 60,
    then: { interactive: 'last_known', subagent: 'deny', background: 'deny', api: 'deny' },
  } as const;
  await writeSnapshotFile(path, snapshotMessage({ settings: { outage } }));
  const decided = async (ageMs: number, tier: 'interactive' | 'api') => {
    await touchSnapshotFile(path, wallStart - ageMs);
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

test('a file from the future is taken for fresh, not for longer than fresh', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  await touchSnapshotFile(path, wallStart + 3_600_000);
  const { cell } = await startFrom(path);
  expect(cell.status().ageMs).toBe(0);
});

test('a damaged file, or one of another workspace, is warned about and the sidecar starts empty', async () => {
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

test('of snapshots that arrive while one is being written the newest is written last, and close waits for it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'snapshot');
  const { keeper } = await startFrom(path);
  for (let revision = 1; revision <= 20; revision += 1) keeper.save(snapshotMessage({ revision }));
  await keeper.close();
  expect((await readSnapshotFile(path))?.message.revision?.number).toBe(20);
  expect(readdirSync(folder)).toEqual(['snapshot']);
});

test('a disk that cannot be written is warned about and costs nothing else', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'taken', 'snapshot');
  writeFileSync(join(folder, 'taken'), 'a file where a folder should be');
  const { cell, keeper, warnings } = await startFrom(path);
  cell.offer(snapshotMessage());
  keeper.save(snapshotMessage());
  await keeper.close();
  expect(warnings.at(-1)).toContain('the snapshot could not be kept on disk');
  expect(cell.current?.revision).toBe(1);
});

test('where the new file cannot take its place, the old one stays whole and the temporary one goes', async () => {
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
  const script = new URL('../../support/write-snapshot-until-rename.ts', import.meta.url).pathname;
  const killed = spawnSync(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', script, path], { encoding: 'utf8' });
  expect({ signal: killed.signal, stderr: killed.stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  // The second write was complete on disk under its temporary name.
  expect(readdirSync(folder)).toHaveLength(2);
  return expect(readSnapshotFile(path)).resolves.toMatchObject({ message: { revision: { number: 1 } } });
});

test('a modification time is all that noting the age changes', async () => {
  const path = join(temporaryFolder(), 'snapshot');
  await writeSnapshotFile(path, snapshotMessage());
  utimesSync(path, 1, 1);
  const before = readFileSync(path);
  await touchSnapshotFile(path, wallStart);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(statSync(path).mtimeMs).toBe(wallStart);
});
