// Asks people about calls, for one process, and holds the calls that wait for their answers. The ledger is in the control
// plane: this process decides nothing about an approval, and it stores none.
//
// States of an asked call: asking (at most `answerMs`) → held (until it is answered, its time is over, its caller has
// gone or the process ends) → answered. Equal calls share one question, but each claims its own use.
import {
  type ApprovalAsk,
  type ApprovalStatus,
  type AskedCall,
  type AskResult,
  type ClaimResult,
  canonicalJson,
  digestText,
} from '@tollgate/proto/contract';
import type { Clock, Timer } from '../../base/clock.ts';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import { answerMs, AskedLink, type AskedLinkDeps } from './asked-link.ts';
import { askingBounds, HeldCalls, heldBounds, readingBounds } from './held-calls.ts';

export interface Holding {
  /** The call is held until this time of the clock. A time that has passed: it is not held. */
  readonly until: number;
  /** The control plane must have answered the question by this time. Infinite: within `answerMs`. */
  readonly answeredBy: number;
  readonly gone?: DisconnectSignal | undefined;
  /** Called once before the call is held: whether the question made an approval. Not called if `ask` rejects. */
  readonly onAsked?: (isNew: boolean) => void;
  /** Called when the call begins to be held. */
  readonly onHeld?: ((approvalId: string) => void) | undefined;
}

export type AskedAnswer =
  /** The control plane cannot be reached. */
  | { readonly kind: 'unavailable' }
  /** This process holds too many calls. No one was asked. */
  | { readonly kind: 'crowded' }
  | AskResult;

interface ApprovalsStatus {
  /** `idle`: nothing was asked for so far. */
  readonly link: 'open' | 'lost' | 'idle';
  readonly problem: string | null;
  /** The calls that are held now, and the bytes that they need. */
  readonly held: number;
  readonly heldBytes: number;
  /** Since the start: questions that were sent, and calls by the answer. */
  readonly asked: number;
  readonly approved: number;
  readonly denied: number;
  readonly expired: number;
  readonly unavailable: number;
}

/** The approvals of one process. A call that policy asks for needs it. */
export interface Approvals {
  /** Asks for the call, and holds it until its approval is no longer pending. `pending`: the time was over before. */
  ask(ask: ApprovalAsk, holding: Holding): Promise<AskedAnswer>;
  /** Claims a use for the request. Null: the control plane cannot be reached, and the use may be claimed. */
  claim(approvalId: string, requestId: string, call: AskedCall): Promise<ClaimResult | null>;
  /** Gives the use of a request back: its call was not made. */
  returnUse(approvalId: string, requestId: string): void;
  /** `unavailable`: the control plane cannot be reached, or too many reads wait. Null: this key asked for no such approval. */
  read(approvalId: string, keyId: string): Promise<ApprovalStatus | null | 'unavailable'>;
}

export interface ApprovalKeeper extends Approvals {
  status(): ApprovalsStatus;
  /** Connects at once if the link is lost. */
  retryNow(): void;
  /** From now on no call is held. Those that are held now are answered: they are still pending. */
  drain(): void;
  close(): void;
}

export const keepApprovals = (deps: AskedLinkDeps): ApprovalKeeper => new LinkedApprovals(deps);

class LinkedApprovals implements ApprovalKeeper {
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #link: AskedLink;
  readonly #asking = new HeldCalls(askingBounds);
  readonly #held = new HeldCalls(heldBounds);
  readonly #reading = new HeldCalls(readingBounds);
  /** The questions without an answer, by call. */
  readonly #questions = new Map<string, Promise<AskResult | null>>();
  /** Each ends the hold of one call. */
  readonly #releases = new Set<() => void>();
  readonly #tally = { asked: 0, approved: 0, denied: 0, expired: 0, unavailable: 0 };
  #isDraining = false;

  constructor(deps: AskedLinkDeps) {
    this.#clock = deps.clock;
    this.#link = new AskedLink(deps);
  }

  async ask(ask: ApprovalAsk, holding: Holding): Promise<AskedAnswer> {
    const bytes = bytesOf(ask);
    const asked = this.#asking.take(ask.call.keyId, bytes);
    if (asked === null) {
      holding.onAsked?.(false);
      return { kind: 'crowded' };
    }
    const answer = await this.#question(ask, holding.answeredBy - this.#clock.now()).finally(asked);
    holding.onAsked?.(answer?.kind === 'approval' && answer.isNew);
    if (answer?.kind !== 'approval' || answer.approval.state !== 'pending') return this.#counted(answer ?? { kind: 'unavailable' });
    return this.#counted({ ...answer, approval: await this.#hold(answer.approval, { ...holding, keyId: ask.call.keyId, bytes }) });
  }

  async claim(approvalId: string, requestId: string, call: AskedCall): Promise<ClaimResult | null> {
    let sent = 0;
    const claim = await this.#link.request((link) => {
      sent += 1;
      return link.claim(approvalId, requestId, call);
    });
    // An earlier message of this claim may still be on its way, and would be granted to no one.
    if (claim?.granted === false && sent > 1) this.#link.returnUse(approvalId, requestId);
    return claim;
  }

  returnUse(approvalId: string, requestId: string): void {
    this.#link.returnUse(approvalId, requestId);
  }

  async read(approvalId: string, keyId: string): Promise<ApprovalStatus | null | 'unavailable'> {
    // One key that reads very often must not delay the questions of others.
    const giveBack = this.#reading.take(keyId, 0);
    if (giveBack === null) return 'unavailable';
    const reading = this.#link.request(async (link) => ({ approval: await link.read(approvalId, keyId) }));
    const answer = await reading.finally(giveBack);
    return answer === null ? 'unavailable' : answer.approval;
  }

  status(): ApprovalsStatus {
    const { isOpen, problem } = this.#link;
    return {
      link: isOpen ? 'open' : problem === null ? 'idle' : 'lost',
      problem,
      held: this.#held.calls,
      heldBytes: this.#held.bytes,
      ...this.#tally,
    };
  }

  retryNow(): void {
    this.#link.retryNow();
  }

  drain(): void {
    this.#isDraining = true;
    for (const release of this.#releases) release();
  }

  close(): void {
    this.drain();
    this.#link.close();
  }

  /** Equal calls that are asked for at the same time share one question. The first of them made the approval. */
  async #question(ask: ApprovalAsk, patienceMs: number): Promise<AskResult | null> {
    const id = `${ask.mayCreate}${digestText(canonicalJson(ask.call))}`;
    const known = this.#questions.get(id);
    if (known !== undefined) {
      const answer = await known;
      return answer?.kind === 'approval' ? { ...answer, isNew: false } : answer;
    }
    this.#tally.asked += 1;
    const asking = this.#link.request((link) => link.ask(ask), Math.min(patienceMs, answerMs));
    this.#questions.set(id, asking);
    return asking.finally(() => this.#questions.delete(id));
  }

  #hold(
    approval: ApprovalStatus,
    { until, gone, keyId, bytes, onHeld }: Holding & { keyId: string; bytes: number },
  ): Promise<ApprovalStatus> {
    const holdMs = until - this.#clock.now();
    if (holdMs <= 0 || this.#isDraining || gone?.aborted === true) return Promise.resolve(approval);
    const giveBack = this.#held.take(keyId, bytes);
    if (giveBack === null) return Promise.resolve(approval);
    return new Promise((done) => {
      const end = (answered: ApprovalStatus): void => {
        if (!this.#releases.delete(release)) return;
        giveBack();
        unwatch?.();
        timer?.cancel();
        again?.cancel();
        gone?.removeEventListener?.('abort', release);
        done(answered);
      };
      const release = (): void => end(approval);
      this.#releases.add(release);
      let timer: Timer | null = null;
      let again: Timer | null = null;
      const watchAgainLater = (): void => {
        again = this.#clock.after(watchAgainMs, () => {
          this.#link.watchAgain(approval.approvalId);
          watchAgainLater();
        });
        again.unref();
      };
      let unwatch: (() => void) | null = null;
      unwatch = this.#link.watch(approval.approvalId, end);
      // The answer may be known already.
      if (!this.#releases.has(release)) return unwatch();
      timer = this.#clock.after(Math.min(holdMs, longestMs), release);
      timer.unref();
      watchAgainLater();
      gone?.addEventListener('abort', release, { once: true });
      onHeld?.(approval.approvalId);
    });
  }

  #counted(answer: AskedAnswer): AskedAnswer {
    if (answer.kind === 'unavailable') this.#tally.unavailable += 1;
    if (answer.kind === 'approval') {
      const { state } = answer.approval;
      if (state === 'approved' || state === 'denied' || state === 'expired') this.#tally[state] += 1;
    }
    return answer;
  }
}

/** A watch that the control plane has forgotten delays an answer by this time at most. */
const watchAgainMs = 60_000;
/** No rule holds a call longer. A timer of Node can be at most 2^31 ms. */
const longestMs = 3_600_000;

/** What a held call needs at least, in bytes: the texts about it, in two forms. */
function bytesOf({ shownInput, hidden }: ApprovalAsk): number {
  return 2_048 + 2 * shownInput.length + hidden.reduce((sum, { path, value }) => sum + path.length + 2 * value.length, 0);
}
