// Decides which parts of a group of batches are accepted and which are refused. A spool accepts records only with its
// secret, in its workspace, without holes, and never a second time with different bytes. Pure.
import { hash } from 'node:crypto';
import type { RefusedCode } from '@tollgate/proto/contract';
import { type AuditBatch, type IngestResult, lastOf, type ShippedRecord, type ShippedRecords } from '../rules/audit-batch.ts';
import { cleanText } from '../../base/clean-json.ts';
import { type SpoolState, type LockedSpool, type LockedWorkspace, sentKept, type SentRun } from '../store/audit-ingest.ts';

/** The part of a batch that becomes items of the log. */
export interface FreshItems extends Pick<LockedSpool, 'keyId' | 'onlySub'> {
  readonly spoolId: string;
  readonly deliveredBy: string;
  /** In the order of their sequences. They can be read only once. */
  readonly items: Iterable<Item>;
}

/** The content of one item of the log. */
type Item = { readonly sequence: number; readonly bytes: Uint8Array } | Gap;

interface Gap {
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

const neverArrived = 'never arrived';
/**
 * The reason of a gap for records that had arrived and were acknowledged. They were lost when the database was restored
 * from an older backup.
 */
const setBack = 'newer than the backup that was restored';
const cameAgain = 'came again with other bytes, which were refused';
const reasonMax = 500;
/** The maximum number of sequences by which a spool can be ahead of the database. No spool reaches it. */
const sequencesAheadMax = 1_000_000_000;
/** The length of a SHA-256 in hex. */
const hashDigits = 64;

interface BatchJudgement {
  /** The number of new records. */
  readonly records: number;
  readonly fresh: readonly FreshItems[];
  /** One answer for each batch, in the same order. */
  readonly answers: readonly IngestResult[];
  /** Spools whose state changes. */
  readonly arrived: readonly SpoolState[];
  /** Hashes of the bytes of new entries. */
  readonly sent: readonly SentRun[];
}

interface LockedWorkspaceLog {
  readonly workspace: LockedWorkspace;
  readonly spools: ReadonlyMap<string, LockedSpool>;
  /** The stored hashes of the spools that send some records again. */
  readonly sent: readonly SentRun[];
}

/**
 * Returns whether a part of the batch arrived before. In this case, `judgeBatches` needs the stored hashes (`sent`) of
 * the batch's spool.
 */
export const comesAgain = ({ first }: AuditBatch, spool: LockedSpool | undefined): boolean => first <= (spool?.stored ?? 0);

/** Batches of one spool must be in the order in which they arrived. */
export function judgeBatches(
  batches: readonly AuditBatch[],
  { workspace, ...known }: LockedWorkspaceLog,
  receivedAt: Date,
): BatchJudgement {
  const spools = new Map(known.spools);
  const sent = [...known.sent];
  const arrived = new Map<string, SpoolState>();
  const fresh: FreshItems[] = [];
  let records = 0;
  const answers = batches.map((batch): IngestResult => {
    const { spoolId, deliverer } = batch;
    const spool = spools.get(spoolId) ?? unknownSpool;
    const refused = refusalOf(batch, spool, workspace);
    if (refused !== null) return { refused, expected: refused === 'hole' ? spool.stored + 1 : 0 };
    const conflict = findConflict(batch, spool, sent);
    const arrive = (next: LockedSpool, items: Iterable<Item>): void => {
      spools.set(spoolId, next);
      arrived.set(spoolId, { spoolId, at: receivedAt, ...next });
      fresh.push({ spoolId, keyId: next.keyId, onlySub: next.onlySub, deliveredBy: deliverer.keyId, items });
    };
    if (conflict !== null) {
      // Record the conflict once only, because the sidecar sends the batch repeatedly.
      if (!spool.conflicted) arrive({ ...spool, conflicted: true }, [conflict]);
      return { refused: 'conflict', expected: spool.stored + 1 };
    }
    if (batch.last <= spool.stored) return { acknowledged: spool.stored };
    const beyond = recordsBeyond(batch, spool.stored);
    records += beyond.length;
    sent.push(...runsOf(spoolId, beyond));
    arrive({ ...ownedBy(batch, spool), stored: batch.last, restored: false }, itemsOf(missingBefore(batch, spool), beyond));
    return { acknowledged: batch.last };
  });
  return { records, fresh, answers, arrived: [...arrived.values()], sent: sent.slice(known.sent.length) };
}

const unknownSpool: LockedSpool = { stored: 0, restored: false, secretHash: null, keyId: null, onlySub: null, conflicted: false };

function refusalOf(batch: AuditBatch, spool: LockedSpool, workspace: LockedWorkspace): RefusedCode | null {
  if (spool.secretHash !== null && spool.secretHash !== batch.secretHash) return 'wrong_secret';
  if (!isOfWorkspace(batch, workspace)) return 'other_workspace';
  // The first batch of an unknown spool may begin at a later sequence, because earlier records may be out of retention.
  // In a known spool, no record may be missing. An exception is a spool whose records were lost when the database was
  // restored.
  const ahead = batch.first - spool.stored - 1;
  return (spool.stored > 0 && !spool.restored && ahead > 0) || ahead > sequencesAheadMax ? 'hole' : null;
}

/**
 * Checks that a batch belongs to this workspace. If the sidecar does not know the id of its workspace, the times of the
 * entries decide: an entry that is older than the workspace belongs to an earlier workspace with the same slug.
 */
function isOfWorkspace({ begunFor, records }: AuditBatch, { randomId, createdAt }: LockedWorkspace): boolean {
  if (begunFor !== null) return begunFor === randomId;
  for (const { content } of records) if ('entry' in content && claimedTime(content.entry) < createdAt.getTime()) return false;
  return true;
}

/**
 * Returns the time that the entry claims, in ms since 1970, however old it is. Returns NaN if the entry has no time.
 */
function claimedTime(bytes: Uint8Array): number {
  try {
    return Date.parse(String(Object(JSON.parse(Buffer.from(bytes).toString('utf8'))).ts));
  } catch {
    return Number.NaN;
  }
}

/**
 * Returns the spool with its owner. The first accepted batch determines the owner. If the spool was begun before spools
 * had secrets, its owner is unknown.
 */
const ownedBy = ({ secretHash, deliverer }: AuditBatch, spool: LockedSpool): LockedSpool =>
  spool.secretHash === null
    ? { ...spool, secretHash, keyId: spool.stored === 0 ? deliverer.keyId : null, onlySub: deliverer.onlySub }
    : // If the key was narrowed later, its spools are restricted, too.
      { ...spool, onlySub: spool.onlySub ?? (spool.keyId === deliverer.keyId ? deliverer.onlySub : null) };

/**
 * Returns the parts of the records after the sequence `stored`. If a loss begins at this sequence or earlier, it is
 * shortened.
 */
function recordsBeyond({ records, first }: AuditBatch, stored: number): ShippedRecords {
  if (first > stored) return records;
  const read = function* (): Generator<ShippedRecord> {
    for (const record of records)
      if (lastOf(record) > stored) yield record.sequence > stored ? record : { ...record, sequence: stored + 1 };
  };
  let length = 0;
  for (const record of records) if (lastOf(record) > stored) length += 1;
  return { length, [Symbol.iterator]: read };
}

const hashOf = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** Groups entries that follow each other without a loss. */
function runsOf(spoolId: string, records: ShippedRecords): readonly SentRun[] {
  const runs: { readonly spoolId: string; readonly first: number; last: number; hashes: string }[] = [];
  for (const { sequence, content } of records) {
    if (!('entry' in content)) continue;
    const run = runs.at(-1);
    if (run?.last === sequence - 1) {
      run.last = sequence;
      run.hashes += hashOf(content.entry);
    } else runs.push({ spoolId, first: sequence, last: sequence, hashes: hashOf(content.entry) });
  }
  return runs;
}

/**
 * Returns the range of the entries that arrived before with different bytes, from the first of them to the last.
 * Returns null if there are no such entries.
 */
function findConflict(batch: AuditBatch, spool: LockedSpool, sent: readonly SentRun[]): Gap | null {
  if (!comesAgain(batch, spool)) return null;
  const { stored } = spool;
  const runs = sent.filter(({ spoolId }) => spoolId === batch.spoolId);
  const differing: number[] = [];
  for (const { sequence, content } of batch.records) {
    if (!('entry' in content) || sequence > stored || sequence <= stored - sentKept) continue;
    const before = hashAt(runs, sequence);
    if (before !== null && before !== hashOf(content.entry)) differing.push(sequence);
  }
  const [first] = differing;
  return first === undefined ? null : { first, last: differing.at(-1) ?? first, reason: cameAgain };
}

function hashAt(runs: readonly SentRun[], sequence: number): string | null {
  const run = runs.find(({ first, last }) => first <= sequence && sequence <= last);
  if (run === undefined) return null;
  const at = (sequence - run.first) * hashDigits;
  return run.hashes.slice(at, at + hashDigits);
}

/** The records before the batch that did not arrive. */
const missingBefore = ({ first }: AuditBatch, { stored, restored }: LockedSpool): Gap | null =>
  first > stored + 1 ? { first: stored + 1, last: first - 1, reason: restored ? setBack : neverArrived } : null;

/**
 * Yields the items in the order of their sequences. They include the losses that the sidecar reports and a gap that it
 * does not report. Consecutive losses with the same reason become one gap.
 */
function* itemsOf(missing: Gap | null, fresh: ShippedRecords): Generator<Item> {
  let gap = missing;
  for (const { sequence, content } of fresh) {
    if ('entry' in content) {
      if (gap !== null) yield gap;
      gap = null;
      yield { sequence, bytes: content.entry };
      continue;
    }
    const { last } = content;
    const reason = reasonFrom(content.lost);
    if (gap !== null && gap.reason !== reason) yield gap;
    gap = { first: gap?.reason === reason ? gap.first : sequence, last, reason };
  }
  if (gap !== null) yield gap;
}

const reasonFrom = (claimed: string): string =>
  cleanText(claimed, new Set())
    .slice(0, reasonMax)
    .replace(/\p{Cs}$/u, '');
