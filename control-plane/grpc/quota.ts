// The edge of `QuotaService`: answers the asks of one sidecar, one message after the other.
//
// States: opened → greeted (its holder is known, recalls are forwarded) ⇄ answering (nothing is read until the answer
// is written and sent). A malformed message, or one that cannot be true, ends the stream with INVALID_ARGUMENT and
// changes nothing. If the database is not available, the stream ends with UNAVAILABLE. If the key is no longer valid,
// it ends with UNAUTHENTICATED. The number of streams of a workspace and of a key is limited.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { LeaseRequest__Output, LeaseResponse } from '@tollgate/proto';
import { capabilitiesProblem, type OnRecall, type QuotaLink } from '@tollgate/proto/contract';
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

export type LeaseStream = ServerDuplexStream<LeaseRequest__Output, LeaseResponse>;

/** Serves one authenticated stream until either side ends it. */
export function serveLease({ ledger, seats, stillStands, metrics, log }: QuotaEdgeDeps, stream: LeaseStream, actor: Actor): void {
  const seat = seats.take(actor);
  if ('taken' in seat) {
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many streams of leases are open for this ${seat.taken}` });
    return;
  }
  let link: QuotaLink | null = null;
  let answering = false;
  let finished = false;
  let ended = false;
  const gone = new AbortController();

  const stop = (): void => {
    if (ended) return;
    ended = true;
    leaveKey();
    gone.abort();
    seat.leave();
    link?.close();
    metrics.leaseStreams(-1);
  };
  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const leaveKey = watchKey({ stillStands, log }, actor, (details) => end(status.UNAUTHENTICATED, details));
  metrics.leaseStreams(1);

  // A sidecar that does not read gets no recall, because a recall is only a hint.
  const recall: OnRecall = (counters) => {
    if (!ended && !stream.writableNeedDrain) stream.write(recallOf(counters));
  };
  const answer = async (open: QuotaLink, message: LeaseRequest__Output): Promise<void> => {
    const asks = message.asks == null ? null : asksFrom(message.asks.asks);
    if (asks === null) return end(status.INVALID_ARGUMENT, 'a message must contain asks, each with a counter and a revision');
    const response = answersOf(await open.ask(asks));
    // If the sidecar does not read the answer, its next messages are not read.
    if (!ended && !stream.write(response)) await once(stream, 'drain', { signal: gone.signal });
  };
  const take = async (open: QuotaLink, message: LeaseRequest__Output): Promise<void> => {
    answering = true;
    stream.pause();
    try {
      await answer(open, message);
    } catch (error) {
      if (ended) return;
      log.warn({ err: loggable(error), workspace: actor.slug }, 'asks for leases were not answered');
      const { code, details } = grpcStatusOf(error);
      end(code, details);
    }
    answering = false;
    if (finished) close();
    else if (!ended) stream.resume();
  };
  const close = (): void => {
    if (ended) return;
    stop();
    stream.end();
  };
  const greet = (hello: NonNullable<LeaseRequest__Output['hello']>): void => {
    try {
      const problem = capabilitiesProblem(hello.capabilities);
      if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
      const { length } = hello.holderSecret;
      if (length !== holderBytes) return end(status.INVALID_ARGUMENT, `hello.holder_secret must be ${holderBytes} bytes, is ${length}`);
      const { workspaceId, keyId } = actor;
      link = ledger.open({ workspaceId, keyId, onlySub: onlySubOf(actor), holder: hash('sha256', hello.holderSecret) }, recall);
      // Tells the sidecar that its asks will be read, before it sends the first one.
      stream.sendMetadata(new Metadata());
    } catch (error) {
      const { code, details } = grpcStatusOf(error);
      end(code, details);
    }
  };

  stream.on('data', (message: LeaseRequest__Output) => {
    if (ended) return;
    if (message.hello != null) {
      if (link !== null) return end(status.INVALID_ARGUMENT, 'hello must be sent only once');
      return greet(message.hello);
    }
    if (link === null) return end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (answering) return end(status.INTERNAL, 'a message was read before the one before it was answered');
    void take(link, message);
  });
  stream.on('end', () => {
    finished = true;
    if (!answering) close();
  });
  stream.on('cancelled', stop);
  stream.on('error', stop);
}
