// Sends requests over a link that may be lost and opened again. Each request is sent again after a reconnect, until it is
// answered or its time is over. The messages of the link are idempotent, so that a request whose answer was lost does
// nothing a second time.
//
// States of the link: none (nothing was sent yet) → opening → open → lost: it waits its backoff and opens again, as long
// as there is something to send or to watch. A link that leaves a request unanswered for all of its time counts as lost.
import { type ApprovalLink, bounds, type OnDecided } from '@tollgate/proto/contract';
import { type Backoff, barredMs, createBackoff } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';

interface ApprovalHearing {
  /** Called when the link is open: messages will be answered. */
  readonly opened: () => void;
  /** Called when the link is lost. `barred`: the control plane answers but refuses this process, so the retry is slow. */
  readonly lost: (problem: string, barred: boolean) => void;
  readonly decided: OnDecided;
}

/** Starts to connect to the ledger of approvals. `hearing` receives the results after this function has returned. */
export type OpenApprovals = (hearing: ApprovalHearing) => ApprovalLink;

export interface AskedLinkDeps {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly random: () => number;
  readonly open: OpenApprovals;
  readonly log: { info(fields: object, message: string): void };
}

interface Unanswered {
  readonly send: (link: ApprovalLink) => Promise<void>;
  /** The link over which the request was sent last. Null: it was not sent yet. */
  sentBy: ApprovalLink | null;
  /** Ends the request without an answer. */
  readonly giveUp: () => void;
}

interface Return {
  readonly approvalId: string;
  readonly requestId: string;
  /** When it was sent over an open link. Infinite: it was not sent yet. */
  sentAt: number;
}

/** How long a request waits for its answer. */
export const answerMs = 2_000;
/** A return is not answered. It is sent again if the link is lost within this time. */
const returnMs = 60_000;
/** The maximum number of requests without an answer. Further ones are not sent. */
const unansweredMax = 5_000;
/** The maximum number of returns that may be sent again. */
const returnsMax = 10_000;

export class AskedLink {
  problem: string | null = null;
  isOpen = false;
  readonly #deps: AskedLinkDeps;
  readonly #backoff: Backoff;
  readonly #unanswered = new Set<Unanswered>();
  readonly #watchers = new Map<string, Set<OnDecided>>();
  #returns: Return[] = [];
  #link: ApprovalLink | null = null;
  #opening: Timer | null = null;
  #isClosed = false;

  constructor(deps: AskedLinkDeps) {
    this.#deps = deps;
    this.#backoff = createBackoff({ random: deps.random, firstMs: bounds.reconnectMs.first, maxMs: bounds.reconnectMs.unreachable });
  }

  /** Returns the answer. Null: there was none within `patienceMs`. The request may have had its effect then. */
  request<T>(send: (link: ApprovalLink) => Promise<T>, patienceMs = answerMs): Promise<T | null> {
    if (this.#isClosed || patienceMs <= 0 || this.#unanswered.size >= unansweredMax) return Promise.resolve(null);
    return new Promise((done) => {
      const end = (answer: T | null): void => {
        if (!this.#unanswered.delete(unanswered)) return;
        late.cancel();
        done(answer);
      };
      const unanswered: Unanswered = { send: async (link) => end(await send(link)), sentBy: null, giveUp: () => end(null) };
      const late = this.#deps.clock.after(patienceMs, () => {
        const { sentBy } = unanswered;
        end(null);
        if (sentBy !== null && sentBy === this.#link && patienceMs >= answerMs)
          this.#lose(sentBy, 'the control plane did not answer', false);
      });
      late.unref();
      this.#unanswered.add(unanswered);
      if (this.isOpen) this.#send(unanswered);
      else this.#connectIfWanted();
    });
  }

  /** `listener` is called when the approval is no longer pending. Returns a function that removes it. */
  watch(approvalId: string, listener: OnDecided): () => void {
    const listeners = this.#watchers.get(approvalId) ?? new Set();
    this.#watchers.set(approvalId, listeners.add(listener));
    if (this.isOpen) this.#link?.watch(approvalId);
    else this.#connectIfWanted();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#watchers.get(approvalId) === listeners) this.#watchers.delete(approvalId);
    };
  }

  /** Sends the watch again: the control plane forgets the oldest ones of a sidecar that watches very many. */
  watchAgain(approvalId: string): void {
    if (this.isOpen) this.#link?.watch(approvalId);
  }

  returnUse(approvalId: string, requestId: string): void {
    const one: Return = { approvalId, requestId, sentAt: Number.POSITIVE_INFINITY };
    this.#returns = [...this.#stillReturned(), one].slice(-returnsMax);
    if (this.isOpen) this.#sendReturn(one);
    else this.#connectIfWanted();
  }

  retryNow(): void {
    if (this.#opening === null) return;
    this.#opening.cancel();
    this.#opening = null;
    this.#connectIfWanted();
  }

  close(): void {
    this.#isClosed = true;
    this.#opening?.cancel();
    for (const { giveUp } of this.#unanswered) giveUp();
    this.#watchers.clear();
    this.#link?.close();
    this.#link = null;
    this.isOpen = false;
  }

  get #isWanted(): boolean {
    return this.#unanswered.size > 0 || this.#watchers.size > 0 || this.#stillReturned().length > 0;
  }

  #stillReturned(): Return[] {
    const now = this.#deps.clock.now();
    this.#returns = this.#returns.filter(({ sentAt }) => sentAt === Number.POSITIVE_INFINITY || now - sentAt < returnMs);
    return this.#returns;
  }

  #send(unanswered: Unanswered): void {
    const link = this.#link;
    if (link === null) return;
    unanswered.sentBy = link;
    unanswered.send(link).catch((error: unknown) => {
      this.#lose(link, error instanceof Error ? error.message : 'the request was not answered', false);
    });
  }

  #sendReturn(one: Return): void {
    one.sentAt = this.#deps.clock.now();
    this.#link?.returnUse(one.approvalId, one.requestId);
  }

  #connectIfWanted(): void {
    if (this.#isClosed || this.#link !== null || this.#opening !== null || !this.#isWanted) return;
    const opened = this.#deps.open({
      opened: () => {
        if (this.#link === opened && !this.isOpen) this.#opened(opened);
      },
      lost: (problem, barred) => this.#lose(opened, problem, barred),
      decided: (approval) => {
        const listeners = this.#watchers.get(approval.approvalId);
        if (listeners === undefined || approval.state === 'pending') return;
        this.#watchers.delete(approval.approvalId);
        for (const listener of listeners) listener(approval);
      },
    });
    this.#link = opened;
  }

  #opened(link: ApprovalLink): void {
    this.isOpen = true;
    this.problem = null;
    this.#backoff.reset();
    for (const one of this.#stillReturned()) this.#sendReturn(one);
    for (const unanswered of this.#unanswered) this.#send(unanswered);
    for (const approvalId of this.#watchers.keys()) link.watch(approvalId);
  }

  #lose(link: ApprovalLink, problem: string, barred: boolean): void {
    if (this.#link !== link || this.#isClosed) return;
    if (this.isOpen || this.problem === null) this.#deps.log.info({ problem }, 'approval stream lost');
    this.#link = null;
    this.isOpen = false;
    this.problem = problem;
    link.close();
    const waitMs = barred ? barredMs(this.#deps.random, bounds.reconnectMs.max) : this.#backoff.next();
    this.#opening = this.#deps.clock.after(waitMs, () => {
      this.#opening = null;
      this.#connectIfWanted();
    });
    this.#opening.unref();
  }
}
