// A stream to an audit log in this very process: what `AuditService.Ship` is over the network. Batches are committed one after
// the other and acknowledged after their commit; a commit that fails ends the stream, and the shipper comes back.
import { EventEmitter } from 'node:events';
import { bounds, type RefusedCode } from '@tollgate/proto/contract';
import type { ShipMessage, ShipStream } from './shipment.ts';

/** The records of one spool, as they follow each other. */
export type DirectBatch = NonNullable<ShipMessage['batch']>;

/** Everything of the spool up to the sequence is committed, or nothing of the batch was taken. */
export type Committed = { readonly acknowledged: number } | { readonly refused: RefusedCode; readonly expected: number };

/** As gRPC says it. */
const codes = { ok: 0, cancelled: 1, unavailable: 14 } as const;

export function openDirectStream(commit: (batch: DirectBatch) => Promise<Committed>): ShipStream {
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
    // Not at once: whoever cancels may still be about to listen.
    cancel: () => queueMicrotask(() => end(codes.cancelled, 'cancelled')),
  });
}
