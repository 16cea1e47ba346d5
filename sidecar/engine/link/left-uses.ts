// Tells the ledger what dead processes have used of the grants of their sessions, in their place: over a link that is
// opened with the secret of the dead process. The ledger then returns the rest. A grant ends only once, so a report that
// is repeated changes nothing.
//
// States of the reports of one process: waiting for its turn → sent → known, or refused (the ledger will count all as
// used). If the ledger cannot be reached, they wait for a backoff and are sent again. One process is reported at a time.
import { bounds, type QuotaAsk, type QuotaCounter, quotaCounterKey, type QuotaLink, type SettledGrant } from '@tollgate/proto/contract';
import { type Backoff, createBackoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { messagesOf, type OpenQuota } from './lease-keeper.ts';

/** What a dead process has used. */
interface LeftUses {
  readonly epoch: string;
  readonly grants: readonly { readonly counter: QuotaCounter; readonly grantId: number; readonly used: number }[];
}

interface LeftUsesDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

interface Problem {
  readonly why: string;
  /** The control plane answers but refuses. */
  readonly barred: boolean;
}

interface Report {
  readonly open: OpenQuota;
  readonly read: () => LeftUses | null;
  readonly done: (isKnown: boolean) => void;
}

/** After this time without all answers, the reports of a process are sent again. */
const answersMs = 5_000;
const unanswered: Problem = { why: 'the control plane did not answer', barred: false };

export class LeftUsesReporter {
  readonly #deps: LeftUsesDeps;
  readonly #backoff: Backoff;
  #reports: Report[] = [];
  #isRunning = false;
  #isClosed = false;
  #wake = (): void => {};

  constructor(deps: LeftUsesDeps) {
    this.#deps = deps;
    this.#backoff = createBackoff({ random: deps.random, firstMs: bounds.reconnectMs.first, maxMs: bounds.reconnectMs.unreachable });
  }

  /**
   * Reports what `read` returns; null: nothing is known. `open`: opens a link as the dead process. Resolves with false if
   * the reporter was closed before the ledger has answered.
   */
  report(open: OpenQuota, read: () => LeftUses | null): Promise<boolean> {
    return new Promise((done) => {
      if (this.#isClosed) return done(false);
      this.#reports.push({ open, read, done });
      void this.#run();
    });
  }

  /** Call this when the control plane is available again. */
  retryNow(): void {
    this.#backoff.reset();
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    for (const { done } of this.#reports.splice(0)) done(false);
    this.#wake();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let first = this.#reports[0]; first !== undefined; first = this.#reports[0]) {
      if (await this.#tell(first)) {
        this.#backoff.reset();
        if (this.#reports[0] === first) this.#reports.shift();
        first.done(true);
      } else if (!this.#isClosed) await this.#wait(this.#backoff.next());
    }
    this.#isRunning = false;
  }

  /** Returns whether nothing more can be told: the ledger has answered, or will not take it. */
  async #tell({ open, read }: Report): Promise<boolean> {
    const left = read();
    if (left === null || left.grants.length === 0) return true;
    const grants = left.grants.length;
    const problem = await this.#sendAll(open, messagesOf(asksOf(left)));
    if (problem === null) this.#deps.log.info({ grants }, 'the calls that an ended process had left in its sessions were returned');
    else if (problem.barred)
      this.#deps.log.warn({ grants, problem: problem.why }, 'the calls that an ended process had left in its sessions cannot be returned');
    return problem === null || problem.barred;
  }

  /** Returns null after all messages were answered. */
  async #sendAll(open: OpenQuota, messages: readonly (readonly QuotaAsk[])[]): Promise<Problem | null> {
    let end = (_problem: Problem | null): void => {};
    const ended = new Promise<Problem | null>((resolve) => {
      end = resolve;
    });
    const timer = this.#deps.clock.after(answersMs, () => end(unanswered));
    timer.unref();
    this.#wake = () => {
      if (this.#isClosed) end(unanswered);
    };
    const link = open({
      opened: () => void askAll(link, messages).then((isAnswered) => isAnswered && end(null)),
      lost: (why, barred) => end({ why, barred }),
      recalled: () => undefined,
    });
    try {
      return await ended;
    } finally {
      timer.cancel();
      link.close();
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#deps.clock.after(ms, resolve);
      timer.unref();
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** Returns whether all messages were answered. If not, the `lost` of the link says why. */
async function askAll(link: QuotaLink, messages: readonly (readonly QuotaAsk[])[]): Promise<boolean> {
  try {
    for (const message of messages) await link.ask(message);
    return true;
  } catch {
    return false;
  }
}

/** A message names each counter only once, so one request has all grants of a run. */
function asksOf({ epoch, grants }: LeftUses): readonly QuotaAsk[] {
  const byRun = new Map<string, { readonly counter: QuotaCounter; readonly settled: SettledGrant[] }>();
  for (const { counter, grantId, used } of grants) {
    const key = quotaCounterKey(counter);
    const run = byRun.get(key) ?? { counter, settled: [] };
    byRun.set(key, run);
    run.settled.push({ grantId, used: used > 0 ? [{ ageMs: 0, count: used }] : [] });
  }
  return [...byRun.values()].map(({ counter, settled }) => ({
    counter,
    number: 1,
    waiting: 0,
    onlySettles: true,
    revision: { epoch, number: 0 },
    max: null,
    made: null,
    // More grants than that are not held at one time.
    settled: settled.slice(0, bounds.leaseSettled),
  }));
}
