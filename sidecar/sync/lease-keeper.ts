// Keeps the leases of one process: asks for what is due, at once where a call waits and else every `tickMs`, and brings
// back what the ledger says. Used by a sidecar over a stream, and by a control plane for its own runs within the process.
//
// States of the link: closed → opening → open (asks go out) → lost, which waits its backoff and opens again. A link that
// answers nothing for `silenceMs` counts as lost. Between ticks nothing runs; without leases there are none.
import { bounds, type OnRecall, type QuotaAnswer, type QuotaAsk, type QuotaLink } from '@tollgate/proto/contract';
import { barredMs, createBackoff } from '../backoff.ts';
import type { Clock, Timer } from '../clock.ts';
import { Leases } from '../limits/leases.ts';

interface QuotaHearing {
  /** Asks will be answered. */
  readonly opened: () => void;
  /** `barred`: somebody is there and wants nothing of us, so there is no hurry. */
  readonly lost: (problem: string, barred: boolean) => void;
  readonly recalled: OnRecall;
}

/** Begins to reach the ledger; `hearing` is told how that goes, after this has returned. */
export type OpenQuota = (hearing: QuotaHearing) => QuotaLink;

export interface LeaseKeeperDeps {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly random: () => number;
  /** Runs it once this turn of the event loop has brought what it will. */
  readonly soon: (run: () => void) => void;
  readonly open: OpenQuota;
  readonly log: { info(fields: object, message: string): void };
  /** How long a call waits for a lease that has run dry; absent: `bounds.leaseWaitMs`. */
  readonly waitMs?: number;
}

export interface LeaseStatus {
  readonly link: 'open' | 'lost';
  /** Why it is lost, the last time that it was. */
  readonly problem: string | null;
  /** Counters that are leased now. */
  readonly counters: number;
  /** Calls that wait now, and all that ever did. */
  readonly waiting: number;
  readonly waits: number;
  /** Calls denied because a lease was dry. */
  readonly dryDenials: number;
  /** Calls that were granted, and those of them that were made, since the start. */
  readonly granted: number;
  readonly used: number;
}

export interface LeaseKeeper {
  readonly leases: Leases;
  status(): LeaseStatus;
  /** Told of each wait, in ms. */
  onWaited(listener: (ms: number) => void): void;
  /** The control plane answers elsewhere: not to wait out the backoff. */
  retryNow(): void;
  /** Gives back what is held, and waits for that as long as it may. */
  close(deadlineMs: number): Promise<void>;
}

const tickMs = 50;
/** While a message is not answered, the next one waits so long for more to ask: each is a transaction, and they are answered one by one. */
const gatherMs = 10;
const silenceMs = 3_000;
/** So many asks may be unanswered; a ledger that does not come along is not asked for more. */
const unansweredMax = 2 * bounds.leaseAsks;
/** Of a message: half of what a control plane reads. */
const messageBytes = 1_048_576;
/** Each may decide calls that wait, which are answered then: who has many of them does not hold up the process for all others. */
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
  /** Something may be to be asked once the message before it is answered. */
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
      // What has arrived meanwhile is read first.
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
    if (leases.isSilent(now, silentMs)) lose('nothing was answered', false);
    // A connection may take as long as it likes; calls do not wait for it.
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
      if (link === asked) lose(error instanceof Error ? error.message : 'the asks were not answered', false);
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

/** Asks in as many messages as they need. */
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

/** At most so many. */
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
