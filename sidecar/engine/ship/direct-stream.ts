// Implements a stream to an audit log in the same process: the replacement for `AuditService.Ship` over the network.
// Batches are committed one after the other and acknowledged after their commit. A commit that fails ends the stream,
// and the shipper opens a new one.
import { EventEmitter } from 'node:events';
import { bounds, type RefusedCode } from '@tollgate/proto/contract';
import type { ShipMessage, ShipStream } from './shipment.ts';

/** Consecutive records of one spool. */
export type DirectBatch = NonNullable<ShipMessage['batch']>;

/**
 * `acknowledged`: everything of the spool up to this sequence is committed. `refused`: nothing of the batch was
 * accepted.
 */
export type CommitResult = { readonly acknowledged: number } | { readonly refused: RefusedCode; readonly expected: number };

/** The status codes of gRPC. */
const codes = { ok: 0, cancelled: 1, unavailable: 14 } as const;

export function openDirectStream(commit: (batch: DirectBatch) => Promise<CommitResult>): ShipStream {
  const stream = new EventEmitter();
  let hasEnded = false;
  let committing = Promise.resolve();

  const end = (code: number, details: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    stream.emit('status', { code, details });
  };
  const take = async (batch: DirectBatch): Promise<void> => {
    if (hasEnded) return;
    try {
      const { spoolId } = batch;
      const committed = await commit(batch);
      if (hasEnded) return;
      if ('refused' in committed) stream.emit('data', { refused: { spoolId, code: committed.refused, expected: committed.expected } });
      else stream.emit('data', { acknowledged: { spoolId, sequence: committed.acknowledged } });
    } catch (error) {
      end(codes.unavailable, error instanceof Error ? error.message : String(error));
    }
  };
  const write = ({ hello, batch }: ShipMessage): boolean => {
    if (hello !== undefined) queueMicrotask(() => stream.emit('data', { credit: { records: bounds.auditCreditRecords } }));
    if (batch !== undefined) committing = committing.then(() => take(batch));
    return true;
  };
  return Object.assign(stream, {
    write,
    end: () => void committing.then(() => end(codes.ok, '')),
    // The end is delayed, because the code that calls `cancel` may not have added its listener yet.
    cancel: () => queueMicrotask(() => end(codes.cancelled, 'cancelled')),
  });
}
