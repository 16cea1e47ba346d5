// Manages the money and the records of the runs of this control plane. Operations for one user run one after the other,
// and an operation asks for a database connection only after all earlier operations for the same user. Otherwise many
// simultaneous operations could use all connections to wait for one row.
//
// A run is held from just before its beginning until its end is recorded, even if the database is not available for a
// long time. The costs of its calls are kept here until they are settled. A run of this control plane that is not held
// any more is abandoned (`end-abandoned-runs.ts`).
import { AppError } from '@tollgate/proto/contract';
import { makeId } from '../../../access/rules/key.ts';
import type { WantedMoney } from '../../rules/budget.ts';
import { nothingKnown, runKey, type RunRef, type ToldProgress } from '../../rules/run.ts';
import type { Money, MoneyReservation } from '../../money.ts';
import type { NewRun, RunEnd, RunRecords } from '../../records.ts';
import { findRunOwner, type RunOwner } from '../../store/runs.ts';
import { isUnavailable } from '../../../base/unavailable.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { inTurnsByKey } from '../../../base/turns.ts';
import { RunStopped } from '../../stopped.ts';
import type { DueRun } from '../../store/waiting-runs.ts';
import type { TakenRun } from '../../runner.ts';
import type { Wait, WaitOutcome } from '../../waiting.ts';
import { recordContinued, recordWaiting, recordWaitsAgain } from '../waiting/record-waiting.ts';
import { takeWaiting } from '../waiting/take-waiting.ts';
import { createProgress, type Progress } from './progress.ts';
import { recordBegin } from './record-begin.ts';
import { recordEnd } from './record-end.ts';
import { reserve, type ReserveAttempt } from './reserve.ts';
import { settle } from './settle.ts';
import { setTimeout as delay } from 'node:timers/promises';

export interface RunBooks {
  readonly money: Money;
  readonly records: RunRecords;
  /** Whether the run has begun or was resumed here, and this process has not recorded its end or that it waits. */
  readonly holds: (run: RunRef) => boolean;
  /** Takes a waiting run, to resume it here. Null: it no longer waits, it has ended now, or another process takes it. */
  take(due: DueRun): Promise<TakenRun | null>;
  /** Ends a taken run that cannot be resumed. `error`: why, in words for the caller. */
  fail(run: RunRef, error: string): Promise<void>;
  /** Lets a taken run wait again that has done nothing. If the database is not available, it does so later. */
  giveBack(run: RunRef): Promise<void>;
  /** Call when no run is active. It tries once more to record what could not be recorded. */
  close(): Promise<void>;
}

interface BookDeps extends Pick<OperationDeps, 'pool' | 'clock' | 'random'> {
  /** Absent: no one can be asked, so no run waits. */
  readonly approvals?: OperationDeps['approvals'];
  /** What a user can spend in a day, in µ¢. */
  readonly dailyCap: number;
}

interface Config {
  /**
   * The waits in ms before each further try. There are further tries because a run must not fail when the database
   * restarts. For recording the end of a run, the number of tries has no limit: after all waits were used, the last one
   * is used again before each further try.
   */
  readonly triesAfterMs?: readonly number[];
  /** How long to wait, in ms, for money that other calls have reserved and not spent. */
  readonly busyMs?: number;
}

const standardTriesAfterMs = [50, 250, 1_000, 2_500];
const standardBusyMs = 30_000;
const never = (): AbortSignal => new AbortController().signal;

/** `instance` is the id of this control plane in its heartbeat (`heartbeat.ts`). */
export function createRunBooks(deps: BookDeps, instance: string, { triesAfterMs, busyMs }: Config = {}): RunBooks {
  const books = new DatabaseBooks(deps, instance, { triesAfterMs: triesAfterMs ?? standardTriesAfterMs, busyMs: busyMs ?? standardBusyMs });
  return {
    money: {
      reserve: (run, wanted, signal) => books.reserve(run, wanted, signal),
      settle: (run, reservationId, cost, signal) => books.settle(run, reservationId, cost, signal),
    },
    records: {
      begin: (run) => books.begin(run),
      update: (run, progress) => books.update(run, progress),
      end: (run, end) => books.end(run, end),
      wait: (run, wait) => books.wait(run, wait),
      markContinued: (run) => books.markContinued(run),
    },
    holds: (run) => books.holds(run),
    take: (due) => books.take(due),
    fail: (run, error) => books.fail(run, error),
    giveBack: (run) => books.giveBack(run),
    close: () => books.close(),
  };
}

/** A run that this process executes. */
interface Held {
  /** The known but unsettled costs of its calls, by reservation. */
  readonly costs: Map<string, number>;
  /**
   * How often the run was resumed before. Each write checks it, so a process that was thought dead changes nothing of a run
   * that another one has resumed.
   */
  readonly generation: number;
  /** Whether the run was resumed and has done nothing since, so that it can be resumed from the same place again. */
  mayWaitAgain: boolean;
}

class DatabaseBooks implements Money, RunRecords {
  readonly #deps: BookDeps;
  readonly #instance: string;
  readonly #config: Required<Config>;
  readonly #held = new Map<string, Held>();
  readonly #progress: Progress;
  readonly #closing = new AbortController();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #takeTurn = inTurnsByKey(
    ({ key }: { readonly key: string; readonly work: () => Promise<unknown> }) => key,
    ({ work }) => work(),
  );

  constructor(deps: BookDeps, instance: string, config: Required<Config>) {
    this.#deps = deps;
    this.#instance = instance;
    this.#config = config;
    this.#progress = createProgress(deps);
  }

  holds(run: RunRef): boolean {
    return this.#held.has(runKey(run));
  }

  async begin(run: NewRun): Promise<boolean> {
    const key = runKey(run);
    this.#held.set(key, { costs: new Map(), generation: 0, mayWaitAgain: false });
    const above = run.parentRunId === null ? 0 : this.#generationOf({ ...run, id: run.parentRunId });
    let begun = false;
    try {
      begun = await recordBegin(this.#deps, this.#instance, run, above);
      return begun;
    } finally {
      if (!begun) this.#held.delete(key);
    }
  }

  update(run: RunRef, progress: ToldProgress): void {
    this.#progress.note(run, this.#generationOf(run), progress);
  }

  end(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null> {
    return this.#untilClosed(this.#recordEnd(run, end));
  }

  wait(run: RunRef, wait: Wait): Promise<WaitOutcome> {
    return this.#untilClosed(this.#recordWait(run, wait));
  }

  async markContinued(run: RunRef): Promise<void> {
    const held = this.#held.get(runKey(run));
    if (held?.mayWaitAgain !== true) return;
    const { generation } = held;
    const isRecorded = await this.#retrying(
      () => this.#inTurn(run, (owner) => recordContinued(this.#deps, { run, owner, generation }).then(() => true), false),
      this.#closing.signal,
    );
    if (!isRecorded) throw new RunStopped('ended');
    held.mayWaitAgain = false;
  }

  async take(due: DueRun): Promise<TakenRun | null> {
    const { approvals } = this.#deps;
    const key = runKey(due);
    if (approvals === undefined || this.#held.has(key)) return null;
    const found = await takeWaiting({ ...this.#deps, approvals }, this.#instance, due, (generation) => {
      this.#held.set(key, { costs: new Map(), generation, mayWaitAgain: true });
    }).catch((error: unknown) => {
      this.#held.delete(key);
      throw error;
    });
    if (found === null) this.#held.delete(key);
    if (found === null || !('problem' in found)) return found;
    await this.fail(due, found.problem);
    return null;
  }

  async fail(run: RunRef, error: string): Promise<void> {
    const key = runKey(run);
    const generation = this.#generationOf(run);
    const at = this.#deps.clock();
    const end = { ...nothingKnown, error };
    try {
      await this.#untilClosed(
        this.#retrying(
          () => this.#inTurn(run, (owner) => recordEnd(this.#deps, { run, owner, generation, end, at }), null),
          this.#closing.signal,
          Infinity,
        ),
      );
    } finally {
      this.#held.delete(key);
    }
  }

  async giveBack(run: RunRef): Promise<void> {
    const key = runKey(run);
    const generation = this.#generationOf(run);
    try {
      await this.#untilClosed(
        this.#retrying(
          () => this.#inTurn(run, (owner) => recordWaitsAgain(this.#deps, { run, owner, generation }), undefined),
          this.#closing.signal,
        ),
      );
    } finally {
      // If it could not be recorded, `end-abandoned-runs.ts` finds the run and lets it wait again.
      this.#held.delete(key);
    }
  }

  async reserve(run: RunRef, wanted: WantedMoney, signal: AbortSignal = never()): Promise<MoneyReservation> {
    const reservationId = makeId(this.#deps.random);
    const reserving = this.#untilClosed(this.#reserveOrWait(run, reservationId, wanted, signal));
    try {
      return await untilAborted(reserving, signal);
    } catch (error) {
      // The reservation may exist, or may be made later. Its cost is 0, because the call will not happen.
      this.#held.get(runKey(run))?.costs.set(reservationId, 0);
      const release = (late: MoneyReservation) => (late.kind === 'granted' ? this.#recordCost(run, reservationId, 0, signal) : undefined);
      this.#untilClosed(reserving.then(release)).catch(() => undefined);
      throw refused(error);
    }
  }

  async settle(run: RunRef, reservationId: string, cost: number, signal: AbortSignal = never()): Promise<void> {
    const settling = this.#untilClosed(this.#recordCost(run, reservationId, cost, signal));
    await untilAborted(settling, signal).catch((error: unknown) => {
      if (!signal.aborted && !isUnavailable(error)) throw error;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#pending, this.#progress.settled()]);
  }

  #reserveOrWait(run: RunRef, reservationId: string, wanted: WantedMoney, signal: AbortSignal): Promise<MoneyReservation> {
    const generation = this.#generationOf(run);
    const attempt = (what: WantedMoney): Promise<ReserveAttempt> =>
      this.#inTurn(run, (owner) => reserve(this.#deps, { run, owner, generation, reservationId, wanted: what }), { kind: 'ended' });
    const { enough: _, ...atLast } = wanted;
    return reservePatiently((isLast) => this.#retrying(() => attempt(isLast ? atLast : wanted), signal), {
      busyMs: this.#config.busyMs,
      signal,
    });
  }

  async #recordCost(run: RunRef, reservationId: string, cost: number, signal: AbortSignal): Promise<void> {
    const costs = this.#held.get(runKey(run))?.costs;
    costs?.set(reservationId, cost);
    const write = async (): Promise<void> => {
      await this.#inTurn(run, (owner) => settle(this.#deps, { run, owner, reservationId, cost }), undefined);
      costs?.delete(reservationId);
    };
    await this.#retrying(write, signal).catch((reason: unknown) => {
      // Other calls may be waiting for the unspent rest of the reservation, and the run may not end soon. Therefore the
      // write is tried again in the background.
      const later = async (): Promise<void> =>
        this.#held.get(runKey(run))?.costs === costs && costs?.has(reservationId) ? write() : undefined;
      if (isUnavailable(reason)) this.#untilClosed(this.#retrying(later, this.#closing.signal, Infinity)).catch(() => undefined);
      throw reason;
    });
  }

  async #recordEnd(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null> {
    const key = runKey(run);
    const costs = this.#held.get(key)?.costs ?? new Map<string, number>();
    const generation = this.#generationOf(run);
    const at = this.#deps.clock();
    const record = (owner: RunOwner, what: RunEnd) => recordEnd(this.#deps, { run, owner, generation, end: what, costs, at });
    const write = (what: RunEnd) =>
      this.#retrying(() => this.#inTurn(run, (owner) => record(owner, what), null), this.#closing.signal, Infinity);
    try {
      return await write(end).catch((reason: unknown) => {
        if (isUnavailable(reason)) throw reason;
        // The database may reject the texts of the run. It always accepts how the run ended and what it cost, so these
        // are recorded without the texts.
        return write({ ...end, output: '', transcript: [{ role: 'cut' }] });
      });
    } finally {
      this.#held.delete(key);
    }
  }

  async #recordWait(run: RunRef, wait: Wait): Promise<WaitOutcome> {
    const { approvals } = this.#deps;
    if (approvals === undefined) return { kind: 'impossible', why: 'no one can be asked by this process' };
    const key = runKey(run);
    const held = this.#held.get(key);
    if (held === undefined) throw new RunStopped('ended');
    const { costs, generation } = held;
    const waitId = makeId(this.#deps.random);
    const deps = { ...this.#deps, approvals };
    const store = (owner: RunOwner) => recordWaiting(deps, { run, owner, generation, waitId, instance: this.#instance, wait, costs });
    const outcome = await this.#retrying(() => this.#inTurn<WaitOutcome | null>(run, store, null), this.#closing.signal);
    if (outcome === null) throw new RunStopped('ended');
    if (outcome.kind === 'waits') this.#held.delete(key);
    return outcome;
  }

  #generationOf(run: RunRef): number {
    return this.#held.get(runKey(run))?.generation ?? 0;
  }

  /**
   * Calls `work` with the owner of the run, after all earlier work for this owner. Returns `gone` if the run no longer
   * exists.
   */
  async #inTurn<T>(run: RunRef, work: (owner: RunOwner) => Promise<T>, gone: T): Promise<T> {
    const owner = await findRunOwner(this.#deps.pool, run.workspaceId, run.id);
    if (owner === null) return gone;
    let result = gone;
    await this.#takeTurn({ key: `${run.workspaceId} ${owner.sub}`, work: async () => void (result = await work(owner)) });
    return result;
  }

  #retrying<T>(step: () => Promise<T>, signal: AbortSignal, max?: number): Promise<T> {
    return tryAgain(step, { afterMs: this.#config.triesAfterMs, signal, ...(max === undefined ? {} : { max }) });
  }

  /** Makes `close` wait for this work. */
  #untilClosed<T>(work: Promise<T>): Promise<T> {
    const over: Promise<unknown> = Promise.allSettled([work]).then(() => this.#pending.delete(over));
    this.#pending.add(over);
    return work;
  }
}

/**
 * Returns the error that is reported for a failed reservation. If the database is not available, this error is
 * `unavailable`, because the cause is neither a bug nor a failure of the model's provider.
 */
const refused = (reason: unknown): unknown =>
  isUnavailable(reason)
    ? new AppError({
        code: 'unavailable',
        publicMessage: 'the run was ended, because the database could not be reached to reserve money for the run',
        retryAfterSeconds: 5,
        cause: reason,
      })
    : reason;

// Waits a limited time for money that other calls have reserved and not spent.

interface ReserveWait {
  readonly busyMs: number;
  readonly signal: AbortSignal;
}

const askAgainMs = 250;

/**
 * Calls `weigh`, which tries to reserve money, until its result is not `busy`. For the last try, `weigh` is called with
 * true and accepts the amount that is available. Rejects with an abort error when the signal is aborted. A call of
 * `weigh` that is in progress at that time can still grant a reservation.
 */
async function reservePatiently(
  weigh: (isLast: boolean) => Promise<ReserveAttempt>,
  { busyMs, signal }: ReserveWait,
): Promise<MoneyReservation> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const isLast = waitedMs >= busyMs;
    const weighed = await weigh(isLast);
    if (weighed.kind !== 'busy') return weighed;
    if (isLast) return { kind: 'exhausted', bound: weighed.bound };
    await delay(askAgainMs, undefined, { signal });
  }
}

// Retries operations while the database is not available for a moment: a few tries, with increasing waits between them.

interface Tries {
  readonly afterMs: readonly number[];
  /**
   * When the signal is aborted, the tries end. The first try always runs. If the signal is aborted during a wait, one
   * last try begins immediately.
   */
  readonly signal: AbortSignal;
  /**
   * The maximum number of tries after the first. If it is more than the number of waits, the last wait is used for each
   * further try.
   */
  readonly max?: number;
}

/** Calls `step` again while the database is not available. `step` must detect what an earlier try has already done. */
async function tryAgain<T>(step: () => Promise<T>, { afterMs, signal, max = afterMs.length }: Tries): Promise<T> {
  for (let tried = 0; tried < max; tried += 1) {
    try {
      return await step();
    } catch (reason) {
      if (!isUnavailable(reason) || signal.aborted) throw reason;
      await delay(afterMs[Math.min(tried, afterMs.length - 1)], undefined, { signal }).catch(() => undefined);
    }
  }
  return step();
}
