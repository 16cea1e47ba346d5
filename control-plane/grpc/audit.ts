// The edge of `AuditService`. It stores the batches of one sidecar one after the other, and acknowledges them after
// their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue; the queue is limited by the granted credit, by
// the number of batches and by the bytes of their messages; above these limits nothing is read) ⇄ unread (the sidecar
// has not read the acknowledgements; no batch is stored until it has). A batch that cannot be accepted is refused, and
// the stream continues with batches of other spools. If the database is not available, or the memory budget of the key
// is used up, the stream ends with UNAVAILABLE: the sidecar keeps its unacknowledged records and reconnects. If the key
// is no longer valid, the stream ends with UNAUTHENTICATED. If the sidecar sends an invalid message, or more than its
// limits, the stream ends with INVALID_ARGUMENT.
import { hash } from 'node:crypto';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { auditService, type Batch__Output, type ShipRequest__Output, type ShipResponse } from '@tollgate/proto';
import { bounds, capabilitiesProblem } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import {
  type AuditBatch,
  batchProblem,
  type Deliverer,
  type IngestResult,
  isSpoolId,
  type ShippedRecord,
} from '../audit/rules/audit-batch.ts';
import { onlySubOf } from '../sidecars/rules/forms.ts';
import { grpcStatusOf } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';
import type { Intake } from './intake.ts';
import type { GrpcMetrics } from './metrics.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface AuditEdgeDeps extends KeyWatch {
  /** Commits the new records of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<IngestResult>;
  readonly metrics: GrpcMetrics;
}

/**
 * Twice the maximum credit. It is possible that the sidecar does not yet know of a lower credit. After a spool is
 * refused, it also sends records of other spools while records of the refused spool are still queued.
 */
const queuedRecordsMax = 2 * bounds.auditCreditRecords;
/** One batch that is being stored, the next one, and a reserve. */
const queuedBytesMax = 4 * bounds.auditBatchBytes;
const queuedBatchesMax = 64;
/** The memory of a batch and of each of its records as objects, in addition to the bytes of their message. */
const batchBytes = 1_024;
const recordBytes = 256;
/** A sidecar ships its own spool and those of processes that died. Each spool costs a permanent row. */
const spoolsMax = 1_000;

/** `bytes` is the size of the whole message. Kept parts can be views that keep the whole message in memory. */
export type WeighedRequest = ShipRequest__Output & { readonly bytes: number };

export const decodeShipRequest = (encoded: Buffer): WeighedRequest => ({
  ...auditService.Ship.requestDeserialize(encoded),
  bytes: encoded.length,
});

interface QueuedBatch {
  readonly spoolId: string;
  /** The first sequence. */
  readonly first: number | undefined;
  /** The number of records that wait to be stored. */
  readonly records: number;
  readonly bytes: number;
  /** For a malformed batch, only the problem is kept. */
  readonly content: AuditBatch | { readonly problem: string };
}

/** Serves one authenticated stream until either side ends it. */
export function serveShip(
  { ingest, stillStands, log, intake, metrics }: AuditEdgeDeps & { readonly intake: Intake },
  stream: ServerDuplexStream<WeighedRequest, ShipResponse>,
  actor: Actor,
): void {
  const place = intake.open(actor);
  if ('taken' in place) {
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many audit streams are open for this ${place.taken}` });
    return;
  }
  const deliverer: Deliverer = { keyId: actor.keyId, onlySub: onlySubOf(actor) };
  const queue: QueuedBatch[] = [];
  const spools = new Set<string>();
  let queued = { records: 0, bytes: 0 };
  let granted = 0;
  let ingesting = false;
  let ended = false;
  let resume = (): void => {};

  const stop = (): void => {
    ended = true;
    for (const { bytes } of queue.splice(0)) place.give(bytes);
    leaveKey();
    place.leave();
    resume();
  };
  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const leaveKey = watchKey({ stillStands, log }, actor, (details) => end(status.UNAUTHENTICATED, details));

  /** Resolves when the written data was sent, or when the stream has ended. */
  const send = (response: ShipResponse): Promise<void> | void => {
    if (ended || stream.write(response)) return;
    return new Promise((resolve) => {
      resume = resolve;
      stream.once('drain', resolve);
    });
  };
  const grant = (): Promise<void> | void => {
    const credit = intake.credit;
    // A small change does not justify a message.
    if (granted !== 0 && credit > granted / 2 && credit < granted * 2) return;
    granted = credit;
    return send({ credit: { records: credit } });
  };
  const judge = async ({ spoolId: spool, first, content }: QueuedBatch): Promise<IngestResult> => {
    const ingested = 'problem' in content ? ({ refused: 'malformed', expected: 0 } as const) : await ingest(content);
    if ('refused' in ingested) {
      metrics.batchRefused(ingested.refused);
      const problem = 'problem' in content ? content : {};
      log.warn({ workspace: actor.slug, key: actor.keyId, spool, first, ...ingested, ...problem }, 'a batch was refused');
    }
    return ingested;
  };
  const take = async (next: QueuedBatch): Promise<void> => {
    const { spoolId, records, bytes } = next;
    try {
      // The bytes are held until the batch is stored, even if the stream has ended in the meantime.
      const ingested = await judge(next).finally(() => place.give(bytes));
      queued = { records: queued.records - records, bytes: queued.bytes - bytes };
      if ('refused' in ingested) await send({ refused: { spoolId, code: ingested.refused, expected: ingested.expected } });
      else await send({ acknowledged: { spoolId, sequence: ingested.acknowledged } });
      await grant();
    } catch (error) {
      log.warn({ err: loggable(error), workspace: actor.slug, spool: spoolId }, 'a batch could not be stored');
      const { code, details } = grpcStatusOf(error);
      end(code, details);
    }
  };
  const isFull = (): boolean => queued.bytes > queuedBytesMax || queue.length >= queuedBatchesMax;
  const drain = async (): Promise<void> => {
    if (ingesting) return;
    ingesting = true;
    for (let next = queue.shift(); next !== undefined && !ended; next = queue.shift()) {
      await take(next);
      if (!ended && stream.isPaused() && !isFull()) stream.resume();
    }
    ingesting = false;
    if (finished && !ended) {
      stop();
      stream.end();
    }
  };
  let finished = false;

  stream.on('data', ({ hello, batch, bytes }: WeighedRequest) => {
    if (ended) return;
    if (hello != null) {
      if (granted !== 0) return end(status.INVALID_ARGUMENT, 'hello must be sent only once');
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
      return end(status.INVALID_ARGUMENT, `more than ${spoolsMax} spools were sent on this stream`);
    const next = queuedFrom(batch, bytes, actor.workspaceId, deliverer);
    if (!place.take(next.bytes)) return end(status.UNAVAILABLE, 'too many batches of this key wait to be stored; connect again');
    queued = { records: queued.records + next.records, bytes: queued.bytes + next.bytes };
    queue.push(next);
    if (isFull()) stream.pause();
    void drain();
  });
  stream.on('end', () => {
    finished = true;
    void drain();
  });
  stream.on('cancelled', stop);
  stream.on('error', stop);
}

/** `bytes`: the size of its message. */
function queuedFrom(batch: Batch__Output, bytes: number, workspaceId: number, deliverer: Deliverer): QueuedBatch {
  const { spoolId, records } = batch;
  const problem = batchProblem(batch);
  const named = { spoolId, first: records[0]?.sequence };
  if (problem !== null) return { ...named, records: 0, bytes: batchBytes, content: { problem } };
  const size = bytes + batchBytes + records.length * recordBytes;
  return { ...named, records: records.length, bytes: size, content: batchOf(batch, workspaceId, deliverer) };
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
