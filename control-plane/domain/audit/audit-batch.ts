// A batch of one spool, as a sidecar ships it, and the one place that says which form it must have. Pure.
import { bounds, type RefusedCode } from '@tollgate/proto/contract';

/** One record of a spool: an entry as bytes of JSON; or why that one, and those up to `last`, could not be read back. */
export interface ShippedRecord {
  readonly sequence: number;
  readonly content: { readonly entry: Uint8Array } | { readonly lost: string; readonly last: number };
}

export const lastOf = ({ sequence, content }: ShippedRecord): number => ('entry' in content ? sequence : content.last);

/** Whose key a batch came with. */
export interface Deliverer {
  readonly keyId: string;
  /** The only subject that entries of its spools may name; null: any. */
  readonly onlySub: string | null;
}

/** Of good form: `batchProblem` found nothing. */
export interface AuditBatch {
  /** From the credential, never from a message. */
  readonly workspaceId: number;
  /** 32 hex digits, made with the spool. */
  readonly spoolId: string;
  /** SHA-256 of the spool's secret, in hex. */
  readonly secretHash: string;
  /** The workspace that the spool was begun for, by its random id; null: its sidecar did not know it. */
  readonly begunFor: string | null;
  readonly deliverer: Deliverer;
  /** At least one; their sequences follow each other without holes. */
  readonly records: readonly ShippedRecord[];
}

/** What came of a batch: everything of its spool up to the sequence is committed, or nothing of the batch was taken. */
export type Ingested = { readonly acknowledged: number } | { readonly refused: RefusedCode; readonly expected: number };

/** As it comes in, where nothing is known of it. */
interface Claimed {
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

/** What a batch takes in memory: a reason for a loss may be as long as an entry. */
const sizeOf = (records: readonly ClaimedRecord[]): number =>
  records.reduce((sum, { entry, lost }) => sum + (entry?.length ?? 0) + (lost?.reason.length ?? 0), 0);

const idForm = /^[0-9a-f]{32}$/;
const secretBytes = 32;
/** No spool comes so far. */
const lostMax = 1_000_000_000;

/** Without one, there is nothing that a refusal could name. */
export const isSpoolId = (text: string): boolean => idForm.test(text);

/** What is wrong with the form of a batch, but for the spool's id; null: nothing. */
export function batchProblem({ spoolSecret, workspaceId, records }: Claimed): string | null {
  if (spoolSecret.length !== secretBytes) return `batch.spool_secret must be ${secretBytes} bytes, is ${spoolSecret.length}`;
  if (workspaceId !== '' && !idForm.test(workspaceId)) return 'batch.workspace_id must be empty or 32 hex digits';
  if (records.length === 0 || records.length > bounds.auditBatchRecords) return `a batch holds 1 to ${bounds.auditBatchRecords} records`;
  if (!followEachOther(records)) return 'records must follow each other without holes, each with an entry or a loss';
  // A single record may be larger: it is taken in mended, or it would hold up its spool for good.
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
