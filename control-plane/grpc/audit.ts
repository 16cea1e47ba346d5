// The edge of `AuditService`: batches of one sidecar, taken in one after the other and acknowledged after their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue, bounded by the credit that was given and by
// their bytes: beyond those nothing is read) ⇄ unread (acknowledgements lie unread; nothing is taken in until they are
// not). A batch that cannot be taken is refused, and its stream goes on with those of other spools. A database that is away
// ends the stream with UNAVAILABLE: the sidecar keeps what is unacknowledged and comes back. A stream whose key no longer stands
// is ended with UNAUTHENTICATED, one that sends what is no batch, or more than it may, with INVALID_ARGUMENT.
import { hash } from 'node:crypto';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Batch__Output, ShipRequest__Output, ShipResponse } from '@tollgate/proto';
import { bounds, capabilitiesProblem } from '@tollgate/proto/contract';
import type { Actor } from '../domain/access/actor.ts';
import {
  type AuditBatch,
  batchProblem,
  type Deliverer,
  type Ingested,
  isSpoolId,
  type ShippedRecord,
  sizeOf,
} from '../domain/audit/audit-batch.ts';
import { onlySubOf } from '../domain/sidecars/forms.ts';
import { grpcStatusOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import type { Intake } from './intake.ts';
import type { GrpcMetrics } from './metrics.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface AuditEdgeDeps extends KeyWatch {
  /** Commits what is new of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<Ingested>;
  readonly metrics: GrpcMetrics;
}

/**
 * Twice the most that it was ever granted: that it is less now it may not have heard yet, and once a spool is refused it sends others' in the
 * place of what is still queued of that one.
 */
const queuedRecordsMax = 2 * bounds.auditCreditRecords;
/** A batch to take in, one to come, and some room. */
const queuedBytesMax = 4 * bounds.auditBatchBytes;
/** A sidecar ships its own spool and those of processes that died; each costs a row that stays. */
const spoolsMax = 1_000;

/** Serves one authenticated stream until either side ends it. */
export function serveShip(
  { ingest, stillStands, log, intake, metrics }: AuditEdgeDeps & { readonly intake: Intake },
  stream: ServerDuplexStream<ShipRequest__Output, ShipResponse>,
  actor: Actor,
): void {
  const seat = intake.open(actor.workspaceId);
  if (seat === null) {
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many audit streams are open for this workspace' });
    return;
  }
  const deliverer: Deliverer = { keyId: actor.keyId, onlySub: onlySubOf(actor) };
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
  const judge = async (batch: Batch__Output): Promise<Ingested> => {
    const problem = batchProblem(batch);
    const ingested =
      problem === null ? await ingest(batchOf(batch, actor.workspaceId, deliverer)) : ({ refused: 'malformed', expected: 0 } as const);
    if ('refused' in ingested) {
      metrics.batchRefused(ingested.refused);
      const { spoolId: spool, records } = batch;
      log.warn(
        {
          workspace: actor.slug,
          key: actor.keyId,
          spool,
          first: records[0]?.sequence,
          ...ingested,
          ...(problem === null ? {} : { problem }),
        },
        'a batch was refused',
      );
    }
    return ingested;
  };
  const take = async (batch: Batch__Output, bytes: number): Promise<void> => {
    const { spoolId } = batch;
    try {
      const ingested = await judge(batch);
      queued = { records: queued.records - batch.records.length, bytes: queued.bytes - bytes };
      if ('refused' in ingested) await send({ refused: { spoolId, code: ingested.refused, expected: ingested.expected } });
      else await send({ acknowledged: { spoolId, sequence: ingested.acknowledged } });
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
      const problem = capabilitiesProblem(hello.capabilities);
      if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
      return void grant();
    }
    if (granted === 0) return end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (batch == null) return;
    if (!isSpoolId(batch.spoolId)) return end(status.INVALID_ARGUMENT, 'batch.spool_id must be 32 hex digits');
    if (queued.records + batch.records.length > queuedRecordsMax)
      return end(status.INVALID_ARGUMENT, `more than ${queuedRecordsMax} records are unacknowledged`);
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

const batchOf = ({ spoolId, spoolSecret, workspaceId, records }: Batch__Output, ofKey: number, deliverer: Deliverer): AuditBatch => ({
  workspaceId: ofKey,
  spoolId,
  secretHash: hash('sha256', spoolSecret),
  begunFor: workspaceId === '' ? null : workspaceId,
  deliverer,
  records: records.map(recordOf),
});

const recordOf = ({ sequence, entry, lost, content }: Batch__Output['records'][number]): ShippedRecord => ({
  sequence,
  content: content === 'entry' && entry != null ? { entry } : { lost: lost?.reason ?? 'unreadable', last: lost?.last ?? sequence },
});
