// The random id of the workspace for which the spool was begun; null: the sidecar did not know this id.
import { bounds, type RefusedCode } from '@tollgate/proto/contract';

/**
 * One record of a spool: an entry as bytes of JSON; or the reason why this record, and those up to `last`, could not be
 * read.
 */
export interface ShippedRecord {
  readonly sequence: number;
  readonly content: { readonly entry: Uint8Array } | { readonly lost: string; readonly last: number };
}

export const lastOf = ({ sequence, content }: ShippedRecord): number => ('entry' in content ? sequence : content.last);

/** The key that delivered a batch. */
export interface Deliverer {
  readonly keyId: string;
  /** The only subject that entries of its spools can name; null: any. */
  readonly onlySub: string | null;
}

/** A batch of valid form, in which `batchProblem` found no problem. */
export interface AuditBatch {
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
  readonly records: readonly ShippedRecord[];
}

/**
 * The result of a batch. `acknowledged`: all records of its spool up to this sequence are committed. `refused`: no part
 * of the batch was accepted.
 */
export type IngestResult = { readonly acknowledged: number } | { readonly refused: RefusedCode; readonly expected: number };

/** The batch as it arrives, before any check. */
interface ClaimedBatch {
  readonly spoolId: string;
  readonly spoolSecret: Uint8Array;
  readonly workspaceId: string;
  readonly records: readonly ClaimedRecord[];
}

interface ClaimedRecord {
  readonly sequence: number;
  readonly content?: unknown;
  readonly entry?: Uint8Array | null;
  readonly lost?: { readonly last: number; readonly reason: string } | null;
}

/** Returns the number of bytes of the entries and reasons. The reason of a loss can be as long as an entry. */
const sizeOf = (records: readonly ClaimedRecord[]): number =>
  records.reduce((sum, { entry, lost }) => sum + (entry?.length ?? 0) + (lost?.reason.length ?? 0), 0);

const idForm = /^[0-9a-f]{32}$/;
const secretBytes = 32;
/** The maximum number of records in one loss. No spool reaches it. */
const lostMax = 1_000_000_000;

/** Returns whether the text is a valid spool id. Without a valid id, a refusal could not name the spool. */
export const isSpoolId = (text: string): boolean => idForm.test(text);

/** Returns what is wrong with the form of a batch, or null. It does not check the spool's id. */
export function batchProblem({ spoolSecret, workspaceId, records }: ClaimedBatch): string | null {
  if (spoolSecret.length !== secretBytes) return `batch.spool_secret must be ${secretBytes} bytes, is ${spoolSecret.length}`;
  if (workspaceId !== '' && !idForm.test(workspaceId)) return 'batch.workspace_id must be empty or 32 hex digits';
  if (records.length === 0 || records.length > bounds.auditBatchRecords) return `a batch holds 1 to ${bounds.auditBatchRecords} records`;
  if (!followEachOther(records)) return 'records must have consecutive sequence numbers, each with an entry or a loss';
  // A single record can be larger. It is repaired and accepted; otherwise it would block its spool permanently.
  const isTooLarge = records.length > 1 && sizeOf(records) > bounds.auditBatchBytes;
  return isTooLarge ? `a batch of more than one record holds at most ${bounds.auditBatchBytes} bytes` : null;
}

function followEachOther(records: readonly ClaimedRecord[]): boolean {
  let due = records[0]?.sequence ?? 0;
  for (const { sequence, content, lost } of records) {
    if (!Number.isSafeInteger(sequence) || sequence < 1 || sequence !== due || content === undefined) return false;
    const last = lost?.last ?? sequence;
    if (!Number.isSafeInteger(last) || last < sequence || last - sequence >= lostMax) return false;
    due = last + 1;
  }
  return true;
}
