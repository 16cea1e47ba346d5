// Maintains the leases of one process: it sends the asks that are due, at once if a call waits, otherwise every
// `tickMs`, and passes the ledger's answers to the leases. A sidecar uses it over a stream, and a control plane uses it
// within the process for its own runs.
//
// States of the link: closed → opening → open (asks are sent) → lost: it waits its backoff and opens again. A link
// without any answer for `silenceMs` counts as lost. Between ticks nothing runs, and without leases there are no ticks.
import { bounds, type OnRecall, type QuotaAnswer, type QuotaAsk, type QuotaLink } from '@tollgate/proto/contract';
import { barredMs, createBackoff } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { Leases } from '../limits/leases.ts';

interface QuotaHearing {
  /** Asks will be answered. */
  readonly opened: () => void;
  /** `barred`: the ledger answers but refuses this process, so the retry is slow. */
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
  /** How long a call waits for a lease that has no calls left here. Absent: `bounds.leaseWaitMs`. */
  readonly waitMs?: number;
}

export interface LeaseStatus {
  readonly link: 'open' | 'lost';
  /** Why it was lost the last time. */
  readonly problem: string | null;
  /** Counters that are leased now. */
  readonly counters: number;
  /** Calls that wait now, and all waits since the start. */
  readonly waiting: number;
  readonly waits: number;
  /** Calls denied because a lease had no calls left here. */
  readonly dryDenials: number;
  /** Calls that were granted, and those of them that were made, since the start. */
  readonly granted: number;
  readonly used: number;
}

export interface LeaseKeeper {
  readonly leases: Leases;
  status(): LeaseStatus;
  /** The listener receives the ms of each wait. */
  onWaited(listener: (ms: number) => void): void;
  /** The control plane answers on another stream: do not wait for the backoff to end. */
  retryNow(): void;
  /** Gives back what is held, and waits for the answer until the deadline. */
  close(deadlineMs: number): Promise<void>;
}

const tickMs = 50;
/**
 * While a message is unanswered, the next one waits this long for more asks: each message is a transaction, and they
 * are answered one by one.
 */
const gatherMs = 10;
const silenceMs = 3_000;
/** The maximum number of unanswered asks. A ledger that cannot keep up is not asked for more. */
const unansweredMax = 2 * bounds.leaseAsks;
/** The maximum size of a message: half of what a control plane reads. */
const messageBytes = 1_048_576;
/**
 * Each answer may decide waiting calls, which are answered then. This limit prevents a lease with many calls from
 * blocking the process for all others.
 */
const heardAtOnce = 8;

export function keepLeases({ clock, random, soon, open, log, waitMs = bounds.leaseWaitMs }: LeaseKeeperDeps): LeaseKeeper {
  const leases = new Leases({ onUrgent: () => tickSoon(), onActive: () => arm(), onWaited: (ms) => waited(ms) }, waitMs);
  const silentMs = Math.max(silenceMs, waitMs + tickMs);
  const backoff = createBackoff({ random, firstMs: bounds.reconnectMs.first, maxMs: bounds.reconnectMs.unreachable });
  const listeners: ((ms: number) => void)[] = [];
  let link: QuotaLink | null = null;
  let problem: string | null = null;
  let waits = 0;
  let closed = false;
  let ticking: Timer | null = null;
  let opening: Timer | null = null;
  let isSoon = false;
  let inFlight = 0;
  let unanswered = 0;
  let sentAt = Number.NEGATIVE_INFINITY;
  /** More asks may be ready when the earlier message is answered. */
  let isGathering = false;
  let openingSince = clock.now();
  let onSettled = (): void => {};

  const waited = (ms: number): void => {
    waits += 1;
    for (const listener of listeners) listener(ms);
  };

  const arm = (): void => {
    if (ticking !== null || closed || (leases.size === 0 && leases.endsAt === null)) return;
    const now = clock.now();
    const endsInMs = (leases.endsAt ?? Number.POSITIVE_INFINITY) - now;
    const gathersForMs = isGathering ? sentAt + gatherMs - now : tickMs;
    ticking = clock.after(Math.max(1, Math.min(tickMs, endsInMs, gathersForMs)), () => {
      ticking = null;
      // Events that have arrived in the meantime are processed first.
      tickSoon();
    });
    ticking.unref();
  };

  const tickSoon = (): void => {
    if (isSoon || closed) return;
    isSoon = true;
    soon(() => {
      isSoon = false;
      if (!closed) tick();
    });
  };

  const tick = (): void => {
    ticking?.cancel();
    ticking = null;
    const now = clock.now();
    leases.endWaits(now);
    if (leases.isSilent(now, silentMs)) lose('the control plane did not answer', false);
    // A connection may take any time, but calls do not wait for it.
    if (!leases.isOpen && now - openingSince > waitMs) leases.lost(now);
    isGathering = inFlight > 0 && now - sentAt < gatherMs;
    if (!isGathering && unanswered < unansweredMax) send(leases.asks(now, unansweredMax - unanswered), now);
    arm();
  };

  const send = (asks: readonly QuotaAsk[], now: number): void => {
    if (asks.length > 0) sentAt = now;
    for (const message of messagesOf(asks)) void askLink(message);
  };

  const askLink = async (asks: readonly QuotaAsk[]): Promise<void> => {
    const asked = link;
    if (asked === null) return;
    inFlight += 1;
    unanswered += asks.length;
    try {
      hear(asked, await asked.ask(asks));
    } catch (error) {
      if (link === asked) lose(error instanceof Error ? error.message : 'the lease requests were not answered', false);
    } finally {
      inFlight -= 1;
      unanswered -= asks.length;
      if (inFlight === 0) {
        if (isGathering) tickSoon();
        onSettled();
      }
    }
  };

  const hear = (asked: QuotaLink, answers: readonly QuotaAnswer[]): void => {
    if (link !== asked) return;
    leases.answered(answers.slice(0, heardAtOnce), clock.now());
    if (answers.length > heardAtOnce) soon(() => hear(asked, answers.slice(heardAtOnce)));
  };

  const lose = (why: string, barred: boolean): void => {
    const before = link;
    if (before === null) return;
    link = null;
    before.close();
    if (leases.isOpen || problem === null) log.info({ problem: why }, 'lease stream lost');
    problem = why;
    leases.lost(clock.now());
    if (closed) return;
    opening = clock.after(barred ? barredMs(random, bounds.reconnectMs.max) : backoff.next(), connect);
    opening.unref();
  };

  const connect = (): void => {
    opening = null;
    openingSince = clock.now();
    const opened = open({
      opened: () => {
        if (link !== opened || leases.isOpen) return;
        backoff.reset();
        problem = null;
        leases.opened();
      },
      lost: (why, barred) => {
        if (link === opened) lose(why, barred);
      },
      recalled: (counters) => leases.recalled(counters, clock.now()),
    });
    link = opened;
  };

  return {
    leases,
    status: () => ({
      link: leases.isOpen ? 'open' : 'lost',
      problem,
      counters: leases.size,
      waiting: leases.waits,
      waits,
      dryDenials: leases.dryDenials,
      ...leases.tally,
    }),
    onWaited: (listener) => {
      listeners.push(listener);
    },
    retryNow: () => {
      if (link !== null || closed) return;
      opening?.cancel();
      connect();
    },
    close: async (deadlineMs) => {
      if (closed) return;
      closed = true;
      ticking?.cancel();
      opening?.cancel();
      send(leases.release(clock.now()), clock.now());
      if (inFlight > 0) {
        await new Promise<void>((done) => {
          const late = clock.after(deadlineMs, done);
          onSettled = () => {
            late.cancel();
            done();
          };
        });
      }
      lose('closed', false);
    },
  };
}

/** Splits the asks into as many messages as needed. */
function messagesOf(asks: readonly QuotaAsk[]): readonly (readonly QuotaAsk[])[] {
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

/** Returns an upper bound of the size in bytes. */
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
