// The edge of `AuditService`: batches of one sidecar, taken in one after the other and acknowledged after their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue, bounded by the credit that was given and by
// their bytes: beyond those nothing is read) ⇄ unread (acknowledgements lie unread; nothing is taken in until they are
// not). A database that is away ends the stream with UNAVAILABLE: the sidecar keeps what is unacknowledged and comes back.
// A stream whose key no longer stands is ended with UNAUTHENTICATED, one that says what cannot be with INVALID_ARGUMENT.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Batch__Output, ShipRequest__Output, ShipResponse } from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';
import type { Actor } from '../domain/access/actor.ts';
import { type AuditBatch, batchProblem, type ShippedRecord, sizeOf } from '../domain/audit/audit-batch.ts';
import { grpcStatusOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import type { Intake } from './intake.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface AuditEdgeDeps extends KeyWatch {
  /** Commits what is new of a batch; answers the sequence up to which everything of the spool is committed. */
  readonly ingest: (batch: AuditBatch) => Promise<number>;
}

/** A batch to take in, one to come, and some room. */
const queuedBytesMax = 4 * bounds.auditBatchBytes;
/** A sidecar ships its own spool and those of processes that died; each costs a row that stays. */
const spoolsMax = 1_000;

/** Serves one authenticated stream until either side ends it. */
export function serveShip(
  { ingest, stillStands, log, intake }: AuditEdgeDeps & { readonly intake: Intake },
  stream: ServerDuplexStream<ShipRequest__Output, ShipResponse>,
  actor: Actor,
): void {
  const seat = intake.open(actor.workspaceId);
  if (seat === null) {
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many audit streams are open for this workspace' });
    return;
  }
  const queue: { readonly batch: Batch__Output; readonly bytes: number }[] = [];
  const spools = new Set<string>();
  let queued = { records: 0, bytes: 0 };
  let granted = 0;
  let ingesting = false;
  let ended = false;
  let goOn = (): void => {};

  const stop = (): void => {
    ended = true;
    queue.length = 0;
    leaveKey();
    seat.leave();
    goOn();
  };
  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const leaveKey = watchKey({ stillStands, log }, actor, (details) => end(status.UNAUTHENTICATED, details));

  /** Resolves when what was written has left, or the stream has ended. */
  const send = (response: ShipResponse): Promise<void> | void => {
    if (ended || stream.write(response)) return;
    return new Promise((resolve) => {
      goOn = resolve;
      stream.once('drain', resolve);
    });
  };
  const grant = (): Promise<void> | void => {
    const credit = intake.credit;
    // Small changes are not worth a message.
    if (granted !== 0 && credit > granted / 2 && credit < granted * 2) return;
    granted = credit;
    return send({ credit: { records: credit } });
  };
  const take = async (batch: Batch__Output, bytes: number): Promise<void> => {
    try {
      const sequence = await ingest({ workspaceId: actor.workspaceId, spoolId: batch.spoolId, records: batch.records.map(recordOf) });
      queued = { records: queued.records - batch.records.length, bytes: queued.bytes - bytes };
      await send({ acknowledged: { spoolId: batch.spoolId, sequence } });
      await grant();
    } catch (error) {
      log.warn({ err: loggable(error), workspace: actor.slug, spool: batch.spoolId }, 'a batch was not taken in');
      const { code, details } = grpcStatusOf(error);
      end(code, details);
    }
  };
  const drain = async (): Promise<void> => {
    if (ingesting) return;
    ingesting = true;
    for (let next = queue.shift(); next !== undefined && !ended; next = queue.shift()) {
      await take(next.batch, next.bytes);
      if (!ended && stream.isPaused() && queued.bytes <= queuedBytesMax) stream.resume();
    }
    ingesting = false;
    if (finished && !ended) {
      stop();
      stream.end();
    }
  };
  let finished = false;

  stream.on('data', ({ hello, batch }: ShipRequest__Output) => {
    if (ended) return;
    if (hello != null) {
      if (granted !== 0) return end(status.INVALID_ARGUMENT, 'hello is sent once');
      return void grant();
    }
    if (granted === 0) return end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (batch == null) return;
    const problem = batchProblem(batch);
    if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
    // The most that it was ever granted: that it is less now it may not have heard yet.
    if (queued.records + batch.records.length > bounds.auditCreditRecords)
      return end(status.INVALID_ARGUMENT, `more than ${bounds.auditCreditRecords} records are unacknowledged`);
    if (spools.add(batch.spoolId).size > spoolsMax)
      return end(status.INVALID_ARGUMENT, `more than ${spoolsMax} spools came on this stream`);
    const bytes = sizeOf(batch.records);
    queued = { records: queued.records + batch.records.length, bytes: queued.bytes + bytes };
    queue.push({ batch, bytes });
    if (queued.bytes > queuedBytesMax) stream.pause();
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
