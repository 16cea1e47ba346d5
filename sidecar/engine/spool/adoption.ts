// Takes over the spools that dead processes of the same workspace left in the spool folder. They are shipped under
// their own spool ids. The shipper calls this at its start and once a minute. Any number of processes may do so at the
// same time.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readAcknowledgedMark } from './acknowledged-mark.ts';
import { type Backlog, type BacklogDeps, createBacklog } from './backlog.ts';
import { readTail } from './damage.ts';
import { type Hold, isErrno, takeHold } from './hold.ts';
import { hasGrants, type LeftGrants, readBootId, readGrants, removeGrants } from './left-grants.ts';
import { readOwnership } from './ownership.ts';
import { createSegments, firstOfSegment, type Segment, type Segments } from './segments.ts';
import { type FoundSpool, listSpools, removeRemnants } from './spool-folder.ts';
import { readRange, type SpoolFs } from './spool-fs.ts';

export interface AdoptionDeps extends BacklogDeps {
  readonly randomId: () => string;
  /**
   * Tells the ledger what a dead process has used of its grants. `secret`: the secret of its spool. Resolves with
   * whether the ledger knows it now. Never rejects.
   */
  readonly settle: (secret: Buffer, read: () => LeftGrants | null) => Promise<boolean>;
}

export interface AdoptionConfig {
  /** The spool folder, with one subfolder for each process. */
  readonly folder: string;
  readonly workspace: string;
  /** The maximum number of spools to take. The remaining spools are taken the next time, or by another process. */
  readonly max: number;
  /** Returns whether a spool must not be taken for now. */
  readonly isLeft?: (id: string) => boolean;
}

export async function adoptDead(
  deps: AdoptionDeps,
  { folder, workspace, max, isLeft = () => false }: AdoptionConfig,
): Promise<readonly Backlog[]> {
  for (const path of await removeRemnants(folder, deps.clock.wallTime()))
    deps.log.warn({ path }, 'the remains of a spool cannot be removed');
  const adopted: Backlog[] = [];
  for (const spool of listSpools(folder)) {
    if (adopted.length >= max) break;
    if (isLeft(spool.id)) continue;
    const found = spool.workspace;
    if (found === undefined) deps.log.warn({ folder: spool.folder }, 'a spool cannot be read: its format is unknown or damaged');
    if (found !== workspace) continue;
    const backlog = await adopt(deps, spool).catch((error: unknown) => {
      // Another process can finish and remove a spool at any moment.
      if (!isErrno(error, 'ENOENT'))
        deps.log.warn({ folder: spool.folder, error: String(error) }, 'a spool of an ended process could not be taken over');
      return undefined;
    });
    if (backlog) adopted.push(backlog);
  }
  return adopted;
}

async function adopt(deps: AdoptionDeps, { id, folder }: FoundSpool): Promise<Backlog | undefined> {
  const hold = await takeHold(folder, deps.randomId);
  if (!hold) return undefined;
  try {
    const owned = readOwnership(folder);
    const list = listSegments(folder);
    const segments = await readSegments(deps, hold, list);
    const [oldest] = list;
    const settled = hasGrants(folder) ? settleGrants(deps, folder, owned.secret) : null;
    const since = oldest && { since: statSync(oldest.path).birthtimeMs };
    const backlog = createBacklog(deps, { id, hold, owned, segments, settled, ...since });
    deps.log.info({ spool: id, ...backlog.status() }, 'a spool of an ended process was taken over');
    return backlog;
  } catch (error) {
    hold.release();
    throw error;
  }
}

async function settleGrants({ settle, log }: AdoptionDeps, folder: string, secret: Buffer): Promise<void> {
  try {
    if (await settle(secret, () => readGrants(folder, readBootId()))) removeGrants(folder);
  } catch (error) {
    log.warn({ folder, error: String(error) }, 'the used calls of an ended process could not be removed');
  }
}

async function readSegments(deps: AdoptionDeps, { folder }: Hold, list: Segment[]): Promise<Segments> {
  const [oldest] = list;
  const newest = list.at(-1);
  const remembered = await readAcknowledgedMark(deps.fs, folder);
  // A segment is deleted only after it is acknowledged, so everything before the oldest segment is acknowledged. The
  // stored mark may be older.
  const acknowledged = Math.max(remembered, oldest ? oldest.first - 1 : 0);
  const last = newest ? await findEnd(deps.fs, newest) : 0;
  const segments = createSegments(deps, { folder, list, last: Math.max(last, acknowledged), acknowledged });
  segments.acknowledge(acknowledged);
  return segments;
}

function listSegments(folder: string): Segment[] {
  const firsts = readdirSync(folder).map((name) => ({ first: firstOfSegment(name), path: join(folder, name) }));
  return firsts
    .flatMap(({ first, path }) => (first === undefined ? [] : [{ first, path, bytes: statSync(path).size }]))
    .sort((a, b) => a.first - b.first);
}

// Only the newest segment is examined: its last record may be incomplete, because its process did not finish it. Every
// other segment ends where the next one begins.
async function findEnd(fs: SpoolFs, newest: Segment): Promise<number> {
  const fd = fs.openSync(newest.path, 'r');
  try {
    const end = readTail(await readRange(fs, fd, 0, newest.bytes), newest.first);
    newest.bytes = end.bytes;
    return newest.first - 1 + end.records;
  } finally {
    fs.closeSync(fd);
  }
}
