// The edge of `AuditService`: batches of one sidecar, taken in one after the other and acknowledged after their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue, bounded by the credit that was given). A
// database that is away ends the stream with UNAVAILABLE: the sidecar keeps what is unacknowledged and comes back. A
// stream whose key no longer stands is ended with UNAUTHENTICATED.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Batch__Output, ShipRequest__Output, ShipResponse } from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';
import type { Actor } from '../domain/access/actor.ts';
import { type AuditBatch, batchProblem, type ShippedRecord } from '../domain/audit/audit-batch.ts';
import { grpcStatusOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import type { GrpcMetrics } from './metrics.ts';

export interface AuditEdgeDeps {
  /** Commits what is new of a batch; answers the sequence up to which everything of the spool is committed. */
  readonly ingest: (batch: AuditBatch) => Promise<number>;
  /** Null where the key that opened the stream is worth nothing any more. */
  readonly stillStands: (actor: Actor) => Promise<Actor | null>;
  readonly metrics: GrpcMetrics;
  readonly log: { warn(fields: object, message: string): void };
}

/** A revoked key is felt within five seconds: this, and what the database may take to answer. */
const lookMs = 2_500;

/** Serves one authenticated stream until either side ends it. */
export function serveShip(
  { ingest, stillStands, metrics, log }: AuditEdgeDeps,
  stream: ServerDuplexStream<ShipRequest__Output, ShipResponse>,
  actor: Actor,
): void {
  const queue: Batch__Output[] = [];
  let queued = 0;
  let greeted = false;
  let ingesting = false;
  let ended = false;

  const stop = (): void => {
    ended = true;
    clearInterval(looking);
  };
  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const look = async (): Promise<void> => {
    try {
      if ((await stillStands(actor)) === null) end(status.UNAUTHENTICATED, 'this key was revoked or rotated, or has expired');
    } catch (error) {
      // A database that is away takes nothing in either; the next look will tell.
      log.warn({ err: loggable(error), workspace: actor.slug }, 'whether a key still stands could not be read');
    }
  };
  const looking = setInterval(() => void look(), lookMs);
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
      stop();
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
    const problem = batchProblem(message.batch);
    if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
    if (queued + message.batch.records.length > bounds.auditCreditRecords)
      return end(status.INVALID_ARGUMENT, `more than ${bounds.auditCreditRecords} records are unacknowledged`);
    queued += message.batch.records.length;
    queue.push(message.batch);
    void drain();
  });
  stream.on('end', () => {
    finished = true;
    void drain();
  });
  stream.on('cancelled', stop);
  stream.on('error', stop);
}

const recordOf = ({ sequence, entry, lost, content }: Batch__Output['records'][number]): ShippedRecord => ({
  sequence,
  content: content === 'entry' && entry != null ? { entry } : { lost: lost ?? 'unreadable' },
});
