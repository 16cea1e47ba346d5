// The edge of `AuditService`: batches of one sidecar, taken in one after the other and acknowledged after their commit.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches queue, bounded by the credit that was given, by their
// number and by the bytes of their messages: beyond those nothing is read) ⇄ unread (acknowledgements lie unread; nothing is
// taken in until they are not). A batch that cannot be taken is refused, and its stream goes on with those of other spools. A
// database that is away, or no room for what waits of its key, ends the stream with UNAVAILABLE: the sidecar keeps what is
// unacknowledged and comes back. A stream whose key no longer stands is ended with UNAUTHENTICATED, one that sends what is
// no batch, or more than it may, with INVALID_ARGUMENT.
import { hash } from 'node:crypto';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { auditService, type Batch__Output, type ShipRequest__Output, type ShipResponse } from '@tollgate/proto';
import { bounds, capabilitiesProblem } from '@tollgate/proto/contract';
import type { Actor } from '../domain/access/actor.ts';
import {
  type AuditBatch,
  batchProblem,
  type Deliverer,
  type Ingested,
  isSpoolId,
  type ShippedRecord,
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
const queuedBatchesMax = 64;
/** What a batch and each of its records take as objects, beside the bytes of their message. */
const batchBytes = 1_024;
const recordBytes = 256;
/** A sidecar ships its own spool and those of processes that died; each costs a row that stays. */
const spoolsMax = 1_000;

/** `bytes` of its message: what is kept of it may be a view that keeps all of it in memory. */
export type WeighedRequest = ShipRequest__Output & { readonly bytes: number };

export const decodeShipRequest = (encoded: Buffer): WeighedRequest => ({
  ...auditService.Ship.requestDeserialize(encoded),
  bytes: encoded.length,
});

interface Queued {
  readonly spoolId: string;
  /** The first sequence. */
  readonly first: number | undefined;
  /** What of it waits to be taken in. */
  readonly records: number;
  readonly bytes: number;
  /** Of a batch of bad form nothing else is kept. */
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
  const queue: Queued[] = [];
  const spools = new Set<string>();
  let queued = { records: 0, bytes: 0 };
  let granted = 0;
  let ingesting = false;
  let ended = false;
  let goOn = (): void => {};

  const stop = (): void => {
    ended = true;
    for (const { bytes } of queue.splice(0)) place.give(bytes);
    leaveKey();
    place.leave();
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
  const judge = async ({ spoolId: spool, first, content }: Queued): Promise<Ingested> => {
    const ingested = 'problem' in content ? ({ refused: 'malformed', expected: 0 } as const) : await ingest(content);
    if ('refused' in ingested) {
      metrics.batchRefused(ingested.refused);
      const problem = 'problem' in content ? content : {};
      log.warn({ workspace: actor.slug, key: actor.keyId, spool, first, ...ingested, ...problem }, 'a batch was refused');
    }
    return ingested;
  };
  const take = async (next: Queued): Promise<void> => {
    const { spoolId, records, bytes } = next;
    try {
      // Whether or not the stream has ended meanwhile: until then it is kept.
      const ingested = await judge(next).finally(() => place.give(bytes));
      queued = { records: queued.records - records, bytes: queued.bytes - bytes };
      if ('refused' in ingested) await send({ refused: { spoolId, code: ingested.refused, expected: ingested.expected } });
      else await send({ acknowledged: { spoolId, sequence: ingested.acknowledged } });
      await grant();
    } catch (error) {
      log.warn({ err: loggable(error), workspace: actor.slug, spool: spoolId }, 'a batch was not taken in');
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
    const next = queuedFrom(batch, bytes, actor.workspaceId, deliverer);
    if (!place.take(next.bytes)) return end(status.UNAVAILABLE, 'too much of this key waits to be taken in; connect again');
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

/** `bytes`: of its message. */
function queuedFrom(batch: Batch__Output, bytes: number, workspaceId: number, deliverer: Deliverer): Queued {
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
