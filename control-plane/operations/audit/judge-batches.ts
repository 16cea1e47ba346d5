// What of a group of batches is taken, and what is refused: a spool takes records only with its secret, in its workspace, without
// holes, and never twice with other bytes. Pure.
import { hash } from 'node:crypto';
import type { RefusedCode } from '@tollgate/proto/contract';
import { type AuditBatch, type Ingested, lastOf, type ShippedRecord } from '../../domain/audit/audit-batch.ts';
import { cleanText } from '../../domain/clean-json.ts';
import { type Arrived, type LockedSpool, type LockedWorkspace, sentKept, type SentRun } from '../../store/audit-ingest.ts';

/** What of a batch becomes items of the log. */
export interface FreshItems extends Pick<LockedSpool, 'keyId' | 'onlySub'> {
  readonly spoolId: string;
  readonly deliveredBy: string;
  readonly items: readonly Item[];
}

/** What becomes one item of the log. */
type Item = { readonly sequence: number; readonly bytes: Uint8Array } | Gap;

export interface Gap {
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

const neverArrived = 'never arrived';
/** They had come, were acknowledged, and went when the database was put back from a backup of before. */
const setBack = 'newer than the backup that was restored';
const cameAgain = 'came again with other bytes, which were refused';
const reasonMax = 500;
/** A database may be far behind a spool, but no spool comes so far. */
const sequencesAheadMax = 1_000_000_000;
const hashBytes = 32;

interface Judged {
  /** How many records are new. */
  readonly records: number;
  readonly fresh: readonly FreshItems[];
  /** For each batch, in their order. */
  readonly answers: readonly Ingested[];
  /** Spools of which something changes. */
  readonly arrived: readonly Arrived[];
  /** How the bytes of new entries were. */
  readonly sent: readonly SentRun[];
}

interface Known {
  readonly workspace: LockedWorkspace;
  readonly spools: ReadonlyMap<string, LockedSpool>;
  /** Of spools of which something comes again. */
  readonly sent: readonly SentRun[];
}

/** Whether something of the batch was there before; then `sent` of its spool is needed. */
export const comesAgain = ({ records }: AuditBatch, spool: LockedSpool | undefined): boolean =>
  (records[0]?.sequence ?? 0) <= (spool?.stored ?? 0);

/** Batches of one spool in the order in which they came. */
export function judgeBatches(batches: readonly AuditBatch[], { workspace, ...known }: Known, receivedAt: Date): Judged {
  const spools = new Map(known.spools);
  const sent = [...known.sent];
  const arrived = new Map<string, Arrived>();
  const fresh: FreshItems[] = [];
  let records = 0;
  const answers = batches.map((batch): Ingested => {
    const { spoolId, deliverer } = batch;
    const spool = spools.get(spoolId) ?? unknownSpool;
    const refused = refusalOf(batch, spool, workspace);
    if (refused !== null) return { refused, expected: refused === 'hole' ? spool.stored + 1 : 0 };
    const conflict = findConflict(batch, spool, sent);
    const arrive = (next: LockedSpool, items: readonly Item[]): void => {
      spools.set(spoolId, next);
      arrived.set(spoolId, { spoolId, at: receivedAt, ...next });
      if (items.length > 0) fresh.push({ spoolId, keyId: next.keyId, onlySub: next.onlySub, deliveredBy: deliverer.keyId, items });
    };
    if (conflict !== null) {
      // Once: a sidecar comes with it again and again.
      if (!spool.conflicted) arrive({ ...spool, conflicted: true }, [conflict]);
      return { refused: 'conflict', expected: spool.stored + 1 };
    }
    const beyond = batch.records.flatMap((record) => partBeyond(record, spool.stored));
    const newest = beyond.at(-1);
    if (newest === undefined) return { acknowledged: spool.stored };
    const stored = lastOf(newest);
    records += beyond.length;
    sent.push(...runsOf(spoolId, beyond));
    arrive({ ...ownedBy(batch, spool), stored, restored: false }, itemsOf(spool.stored, beyond, spool.restored ? setBack : neverArrived));
    return { acknowledged: stored };
  });
  return { records, fresh, answers, arrived: [...arrived.values()], sent: sent.slice(known.sent.length) };
}

const unknownSpool: LockedSpool = { stored: 0, restored: false, secretHash: null, keyId: null, onlySub: null, conflicted: false };

function refusalOf(batch: AuditBatch, spool: LockedSpool, workspace: LockedWorkspace): RefusedCode | null {
  if (spool.secretHash !== null && spool.secretHash !== batch.secretHash) return 'wrong_secret';
  if (!isOfWorkspace(batch, workspace)) return 'other_workspace';
  const first = batch.records[0]?.sequence ?? 0;
  // Of a spool that is not known, what came before may be out of retention; of one that is, nothing can be missing by itself.
  const ahead = first - spool.stored - 1;
  return (spool.stored > 0 && !spool.restored && ahead > 0) || ahead > sequencesAheadMax ? 'hole' : null;
}

/** Where the sidecar does not know it: entries from before the workspace are of one that had its slug. */
function isOfWorkspace({ begunFor, records }: AuditBatch, { randomId, createdAt }: LockedWorkspace): boolean {
  if (begunFor !== null) return begunFor === randomId;
  return !records.some(({ content }) => 'entry' in content && claimedTime(content.entry) < createdAt.getTime());
}

/** As the entry says it, in ms since 1970, however long ago; NaN where it says none. */
function claimedTime(bytes: Uint8Array): number {
  try {
    return Date.parse(String(Object(JSON.parse(Buffer.from(bytes).toString('utf8'))).ts));
  } catch {
    return Number.NaN;
  }
}

/** The first batch that is taken says whose the spool is. Who began one that is older than secrets is not known. */
const ownedBy = ({ secretHash, deliverer }: AuditBatch, spool: LockedSpool): LockedSpool =>
  spool.secretHash === null
    ? { ...spool, secretHash, keyId: spool.stored === 0 ? deliverer.keyId : null, onlySub: deliverer.onlySub }
    : // A key that was narrowed since says less in its spools, too.
      { ...spool, onlySub: spool.onlySub ?? (spool.keyId === deliverer.keyId ? deliverer.onlySub : null) };

/** What of a record comes after `stored`: of a loss, it may be a part. */
function partBeyond(record: ShippedRecord, stored: number): readonly ShippedRecord[] {
  if (lastOf(record) <= stored) return [];
  return [record.sequence > stored ? record : { ...record, sequence: stored + 1 }];
}

const hashOf = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/** Entries that follow each other without a loss. */
function runsOf(spoolId: string, records: readonly ShippedRecord[]): readonly SentRun[] {
  const runs: { readonly first: number; readonly hashes: Buffer[] }[] = [];
  for (const { sequence, content } of records) {
    if (!('entry' in content)) continue;
    const run = runs.at(-1);
    if (run !== undefined && run.first + run.hashes.length === sequence) run.hashes.push(hashOf(content.entry));
    else runs.push({ first: sequence, hashes: [hashOf(content.entry)] });
  }
  return runs.map(({ first, hashes }) => ({ spoolId, first, last: first + hashes.length - 1, hashes: Buffer.concat(hashes) }));
}

/** The entries that came before with other bytes, from the first to the last of them; null: there are none. */
function findConflict({ spoolId, records }: AuditBatch, { stored }: LockedSpool, sent: readonly SentRun[]): Gap | null {
  const runs = sent.filter((run) => run.spoolId === spoolId);
  const differing = records.filter(({ sequence, content }) => {
    if (!('entry' in content) || sequence > stored || sequence <= stored - sentKept) return false;
    const before = hashAt(runs, sequence);
    return before !== null && !before.equals(hashOf(content.entry));
  });
  const [first] = differing;
  return first === undefined ? null : { first: first.sequence, last: differing.at(-1)?.sequence ?? first.sequence, reason: cameAgain };
}

function hashAt(runs: readonly SentRun[], sequence: number): Buffer | null {
  const run = runs.find(({ first, last }) => first <= sequence && sequence <= last);
  if (run === undefined) return null;
  const at = (sequence - run.first) * hashBytes;
  return run.hashes.subarray(at, at + hashBytes);
}

/** In the order of their sequences, with what the sidecar says it lost, and what is missing without a word. */
function itemsOf(stored: number, fresh: readonly ShippedRecord[], missing: string): readonly Item[] {
  const first = fresh[0]?.sequence ?? 0;
  const items: Item[] = first > stored + 1 ? [{ first: stored + 1, last: first - 1, reason: missing }] : [];
  for (const { sequence, content } of fresh) {
    if ('entry' in content) items.push({ sequence, bytes: content.entry });
    else addLoss(items, { first: sequence, last: content.last, reason: reasonFrom(content.lost) });
  }
  return items;
}

const reasonFrom = (claimed: string): string =>
  cleanText(claimed, new Set())
    .slice(0, reasonMax)
    .replace(/\p{Cs}$/u, '');

/** Losses that follow each other for one reason are one gap. */
function addLoss(items: Item[], { first, last, reason }: Gap): void {
  const before = items.at(-1);
  if (before !== undefined && 'reason' in before && before.reason === reason && before.last === first - 1)
    items.splice(-1, 1, { ...before, last });
  else items.push({ first, last, reason });
}
