// Serves the approval streams of sidecars. Each message is idempotent, and none is trusted for what the credential of the
// stream decides: for which key and subject it may ask. What a stream holds is limited: the messages that are read and not
// answered, and the approvals that are watched. While a sidecar does not read its answers, its messages are not read.
import { Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { ApproveRequest__Output, ApproveResponse } from '@tollgate/proto';
import { capabilitiesProblem } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { askerOf } from '../approvals/operations/asker.ts';
import type { ApprovalLedger, LedgerLink } from '../approvals/operations/ledger.ts';
import { unknownStatus } from '../approvals/rules/approval.ts';
import { grpcStatusOf } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';
import { askedMessage, askFrom, callFrom, claimedMessage, readMessage, statusMessage } from './approval-messages.ts';
import type { GrpcMetrics } from './metrics.ts';
import type { StreamSeats } from './stream-seats.ts';
import { type KeyWatch, watchKey } from './watch-key.ts';

export interface ApprovalEdgeDeps extends KeyWatch {
  readonly approvalLedger: ApprovalLedger;
  readonly approvalSeats: StreamSeats;
  readonly metrics: GrpcMetrics;
}

/** The maximum number of messages of a stream that are read and not answered. */
const unansweredMax = 8;

export type ApprovalStream = ServerDuplexStream<ApproveRequest__Output, ApproveResponse>;

/** Serves one authenticated stream until either side ends it. */
export function serveApproval(deps: ApprovalEdgeDeps, stream: ApprovalStream, actor: Actor): void {
  const seat = deps.approvalSeats.take(actor);
  if ('taken' in seat)
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many streams of approvals are open for this ${seat.taken}` });
  else new ApprovalServerStream(deps, stream, actor, seat.leave).listen();
}

class ApprovalServerStream {
  readonly #deps: ApprovalEdgeDeps;
  readonly #stream: ApprovalStream;
  readonly #actor: Actor;
  readonly #leaveSeat: () => void;
  readonly #leaveKey: () => void;
  #link: LedgerLink | null = null;
  /** Messages that were read and are not answered yet. */
  #unanswered = 0;
  /** The sidecar does not read what was written. */
  #isFull = false;
  /** The sidecar sends nothing more. */
  #isFinished = false;
  #isEnded = false;

  constructor(deps: ApprovalEdgeDeps, stream: ApprovalStream, actor: Actor, leaveSeat: () => void) {
    this.#deps = deps;
    this.#stream = stream;
    this.#actor = actor;
    this.#leaveSeat = leaveSeat;
    this.#leaveKey = watchKey(deps, actor, (details) => this.#end(status.UNAUTHENTICATED, details));
    deps.metrics.approvalStreams(1);
  }

  listen(): void {
    this.#stream.on('data', (message: ApproveRequest__Output) => this.#receive(message));
    this.#stream.on('drain', () => {
      this.#isFull = false;
      this.#readOn();
    });
    this.#stream.on('end', () => {
      this.#isFinished = true;
      if (this.#unanswered === 0) this.#close();
    });
    this.#stream.on('cancelled', () => this.#stop());
    this.#stream.on('error', () => this.#stop());
  }

  #receive(message: ApproveRequest__Output): void {
    if (this.#isEnded) return;
    if (message.hello != null) return this.#greet(message.hello);
    const link = this.#link;
    if (link === null) return this.#end(status.INVALID_ARGUMENT, 'the first message must be hello');
    if (this.#unanswered > unansweredMax) return this.#end(status.INTERNAL, 'a message was read while the maximum of them was unanswered');
    const { watch } = message;
    if (watch != null) return link.watch(watch.approvalId);
    const answer = this.#answerOf(link, message);
    if (answer === null) return this.#end(status.INVALID_ARGUMENT, 'a message must contain ask, watch, claim, return or read');
    this.#unanswered += 1;
    if (this.#unanswered >= unansweredMax) this.#stream.pause();
    void this.#writeWhen(answer);
  }

  #greet({ capabilities }: NonNullable<ApproveRequest__Output['hello']>): void {
    if (this.#link !== null) return this.#end(status.INVALID_ARGUMENT, 'hello must be sent only once');
    const problem = capabilitiesProblem(capabilities);
    if (problem !== null) return this.#end(status.INVALID_ARGUMENT, problem);
    this.#link = this.#deps.approvalLedger.open(askerOf(this.#actor), (decided) => this.#write({ decided: statusMessage(decided) }));
    // The metadata tells the sidecar that its messages will be read.
    this.#stream.sendMetadata(new Metadata());
  }

  /** Null: the message is none of those that are answered. The promise resolves to null if there is no answer to send. */
  #answerOf(link: LedgerLink, { ask, claim, return: returned, read }: ApproveRequest__Output): Promise<ApproveResponse | null> | null {
    if (ask != null) {
      const asked = askFrom(ask);
      const { number } = ask;
      if ('problem' in asked)
        return Promise.resolve(askedMessage(number, { kind: 'refused', code: 'call_malformed', words: asked.problem, retryAfterMs: null }));
      return link.ask(asked).then((result) => askedMessage(number, result));
    }
    if (claim != null) {
      const call = callFrom(claim.call);
      const { number, approvalId, requestId } = claim;
      if ('problem' in call)
        return Promise.resolve(claimedMessage(number, { granted: false, isFirstUse: false, approval: unknownStatus(approvalId) }));
      return link.claim(approvalId, requestId, call).then((result) => claimedMessage(number, result));
    }
    if (returned != null) return link.returned(returned.approvalId, returned.requestId).then(() => null);
    if (read != null) return link.read(read.approvalId, read.keyId).then((found) => readMessage(read.number, found));
    return null;
  }

  async #writeWhen(answered: Promise<ApproveResponse | null>): Promise<void> {
    try {
      const response = await answered;
      if (response !== null) this.#write(response);
    } catch (error) {
      if (this.#isEnded) return;
      this.#deps.log.warn({ err: loggable(error), workspace: this.#actor.slug }, 'a message about an approval could not be answered');
      const { code, details } = grpcStatusOf(error);
      return this.#end(code, details);
    }
    this.#unanswered -= 1;
    if (this.#isFinished && this.#unanswered === 0) this.#close();
    else this.#readOn();
  }

  #write(response: ApproveResponse): void {
    if (this.#isEnded || this.#stream.write(response)) return;
    this.#isFull = true;
    this.#stream.pause();
  }

  #readOn(): void {
    if (!this.#isEnded && !this.#isFull && this.#unanswered < unansweredMax) this.#stream.resume();
  }

  #end(code: status, details: string): void {
    if (this.#isEnded) return;
    this.#stop();
    this.#stream.emit('error', { code, details });
  }

  #close(): void {
    if (this.#isEnded) return;
    this.#stop();
    this.#stream.end();
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leaveKey();
    this.#leaveSeat();
    this.#link?.close();
    this.#deps.metrics.approvalStreams(-1);
  }
}
