// A batch of one spool, as a sidecar ships it, and the one place that says which form it must have. Pure.
import { bounds } from '@tollgate/proto/contract';

/** One record of a spool: an entry as bytes of JSON, or why it could not be read back. */
export interface ShippedRecord {
  readonly sequence: number;
  readonly content: { readonly entry: Uint8Array } | { readonly lost: string };
}

/** Of good form: `batchProblem` found nothing. */
export interface AuditBatch {
  /** From the credential, never from a message. */
  readonly workspaceId: number;
  /** 32 hex digits, made with the spool. */
  readonly spoolId: string;
  /** At least one; their sequences follow each other without holes. */
  readonly records: readonly ShippedRecord[];
}

/** As it comes in, where nothing is known of it. */
interface Claimed {
  readonly spoolId: string;
  readonly records: readonly ClaimedRecord[];
}

interface ClaimedRecord {
  readonly sequence: number;
  readonly content?: unknown;
  readonly entry?: Uint8Array | null;
  readonly lost?: string | null;
}

/** What a batch takes in memory: a reason for a loss may be as long as an entry. */
export const sizeOf = (records: readonly ClaimedRecord[]): number =>
  records.reduce((sum, { entry, lost }) => sum + (entry?.length ?? 0) + (lost?.length ?? 0), 0);

const spoolForm = /^[0-9a-f]{32}$/;

/** What is wrong with the form of a batch; null: nothing. */
export function batchProblem({ spoolId, records }: Claimed): string | null {
  if (!spoolForm.test(spoolId)) return 'batch.spool_id must be 32 hex digits';
  if (records.length === 0 || records.length > bounds.auditBatchRecords) return `a batch holds 1 to ${bounds.auditBatchRecords} records`;
  const first = records[0]?.sequence ?? 0;
  const inOrder = records.every(
    ({ sequence, content }, at) => Number.isSafeInteger(sequence) && sequence >= 1 && sequence === first + at && content !== undefined,
  );
  if (!inOrder) return 'records must follow each other without holes, each with an entry or a loss';
  // A single record may be larger: it is taken in mended, or it would hold up its spool for good.
  const isTooLarge = records.length > 1 && sizeOf(records) > bounds.auditBatchBytes;
  return isTooLarge ? `a batch of more than one record holds at most ${bounds.auditBatchBytes} bytes` : null;
}
