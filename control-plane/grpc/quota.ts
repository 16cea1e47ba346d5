// The edge of `QuotaService`: answers the requests for leases (`asks`) of one sidecar, in the order of the messages.
//
// States: opened → greeted (its holder is known, recalls are forwarded) ⇄ answering (several messages may be read
// before the first is answered, because an answer must wait for a transaction; nothing more is read while
// `unansweredMax` messages are unanswered). A malformed message, or a message with impossible claims, ends the stream
// with INVALID_ARGUMENT and changes nothing. If the database is not available, the stream ends with UNAVAILABLE. If the
// key is no longer valid, it ends with UNAUTHENTICATED. The number of streams of a workspace and of a key is limited.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { LeaseRequest__Output, LeaseResponse } from '@tollgate/proto';
import { capabilitiesProblem, type QuotaCounter, type QuotaLink } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { onlySubOf } from '../sidecars/rules/forms.ts';
import { grpcStatusOf } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';
import type { Ledger } from '../quota/operations/ledger.ts';
import type { GrpcMetrics } from './metrics.ts';
import { answersOf, asksFrom, recallOf } from './quota-messages.ts';
import type { StreamSeats } from './stream-seats.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface QuotaEdgeDeps extends KeyWatch {
  readonly ledger: Ledger;
  readonly seats: StreamSeats;
  readonly metrics: GrpcMetrics;
}

const holderBytes = 32;
/** The maximum number of messages of a stream that are read and not answered. Their bytes are limited by the ledger. */
const unansweredMax = 8;

export type LeaseStream = ServerDuplexStream<LeaseRequest__Output, LeaseResponse>;

/** Serves one authenticated stream until either side ends it. */
export function serveLease(deps: QuotaEdgeDeps, stream: LeaseStream, actor: Actor): void {
  const seat = deps.seats.take(actor);
  if ('taken' in seat)
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many streams of leases are open for this ${seat.taken}` });
  else new QuotaStream(deps, stream, actor, seat.leave).listen();
}

class QuotaStream {
  readonly #deps: QuotaEdgeDeps;
  readonly #stream: LeaseStream;
  readonly #actor: Actor;
  readonly #leaveSeat: () => void;
  readonly #leaveKey: () => void;
  /** Aborted when the stream has ended. */
  readonly #gone = new AbortController();
  #link: QuotaLink | null = null;
  /** Messages that were read and whose answers are not written yet. */
  #unanswered = 0;
  /** Resolves when the answers of all messages that were read are written. */
  #written: Promise<void> = Promise.resolve();
  /** The sidecar sends nothing more. */
  #finished = false;
  #ended = false;

  constructor(deps: QuotaEdgeDeps, stream: LeaseStream, actor: Actor, leaveSeat: () => void) {
    this.#deps = deps;
    this.#stream = stream;
    this.#actor = actor;
    this.#leaveSeat = leaveSeat;
    this.#leaveKey = watchKey(deps, actor, (details) => this.#end(status.UNAUTHENTICATED, details));
    deps.metrics.leaseStreams(1);
  }

  listen(): void {
    this.#stream.on('data', (message: LeaseRequest__Output) => this.#receive(message));
    this.#stream.on('end', () => {
      this.#finished = true;
      if (this.#unanswered === 0) this.#close();
    });
    this.#stream.on('cancelled', () => this.#stop());
    this.#stream.on('error', () => this.#stop());
  }

  #receive(message: LeaseRequest__Output): void {
    if (this.#ended) return;
    const link = this.#link;
    if (message.hello != null) {
      if (link !== null) return this.#end(status.INVALID_ARGUMENT, 'hello must be sent only once');
      return this.#greet(message.hello);
    }
    if (link === null) return this.#end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (this.#unanswered >= unansweredMax) return this.#end(status.INTERNAL, 'a message was read while the maximum of them was unanswered');
    this.#takeAsks(link, message);
  }

  #greet({ capabilities, holderSecret }: NonNullable<LeaseRequest__Output['hello']>): void {
    try {
      const problem = capabilitiesProblem(capabilities);
      if (problem !== null) return this.#end(status.INVALID_ARGUMENT, problem);
      const { length } = holderSecret;
      if (length !== holderBytes)
        return this.#end(status.INVALID_ARGUMENT, `hello.holder_secret must be ${holderBytes} bytes, is ${length}`);
      const { workspaceId, keyId } = this.#actor;
      this.#link = this.#deps.ledger.open(
        { workspaceId, keyId, onlySub: onlySubOf(this.#actor), holder: hash('sha256', holderSecret) },
        (counters) => this.#recall(counters),
      );
      // The metadata tells the sidecar, before it sends its first `asks`, that they will be read.
      this.#stream.sendMetadata(new Metadata());
    } catch (error) {
      this.#fail(error);
    }
  }

  #takeAsks(link: QuotaLink, message: LeaseRequest__Output): void {
    const asks = message.asks == null ? null : asksFrom(message.asks.asks);
    if (asks === null) return this.#end(status.INVALID_ARGUMENT, 'a message must contain asks, each with a counter and a revision');
    this.#unanswered += 1;
    if (this.#unanswered === unansweredMax) this.#stream.pause();
    // The answers are converted at once: those that must wait keep no names of their asks in memory.
    const response = link.ask(asks).then(answersOf);
    // `response` is awaited only after the earlier answers are written. Until then, its error must not be reported as
    // unhandled.
    response.catch(() => undefined);
    this.#written = this.#writeAfter(this.#written, response);
  }

  /** Resolves when the answers are written, or the stream has ended. */
  async #writeAfter(before: Promise<void>, answered: Promise<LeaseResponse>): Promise<void> {
    await before;
    if (this.#ended) return;
    try {
      const response = await answered;
      // If the sidecar does not read the answer, its next messages are not read.
      if (!this.#ended && !this.#stream.write(response)) await once(this.#stream, 'drain', { signal: this.#gone.signal });
    } catch (error) {
      if (this.#ended) return;
      this.#deps.log.warn({ err: loggable(error), workspace: this.#actor.slug }, 'lease requests of a sidecar could not be answered');
      this.#fail(error);
    }
    this.#unanswered -= 1;
    if (this.#finished && this.#unanswered === 0) this.#close();
    else if (!this.#ended) this.#stream.resume();
  }

  /** A sidecar that does not read gets no recall, because a recall is only a hint. */
  #recall(counters: readonly QuotaCounter[]): void {
    if (!this.#ended && !this.#stream.writableNeedDrain) this.#stream.write(recallOf(counters));
  }

  #fail(error: unknown): void {
    const { code, details } = grpcStatusOf(error);
    this.#end(code, details);
  }

  #end(code: status, details: string): void {
    if (this.#ended) return;
    this.#stop();
    this.#stream.emit('error', { code, details });
  }

  #close(): void {
    if (this.#ended) return;
    this.#stop();
    this.#stream.end();
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leaveKey();
    this.#gone.abort();
    this.#leaveSeat();
    this.#link?.close();
    this.#deps.metrics.leaseStreams(-1);
  }
}
