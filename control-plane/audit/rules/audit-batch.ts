// Batches of records as sidecars ship them, and the form that they must have. Pure.
import { bounds, type RefusedCode } from '@tollgate/proto/contract';

/**
 * One record of a spool: an entry as bytes of JSON; or the reason why this record, and those up to `last`, could not be
 * read.
 */
export interface ShippedRecord {
  readonly sequence: number;
  readonly content: { readonly entry: Uint8Array } | { readonly lost: string; readonly last: number };
}

/** Records that can be read more than once. Each reading can make new objects. */
export interface ShippedRecords extends Iterable<ShippedRecord> {
  readonly length: number;
}

export const lastOf = ({ sequence, content }: ShippedRecord): number => ('entry' in content ? sequence : content.last);

/** The key that delivered a batch. */
export interface Deliverer {
  readonly keyId: string;
  /** The only subject that entries of its spools can name; null: any. */
  readonly onlySub: string | null;
}

export interface Measured {
  /** The first sequence and the last. */
  readonly first: number;
  readonly last: number;
  /** Bytes of the entries and reasons. */
  readonly bytes: number;
}

/** A batch of valid form, in which `batchProblem` found no problem. */
export interface AuditBatch extends Measured {
  /** The workspace of the credential. It is never read from a message. */
  readonly workspaceId: number;
  /** 32 hex digits, created with the spool. */
  readonly spoolId: string;
  /** SHA-256 of the spool's secret, in hex. */
  readonly secretHash: string;
  /** The random id of the workspace for which the spool was begun; null: its sidecar did not know it. */
  readonly begunFor: string | null;
  readonly deliverer: Deliverer;
  /** True: no caller waits for the acknowledgement. The batch can wait for other batches. */
  readonly canWait: boolean;
  /** At least one record; the sequences are consecutive without holes. */
  readonly records: ShippedRecords;
}

/** Measures the records of a batch. If they do not follow each other, only `bytes` is of use. */
export function measureRecords(records: ShippedRecords): Measured {
  let first = 0;
  let last = 0;
  let bytes = 0;
  for (const record of records) {
    if (first === 0) first = record.sequence;
    last = lastOf(record);
    bytes += bytesOf(record);
  }
  return { first, last, bytes };
}

/** The reason of a loss can be as long as an entry. */
const bytesOf = ({ content }: ShippedRecord): number => ('entry' in content ? content.entry.length : content.lost.length);

/**
 * The result of a batch. `acknowledged`: all records of its spool up to this sequence are committed. `refused`: no part
 * of the batch was accepted.
 */
export type IngestResult = { readonly acknowledged: number } | { readonly refused: RefusedCode; readonly expected: number };

/** The batch as it arrives, before any check. */
interface ClaimedBatch extends Pick<AuditBatch, 'records' | 'bytes'> {
  readonly spoolSecret: Uint8Array;
  readonly workspaceId: string;
}

const idForm = /^[0-9a-f]{32}$/;
const secretBytes = 32;
/** The maximum number of records in one loss. No spool reaches it. */
const lostMax = 1_000_000_000;

/** Returns whether the text is a valid spool id. Without a valid id, a refusal could not name the spool. */
export const isSpoolId = (text: string): boolean => idForm.test(text);

/** Returns what is wrong with the form of a batch, or null. It does not check the spool's id. */
export function batchProblem({ spoolSecret, workspaceId, records, bytes }: ClaimedBatch): string | null {
  if (spoolSecret.length !== secretBytes) return `batch.spool_secret must be ${secretBytes} bytes, is ${spoolSecret.length}`;
  if (workspaceId !== '' && !idForm.test(workspaceId)) return 'batch.workspace_id must be empty or 32 hex digits';
  if (records.length === 0 || records.length > bounds.auditBatchRecords) return `a batch holds 1 to ${bounds.auditBatchRecords} records`;
  if (!followEachOther(records)) return 'records must have consecutive sequence numbers, each with an entry or a loss';
  // A single record can be larger. It is repaired and accepted; otherwise it would block its spool permanently.
  const isTooLarge = records.length > 1 && bytes > bounds.auditBatchBytes;
  return isTooLarge ? `a batch of more than one record holds at most ${bounds.auditBatchBytes} bytes` : null;
}

function followEachOther(records: ShippedRecords): boolean {
  let due: number | null = null;
  for (const record of records) {
    const { sequence } = record;
    if (!Number.isSafeInteger(sequence) || sequence < 1 || sequence !== (due ?? sequence)) return false;
    const last = lastOf(record);
    if (!Number.isSafeInteger(last) || last < sequence || last - sequence >= lostMax) return false;
    due = last + 1;
  }
  return true;
}
