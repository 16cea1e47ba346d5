// The edge of `AuditService`: batches of one sidecar, taken in one after the other and acknowledged after their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue, bounded by the credit that was given). A
// database that is away ends the stream with UNAVAILABLE: the sidecar keeps what is unacknowledged and comes back.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Batch__Output, ShipRequest__Output, ShipResponse } from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';
import type { Actor } from '../domain/actor.ts';
import type { SpoolRecord } from '../domain/audit-entry.ts';
import type { AuditBatch } from '../operations/ingest-batch.ts';
import { grpcStatusOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import type { SyncMetrics } from './metrics.ts';

export interface AuditEdgeDeps {
  /** Commits what is new of a batch; answers the sequence up to which everything of the spool is committed. */
  readonly ingest: (batch: AuditBatch) => Promise<number>;
  readonly metrics: SyncMetrics;
  readonly log: { warn(fields: object, message: string): void };
}

const spoolForm = /^[0-9a-f]{32}$/;

/** Serves one authenticated stream until either side ends it. */
export function serveShip(
  { ingest, metrics, log }: AuditEdgeDeps,
  stream: ServerDuplexStream<ShipRequest__Output, ShipResponse>,
  actor: Actor,
): void {
  const queue: Batch__Output[] = [];
  let queued = 0;
  let greeted = false;
  let ingesting = false;
  let ended = false;

  const end = (code: status, details: string): void => {
    if (ended) return;
    ended = true;
    stream.emit('error', { code, details });
  };
  const drain = async (): Promise<void> => {
    if (ingesting) return;
    ingesting = true;
    for (let batch = queue.shift(); batch !== undefined && !ended; batch = queue.shift()) {
      try {
        const sequence = await ingest({ workspaceId: actor.workspaceId, spoolId: batch.spoolId, records: batch.records.map(recordOf) });
        queued -= batch.records.length;
        metrics.ingested(batch.records.length);
        if (!ended) stream.write({ acknowledged: { spoolId: batch.spoolId, sequence } });
      } catch (error) {
        log.warn({ err: loggable(error), workspace: actor.slug, spool: batch.spoolId }, 'a batch was not taken in');
        const { code, details } = grpcStatusOf(error);
        end(code, details);
      }
    }
    ingesting = false;
    if (finished && !ended) {
      ended = true;
      stream.end();
    }
  };
  let finished = false;

  stream.on('data', (message: ShipRequest__Output) => {
    if (ended) return;
    if (message.hello != null) {
      if (greeted) return end(status.INVALID_ARGUMENT, 'hello is sent once');
      greeted = true;
      stream.write({ credit: { records: bounds.auditCreditRecords } });
      return;
    }
    if (!greeted) return end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (message.batch == null) return;
    const problem = batchProblem(message.batch, queued);
    if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
    queued += message.batch.records.length;
    queue.push(message.batch);
    void drain();
  });
  stream.on('end', () => {
    finished = true;
    void drain();
  });
  stream.on('cancelled', () => (ended = true));
  stream.on('error', () => (ended = true));
}

function batchProblem({ spoolId, records }: Batch__Output, queued: number): string | null {
  if (!spoolForm.test(spoolId)) return 'batch.spool_id must be 32 hex digits';
  if (records.length === 0 || records.length > bounds.auditBatchRecords) return `a batch holds 1 to ${bounds.auditBatchRecords} records`;
  if (queued + records.length > bounds.auditCreditRecords) return `more than ${bounds.auditCreditRecords} records are unacknowledged`;
  const first = records[0]?.sequence ?? 0;
  const inOrder = records.every(
    ({ sequence, content }, at) => Number.isSafeInteger(sequence) && sequence >= 1 && sequence === first + at && content !== undefined,
  );
  return inOrder ? null : 'records must follow each other without holes, each with an entry or a loss';
}

const recordOf = ({ sequence, entry, lost, content }: Batch__Output['records'][number]): SpoolRecord => ({
  sequence,
  content: content === 'entry' && entry != null ? { entry } : { lost: lost ?? 'unreadable' },
});
