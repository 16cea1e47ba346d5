// Maintains the leases of one process: it sends the requests (`QuotaAsk`) that are due, and passes the ledger's answers
// to the leases. Requests are sent at once if a call waits, otherwise every `tickMs`. A sidecar uses this over a
// stream. A control plane uses it within the process, for its own runs.
//
// States of the link: closed → opening → open (requests are sent) → lost: it waits its backoff and opens again. A link
// without any answer for `silenceMs` counts as lost. Between ticks nothing runs, and without leases there are no ticks.
import { bounds, type OnRecall, type QuotaAnswer, type QuotaAsk, type QuotaLink } from '@tollgate/proto/contract';
import { type Backoff, barredMs, createBackoff } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { Leases } from '../limits/leases.ts';

interface QuotaHearing {
  /** Called when the link is open: requests will be answered. */
  readonly opened: () => void;
  /** Called when the link is lost. `barred`: the ledger answers but refuses this process, so the retry is slow. */
  readonly lost: (problem: string, barred: boolean) => void;
  readonly recalled: OnRecall;
}

/** Starts to connect to the ledger. `hearing` receives the results after this function has returned. */
export type OpenQuota = (hearing: QuotaHearing) => QuotaLink;

export interface LeaseKeeperDeps {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly random: () => number;
  /** Runs `run` after this turn of the event loop has processed its events. */
  readonly soon: (run: () => void) => void;
  readonly open: OpenQuota;
  readonly log: { info(fields: object, message: string): void };
  /** How long a call waits for a lease that has no calls left in this process. Absent: `bounds.leaseWaitMs`. */
  readonly waitMs?: number;
}

export interface LeaseStatus {
  readonly link: 'open' | 'lost';
  /** Why the link was lost the last time. Null: it is open, or was never lost. */
  readonly problem: string | null;
  /** The number of counters that are leased now. */
  readonly counters: number;
  /** The number of calls that wait now, and the number of all waits since the start. */
  readonly waiting: number;
  readonly waits: number;
  /** The number of calls that were denied because a lease had no calls left in this process. */
  readonly dryDenials: number;
  /** The number of calls that were granted since the start, and how many of them were made. */
  readonly granted: number;
  readonly used: number;
}

export interface LeaseKeeper {
  readonly leases: Leases;
  status(): LeaseStatus;
  /** Adds a listener that receives the ms of each wait. */
  onWaited(listener: (ms: number) => void): void;
  /** The listener is called whenever the link opens. */
  onOpened(listener: () => void): void;
  /**
   * Connects at once if the link is lost, and does not wait for the backoff to end: the control plane answers on
   * another stream.
   */
  retryNow(): void;
  /** Gives back the calls that are held, and waits at most `deadlineMs` for the answer. */
  close(deadlineMs: number): Promise<void>;
}

const tickMs = 50;
/**
 * While `unansweredMessages` messages are unanswered, the next message waits this long, to collect more requests. The
 * ledger answers messages one by one. A second message is sent at once, so that the ledger has it when it has answered
 * the first one.
 */
const gatherMs = 10;
const unansweredMessages = 2;
const silenceMs = 3_000;
/** The maximum number of unanswered requests. A ledger that cannot keep up gets no more requests. */
const unansweredMax = 2 * bounds.leaseAsks;
/** The maximum size of a message in bytes: half of what a control plane accepts. */
const messageBytes = 1_048_576;
/**
 * The number of answers that are processed at a time. Each answer may decide waiting calls. Without this limit, a
 * message about many calls would block the process for all others.
 */
const heardAtOnce = 8;

export function keepLeases(deps: LeaseKeeperDeps): LeaseKeeper {
  return new LinkedLeases(deps);
}

class LinkedLeases implements LeaseKeeper {
  readonly leases: Leases;
  readonly #silentMs: number;
  readonly #backoff: Backoff;
  readonly #listeners: ((ms: number) => void)[] = [];
  #link: QuotaLink | null = null;
  #problem: string | null = null;
  #waits = 0;
  #closed = false;
  #ticking: Timer | null = null;
  #opening: Timer | null = null;
  #isSoon = false;
  #inFlight = 0;
  #unanswered = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** True: the next message is delayed, because more requests may be ready when the earlier message is answered. */
  #isGathering = false;
  #openingSince: number;
  #onSettled = (): void => {};
  #onOpened = (): void => {};
  readonly #clock: LeaseKeeperDeps['clock'];
  readonly #random: LeaseKeeperDeps['random'];
  readonly #soon: LeaseKeeperDeps['soon'];
  readonly #open: LeaseKeeperDeps['open'];
  readonly #log: LeaseKeeperDeps['log'];
  readonly #waitMs: number;

  constructor({ clock, random, soon, open, log, waitMs = bounds.leaseWaitMs }: LeaseKeeperDeps) {
    this.#clock = clock;
    this.#random = random;
    this.#soon = soon;
    this.#open = open;
    this.#log = log;
    this.#waitMs = waitMs;
    this.leases = new Leases({ onUrgent: () => this.#tickSoon(), onActive: () => this.#arm(), onWaited: (ms) => this.#waited(ms) }, waitMs);
    this.#silentMs = Math.max(silenceMs, waitMs + tickMs);
    this.#backoff = createBackoff({ random, firstMs: bounds.reconnectMs.first, maxMs: bounds.reconnectMs.unreachable });
    this.#openingSince = clock.now();
  }

  status(): LeaseStatus {
    return {
      link: this.leases.isOpen ? 'open' : 'lost',
      problem: this.#problem,
      counters: this.leases.size,
      waiting: this.leases.waits,
      waits: this.#waits,
      dryDenials: this.leases.dryDenials,
      ...this.leases.tally,
    };
  }

  onOpened(listener: () => void): void {
    this.#onOpened = listener;
  }

  onWaited(listener: (ms: number) => void): void {
    this.#listeners.push(listener);
  }

  retryNow(): void {
    if (this.#link !== null || this.#closed) return;
    this.#opening?.cancel();
    this.#connect();
  }

  async close(deadlineMs: number): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#ticking?.cancel();
    this.#opening?.cancel();
    this.#send(this.leases.release(this.#clock.now()), this.#clock.now());
    if (this.#inFlight > 0) {
      await new Promise<void>((done) => {
        const late = this.#clock.after(deadlineMs, done);
        this.#onSettled = () => {
          late.cancel();
          done();
        };
      });
    }
    this.#lose('closed', false);
  }

  #waited(ms: number): void {
    this.#waits += 1;
    for (const listener of this.#listeners) listener(ms);
  }

  #arm(): void {
    if (this.#ticking !== null || this.#closed || (this.leases.size === 0 && this.leases.wakesAt === null)) return;
    const now = this.#clock.now();
    const wakesInMs = (this.leases.wakesAt ?? Number.POSITIVE_INFINITY) - now;
    // A time that has passed is of a lease that cannot be asked for now, because earlier requests are unanswered.
    const restMs = wakesInMs > 0 ? wakesInMs : tickMs;
    const gathersForMs = this.#isGathering ? this.#sentAt + gatherMs - now : tickMs;
    this.#ticking = this.#clock.after(Math.max(1, Math.min(tickMs, restMs, gathersForMs)), () => {
      this.#ticking = null;
      // Events that have arrived in the meantime are processed first.
      this.#tickSoon();
    });
    this.#ticking.unref();
  }

  #tickSoon(): void {
    if (this.#isSoon || this.#closed) return;
    this.#isSoon = true;
    this.#soon(() => {
      this.#isSoon = false;
      if (!this.#closed) this.#tick();
    });
  }

  #tick(): void {
    this.#ticking?.cancel();
    this.#ticking = null;
    const now = this.#clock.now();
    this.leases.endWaits(now);
    if (this.leases.isSilent(now, this.#silentMs)) this.#lose('the control plane did not answer', false);
    // A connection attempt may take any time, but calls wait at most `#waitMs` for it.
    if (!this.leases.isOpen && now - this.#openingSince > this.#waitMs) this.leases.lost(now);
    this.#isGathering = this.#inFlight >= unansweredMessages && now - this.#sentAt < gatherMs;
    if (!this.#isGathering && this.#unanswered < unansweredMax) this.#send(this.leases.asks(now, unansweredMax - this.#unanswered), now);
    this.#arm();
  }

  #send(asks: readonly QuotaAsk[], now: number): void {
    if (asks.length > 0) this.#sentAt = now;
    for (const message of messagesOf(asks)) void this.#askLink(message);
  }

  async #askLink(asks: readonly QuotaAsk[]): Promise<void> {
    const asked = this.#link;
    if (asked === null) return;
    this.#inFlight += 1;
    this.#unanswered += asks.length;
    try {
      this.#hear(asked, await asked.ask(asks));
    } catch (error) {
      if (this.#link === asked) this.#lose(error instanceof Error ? error.message : 'the lease requests were not answered', false);
    } finally {
      this.#inFlight -= 1;
      this.#unanswered -= asks.length;
      if (this.#isGathering && this.#inFlight < unansweredMessages) this.#tickSoon();
      if (this.#inFlight === 0) this.#onSettled();
    }
  }

  #hear(asked: QuotaLink, answers: readonly QuotaAnswer[]): void {
    if (this.#link !== asked) return;
    // No call waits any more after `close`, which continues at once.
    const heard = this.#closed ? answers.length : heardAtOnce;
    this.leases.answered(answers.slice(0, heard), this.#clock.now());
    if (answers.length > heard) this.#soon(() => this.#hear(asked, answers.slice(heard)));
  }

  #lose(why: string, barred: boolean): void {
    const before = this.#link;
    if (before === null) return;
    this.#link = null;
    before.close();
    if (this.leases.isOpen || this.#problem === null) this.#log.info({ problem: why }, 'lease stream lost');
    this.#problem = why;
    this.leases.lost(this.#clock.now());
    if (this.#closed) return;
    this.#opening = this.#clock.after(barred ? barredMs(this.#random, bounds.reconnectMs.max) : this.#backoff.next(), () =>
      this.#connect(),
    );
    this.#opening.unref();
  }

  #connect(): void {
    this.#opening = null;
    this.#openingSince = this.#clock.now();
    const opened = this.#open({
      opened: () => {
        if (this.#link !== opened || this.leases.isOpen) return;
        this.#backoff.reset();
        this.#problem = null;
        this.leases.opened();
        this.#onOpened();
      },
      lost: (why, barred) => {
        if (this.#link === opened) this.#lose(why, barred);
      },
      recalled: (counters) => this.leases.recalled(counters, this.#clock.now()),
    });
    this.#link = opened;
  }
}

/** Splits the requests into as many messages as needed. */
export function messagesOf(asks: readonly QuotaAsk[]): readonly (readonly QuotaAsk[])[] {
  const messages: QuotaAsk[][] = [];
  let bytes = 0;
  for (const ask of asks) {
    const more = wireBytesOf(ask);
    const latest = messages.at(-1);
    if (latest === undefined || latest.length === bounds.leaseAsks || bytes + more > messageBytes) {
      messages.push([ask]);
      bytes = more;
    } else {
      latest.push(ask);
      bytes += more;
    }
  }
  return messages;
}

/** Returns an upper bound of a request's size in bytes. */
function wireBytesOf({ counter, settled }: QuotaAsk): number {
  const names =
    counter.kind === 'limit'
      ? [counter.originSub, counter.id]
      : [
          counter.id,
          counter.agentId,
          ...(counter.of === null ? [] : [counter.of.keyId, counter.of.sub, counter.of.sessionId, ...counter.of.agents]),
        ];
  const ofNames = names.reduce((sum, name) => sum + 3 * name.length + 8, 0);
  return settled.reduce((sum, { used }) => sum + 24 + 24 * used.length, 128 + ofNames);
}
