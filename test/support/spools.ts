// Spools in temporary folders, and their content.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../sidecar/base/clock.ts';
import { type AdoptionDeps, adoptDead } from '../../sidecar/engine/spool/adoption.ts';
import type { Backlog } from '../../sidecar/engine/spool/backlog.ts';
import { lastIn, type SpoolRecord } from '../../sidecar/engine/spool/record.ts';
import { openSpool, randomSpoolId, type Spool, type SpoolConfig } from '../../sidecar/engine/spool/spool.ts';
import { diskFs, type SpoolFs } from '../../sidecar/engine/spool/spool-fs.ts';
import { silentLog } from './silent-log.ts';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-spool-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface TestSpoolOptions extends Partial<SpoolConfig> {
  readonly folder: string;
  readonly fs?: Partial<SpoolFs>;
  readonly clock?: Clock;
}

export function openTestSpool({ fs, clock = systemClock, ...config }: TestSpoolOptions): Promise<Spool> {
  return openSpool(
    { clock, log: silentLog, fs: { ...diskFs, ...fs } },
    { workspace: 'acme', durability: 'kernel', bytesMax: 64 * 1024 * 1024, ...config },
  );
}

export function adoptAll(
  folder: string,
  workspace = 'acme',
  settle: AdoptionDeps['settle'] = async () => true,
): Promise<readonly Backlog[]> {
  return adoptDead({ fs: diskFs, clock: systemClock, log: silentLog, randomId: randomSpoolId, settle }, { folder, workspace, max: 100 });
}

/** All unacknowledged records, from the first on. */
export async function readAll(backlog: Backlog, limits = { recordsMax: 1_000, bytesMax: 1024 * 1024 }): Promise<readonly SpoolRecord[]> {
  const records: SpoolRecord[] = [];
  for (let after = backlog.acknowledged; after < backlog.last; after = lastIn(records) ?? backlog.last) {
    records.push(...(await backlog.readBatch(after, limits)));
  }
  return records;
}

/** Resolves when the control plane has acknowledged this sequence. */
export async function acknowledgedThrough(sequence: number, backlog: Backlog): Promise<void> {
  while (backlog.acknowledged < sequence) await new Promise((resolve) => setImmediate(resolve));
}

/** `sequence: entry`, or `sequence lost`. */
export function textOf(records: readonly SpoolRecord[]): readonly string[] {
  return records.flatMap((record) => {
    if ('entry' in record) return [`${record.sequence}: ${record.entry.toString()}`];
    return Array.from({ length: record.lost.last - record.sequence + 1 }, (_, at) => `${record.sequence + at} lost`);
  });
}

/** The records that a later process finds in a folder with one left-behind spool. */
export async function readLeftBehind(folder: string): Promise<readonly string[]> {
  const [backlog, ...others] = await adoptAll(folder);
  if (!backlog || others.length > 0) throw new Error(`${others.length + 1} spools where one was expected`);
  const text = textOf(await readAll(backlog));
  await backlog.close();
  return text;
}

export interface SegmentFile {
  readonly name: string;
  read(): Buffer;
  write(bytes: Buffer): void;
}

export function segmentFiles(folder: string, spoolId: string): readonly SegmentFile[] {
  const names = readdirSync(join(folder, spoolId)).filter((name) => name.endsWith('.segment'));
  return names.sort().map((name) => ({
    name,
    read: () => readFileSync(join(folder, spoolId, name)),
    write: (bytes) => writeFileSync(join(folder, spoolId, name), bytes),
  }));
}

export function onlySegment(folder: string, spoolId: string): SegmentFile {
  const [segment, ...others] = segmentFiles(folder, spoolId);
  if (!segment || others.length > 0) throw new Error(`${others.length + 1} segments where one was expected`);
  return segment;
}

export function errnoError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected`), { code });
}
