// The edge of `AuditService`. It stores the batches of one sidecar in their order, and acknowledges them after their
// commit. Batches that arrive while others are stored are stored together, after them.
//
// States: greeted (credit sent) → idle ⇄ ingesting (later batches wait in a queue; the queue is limited by the granted
// credit, by the number of batches and by the bytes of their messages; while the queue is full, nothing is read) ⇄
// unread (the sidecar has not read the acknowledgements; no batch is stored until it reads them). A batch that cannot
// be accepted is refused, and the stream continues with batches of other spools. If the database is not available, or
// the memory budget of the key is used up, the stream ends with UNAVAILABLE: the sidecar keeps its unacknowledged
// records and reconnects. If the key is no longer valid, the stream ends with UNAUTHENTICATED. If the sidecar sends an
// invalid message, or more than its limits, the stream ends with INVALID_ARGUMENT.
import { hash } from 'node:crypto';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { ShipRequest__Output, ShipResponse } from '@tollgate/proto';
import { bounds, capabilitiesProblem } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import {
  type AuditBatch,
  batchProblem,
  type Deliverer,
  type IngestResult,
  isSpoolId,
  type Measured,
  measureRecords,
} from '../audit/rules/audit-batch.ts';
import { onlySubOf } from '../sidecars/rules/forms.ts';
import { grpcStatusOf } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';
import type { Intake, IntakePlace } from './intake.ts';
import type { ClaimedBatch, ShipMessage } from './ship-request.ts';
import type { GrpcMetrics } from './metrics.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface AuditEdgeDeps extends KeyWatch {
  /** Commits the new records of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<IngestResult>;
  readonly metrics: GrpcMetrics;
}

/**
 * The maximum number of queued records: twice the maximum credit. A sidecar can send more than its credit for two
 * reasons. It may not yet know of a lower credit. After one of its spools is refused, it sends records of other spools
 * while records of the refused spool are still queued.
 */
const queuedRecordsMax = 2 * bounds.auditCreditRecords;
/** Enough for one batch that is being stored, the next one, and a reserve. */
const queuedBytesMax = 4 * bounds.auditBatchBytes;
const queuedBatchesMax = 64;
/** The memory of a batch, in addition to the bytes of its message. */
const batchBytes = 1_024;
/**
 * The maximum number of spools of a stream. A sidecar ships its own spool and those of processes that died. Each spool
 * costs a permanent row.
 */
const spoolsMax = 1_000;

interface QueuedBatch {
  readonly spoolId: string;
  /** The sequence of the first record; undefined: the batch has no records. */
  readonly first: number | undefined;
  /** The number of records that wait to be stored. */
  readonly records: number;
  readonly bytes: number;
  /** For a malformed batch, only the problem is kept. */
  readonly content: AuditBatch | { readonly problem: string };
}

type ShipStream = ServerDuplexStream<ShipMessage, ShipResponse>;

/** Serves one authenticated stream until either side ends it. */
export function serveShip(deps: AuditEdgeDeps & { readonly intake: Intake }, stream: ShipStream, actor: Actor): void {
  const place = deps.intake.open(actor);
  if ('taken' in place)
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many audit streams are open for this ${place.taken}` });
  else new AuditStream(deps, stream, actor, place).listen();
}

class AuditStream {
  readonly #deps: AuditEdgeDeps & { readonly intake: Intake };
  readonly #stream: ShipStream;
  readonly #actor: Actor;
  readonly #place: IntakePlace;
  readonly #deliverer: Deliverer;
  readonly #leaveKey: () => void;
  readonly #queue: QueuedBatch[] = [];
  readonly #spools = new Set<string>();
  /** The numbers of all batches that are not stored yet, including those that are being stored; and of their records. */
  #queuedBatches = 0;
  #queuedRecords = 0;
  #queuedBytes = 0;
  /** The last credit that was sent; 0 before the hello. */
  #granted = 0;
  #ingesting = false;
  /** The sidecar sends nothing more. */
  #finished = false;
  #ended = false;
  /** Resolves when the sidecar has read what was written; null: nothing waits for that. */
  #unread: Promise<void> | null = null;
  /** Ends the wait for the sidecar to read. */
  #resume = (): void => {};

  constructor(deps: AuditEdgeDeps & { readonly intake: Intake }, stream: ShipStream, actor: Actor, place: IntakePlace) {
    this.#deps = deps;
    this.#stream = stream;
    this.#actor = actor;
    this.#place = place;
    this.#deliverer = { keyId: actor.keyId, onlySub: onlySubOf(actor) };
    this.#leaveKey = watchKey(deps, actor, (details) => this.#end(status.UNAUTHENTICATED, details));
  }

  listen(): void {
    this.#stream.on('data', (request: ShipMessage) => this.#receive(request));
    this.#stream.on('end', () => {
      this.#finished = true;
      void this.#drain();
    });
    this.#stream.on('cancelled', () => this.#stop());
    this.#stream.on('error', () => this.#stop());
  }

  #receive({ hello, batch, bytes }: ShipMessage): void {
    if (this.#ended) return;
    if (hello != null) return this.#greet(hello);
    if (this.#granted === 0) return this.#end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (batch != null) this.#enqueue(batch, bytes);
  }

  #greet({ capabilities }: NonNullable<ShipRequest__Output['hello']>): void {
    if (this.#granted !== 0) return this.#end(status.INVALID_ARGUMENT, 'hello must be sent only once');
    const problem = capabilitiesProblem(capabilities);
    if (problem !== null) return this.#end(status.INVALID_ARGUMENT, problem);
    void this.#grant();
  }

  #enqueue(batch: ClaimedBatch, bytes: number): void {
    if (!isSpoolId(batch.spoolId)) return this.#end(status.INVALID_ARGUMENT, 'batch.spool_id must be 32 hex digits');
    if (this.#queuedRecords + batch.records.length > queuedRecordsMax)
      return this.#end(status.INVALID_ARGUMENT, `more than ${queuedRecordsMax} records are unacknowledged`);
    if (this.#spools.add(batch.spoolId).size > spoolsMax)
      return this.#end(status.INVALID_ARGUMENT, `more than ${spoolsMax} spools were sent on this stream`);
    const next = queuedFrom(batch, bytes, this.#actor.workspaceId, this.#deliverer);
    if (!this.#place.take(next.bytes))
      return this.#end(status.UNAVAILABLE, 'too many batches of this key wait to be stored; connect again');
    this.#queuedBatches += 1;
    this.#queuedRecords += next.records;
    this.#queuedBytes += next.bytes;
    this.#queue.push(next);
    if (this.#isFull()) this.#stream.pause();
    void this.#drain();
  }

  #isFull(): boolean {
    return this.#queuedBytes > queuedBytesMax || this.#queuedBatches > queuedBatchesMax;
  }

  async #drain(): Promise<void> {
    if (this.#ingesting) return;
    this.#ingesting = true;
    while (this.#queue.length > 0 && !this.#ended) {
      // `ingest` keeps the order of the batches.
      await Promise.all(this.#queue.splice(0).map((next) => this.#store(next)));
      if (!this.#ended && this.#stream.isPaused() && !this.#isFull()) this.#stream.resume();
    }
    this.#ingesting = false;
    if (this.#finished && !this.#ended) {
      this.#stop();
      this.#stream.end();
    }
  }

  /** Stores a batch, or refuses it, and answers it. */
  async #store(next: QueuedBatch): Promise<void> {
    const { spoolId, records, bytes } = next;
    try {
      // The bytes stay reserved until the batch is stored, even if the stream has ended in the meantime.
      const ingested = await this.#ingest(next).finally(() => this.#place.give(bytes));
      this.#queuedBatches -= 1;
      this.#queuedRecords -= records;
      this.#queuedBytes -= bytes;
      if ('refused' in ingested) await this.#send({ refused: { spoolId, code: ingested.refused, expected: ingested.expected } });
      else await this.#send({ acknowledged: { spoolId, sequence: ingested.acknowledged } });
      await this.#grant();
    } catch (error) {
      // All batches that are stored together fail for one reason. It is reported once.
      if (this.#ended) return;
      this.#deps.log.warn(
        { err: loggable(error), workspace: this.#actor.slug, spool: spoolId },
        'a batch of audit entries could not be stored',
      );
      const { code, details } = grpcStatusOf(error);
      this.#end(code, details);
    }
  }

  async #ingest({ spoolId: spool, first, content }: QueuedBatch): Promise<IngestResult> {
    const { ingest, metrics, log } = this.#deps;
    const ingested = 'problem' in content ? ({ refused: 'malformed', expected: 0 } as const) : await ingest(content);
    if ('refused' in ingested) {
      metrics.batchRefused(ingested.refused);
      const problem = 'problem' in content ? content : {};
      const { slug, keyId } = this.#actor;
      log.warn({ workspace: slug, key: keyId, spool, first, ...ingested, ...problem }, 'a batch of audit entries was refused');
    }
    return ingested;
  }

  #grant(): Promise<void> | void {
    const { credit } = this.#deps.intake;
    // A small change does not justify a message.
    if (this.#granted !== 0 && credit > this.#granted / 2 && credit < this.#granted * 2) return;
    this.#granted = credit;
    return this.#send({ credit: { records: credit } });
  }

  /** Resolves when the written data was sent, or when the stream has ended. */
  #send(response: ShipResponse): Promise<void> | void {
    if (this.#ended || this.#stream.write(response)) return;
    this.#unread ??= new Promise((resolve) => {
      this.#resume = () => {
        this.#unread = null;
        resolve();
      };
      this.#stream.once('drain', this.#resume);
    });
    return this.#unread;
  }

  #end(code: status, details: string): void {
    if (this.#ended) return;
    this.#stop();
    this.#stream.emit('error', { code, details });
  }

  #stop(): void {
    this.#ended = true;
    for (const { bytes } of this.#queue.splice(0)) this.#place.give(bytes);
    this.#leaveKey();
    this.#place.leave();
    this.#resume();
  }
}

/** `bytes`: the size of the message that contained the batch. */
function queuedFrom(batch: ClaimedBatch, bytes: number, workspaceId: number, deliverer: Deliverer): QueuedBatch {
  const { spoolId, records } = batch;
  const [head] = records;
  const measured = measureRecords(records);
  const problem = batchProblem({ ...batch, bytes: measured.bytes });
  const named = { spoolId, first: head?.sequence };
  if (problem !== null) return { ...named, records: 0, bytes: batchBytes, content: { problem } };
  const content = { ...batchOf(batch, workspaceId, deliverer), ...measured };
  return { ...named, records: records.length, bytes: bytes + batchBytes, content };
}

const batchOf = (
  { spoolId, spoolSecret, workspaceId, canWait, records }: ClaimedBatch,
  ofKey: number,
  deliverer: Deliverer,
): Omit<AuditBatch, keyof Measured> => ({
  workspaceId: ofKey,
  spoolId,
  secretHash: hash('sha256', spoolSecret),
  begunFor: workspaceId === '' ? null : workspaceId,
  deliverer,
  canWait,
  records,
});
