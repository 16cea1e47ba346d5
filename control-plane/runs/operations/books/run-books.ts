// The money and the records of the runs of this control plane. Operations for one user take turns before they ask for a
// connection. Many operations that start at once can therefore not use all connections to wait for one row.
//
// A run is held from before its begin until its end is recorded, however long the database is not available. The costs
// of its calls are kept here until they are settled. A run of this control plane that is not held any more is abandoned
// (`end-abandoned-runs.ts`).
import { AppError } from '@tollgate/proto/contract';
import { makeId } from '../../../access/rules/key.ts';
import type { WantedMoney } from '../../rules/budget.ts';
import { type RunRef, runKey } from '../../rules/run.ts';
import type { Money, MoneyReservation } from '../../money.ts';
import type { RunEnd, RunRecords } from '../../records.ts';
import { findRunOwner, type RunOwner } from '../../store/runs.ts';
import { isUnavailable } from '../../../base/unavailable.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { inTurnsByKey } from '../../../base/turns.ts';
import { createProgress } from './progress.ts';
import { recordBegin } from './record-begin.ts';
import { recordEnd } from './record-end.ts';
import { reserve, type ReserveAttempt } from './reserve.ts';
import { reservePatiently } from './reserve-patiently.ts';
import { settle } from './settle.ts';
import { tryAgain } from './try-again.ts';

export interface RunBooks {
  readonly money: Money;
  readonly records: RunRecords;
  /** Whether the run has begun, and this process has not recorded its end. */
  readonly holds: (run: RunRef) => boolean;
  /** Call when no run is active. It tries once more to record what could not be recorded. */
  close(): Promise<void>;
}

interface BookDeps extends Pick<OperationDeps, 'pool' | 'clock' | 'random'> {
  /** What a user can spend in a day, in µ¢. */
  readonly dailyCap: number;
}

interface Config {
  /**
   * Waits before each further try, because a database restart must not fail a run. The last wait applies to all further
   * tries to record an end.
   */
  readonly triesAfterMs?: readonly number[];
  /** How long to wait for money that other calls have reserved and not spent. */
  readonly busyMs?: number;
}

const standardTriesAfterMs = [50, 250, 1_000, 2_500];
const standardBusyMs = 30_000;
const never = (): AbortSignal => new AbortController().signal;

/** `instance` is the id of this control plane in its heartbeat (`heartbeat.ts`). */
export function createRunBooks(
  deps: BookDeps,
  instance: string,
  { triesAfterMs = standardTriesAfterMs, busyMs = standardBusyMs }: Config = {},
): RunBooks {
  /** The known but unsettled costs of the calls of each held run, by reservation. */
  const held = new Map<string, Map<string, number>>();
  const progress = createProgress(deps);
  const closing = new AbortController();
  const pending = new Set<Promise<unknown>>();
  const takeTurn = inTurnsByKey(
    ({ key }: { readonly key: string; readonly work: () => Promise<unknown> }) => key,
    ({ work }) => work(),
  );
  const owned = async <T>(run: RunRef, work: (owner: RunOwner) => Promise<T>, gone: T): Promise<T> => {
    const owner = await findRunOwner(deps.pool, run.workspaceId, run.id);
    if (owner === null) return gone;
    let result = gone;
    await takeTurn({ key: `${run.workspaceId} ${owner.sub}`, work: async () => void (result = await work(owner)) });
    return result;
  };
  const patiently = <T>(step: () => Promise<T>, signal: AbortSignal, max?: number): Promise<T> =>
    tryAgain(step, { afterMs: triesAfterMs, signal, ...(max === undefined ? {} : { max }) });
  const kept = <T>(work: Promise<T>): Promise<T> => {
    const over: Promise<unknown> = Promise.allSettled([work]).then(() => pending.delete(over));
    pending.add(over);
    return work;
  };

  const reserveOrWait = (run: RunRef, reservationId: string, wanted: WantedMoney, signal: AbortSignal): Promise<MoneyReservation> => {
    const weigh = (asked: WantedMoney): Promise<ReserveAttempt> =>
      owned(run, (owner) => reserve(deps, { run, owner, reservationId, wanted: asked }), { kind: 'ended' });
    const { enough: _, ...atLast } = wanted;
    return reservePatiently((isLast) => patiently(() => weigh(isLast ? atLast : wanted), signal), { busyMs, signal });
  };

  async function settled(run: RunRef, reservationId: string, cost: number, signal: AbortSignal): Promise<void> {
    const costs = held.get(runKey(run));
    costs?.set(reservationId, cost);
    const write = async (): Promise<void> => {
      await owned(run, (owner) => settle(deps, { run, owner, reservationId, cost }), undefined);
      costs?.delete(reservationId);
    };
    await patiently(write, signal).catch((reason: unknown) => {
      // Other calls may be waiting for the rest of the reservation, and the end of the run may be far away.
      const later = async (): Promise<void> => (held.get(runKey(run)) === costs && costs?.has(reservationId) ? write() : undefined);
      if (isUnavailable(reason)) kept(patiently(later, closing.signal, Infinity)).catch(() => undefined);
      throw reason;
    });
  }

  async function ended(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null> {
    const key = runKey(run);
    const costs = held.get(key) ?? new Map<string, number>();
    const at = deps.clock();
    const write = (what: RunEnd) =>
      patiently(() => owned(run, (owner) => recordEnd(deps, { run, owner, end: what, costs, at }), null), closing.signal, Infinity);
    try {
      return await write(end).catch((reason: unknown) => {
        if (isUnavailable(reason)) throw reason;
        // The database may reject the texts of the run. It always accepts how the run ended and its money.
        return write({ ...end, output: '', transcript: [{ role: 'cut' }] });
      });
    } finally {
      held.delete(key);
    }
  }

  return {
    money: {
      reserve: async (run, wanted, signal = never()): Promise<MoneyReservation> => {
        const reservationId = makeId(deps.random);
        const reserving = kept(reserveOrWait(run, reservationId, wanted, signal));
        try {
          return await untilAborted(reserving, signal);
        } catch (error) {
          // The reservation may exist, or may be made later. Its cost is 0, because the call will not happen.
          held.get(runKey(run))?.set(reservationId, 0);
          const unmade = (late: MoneyReservation) => (late.kind === 'granted' ? settled(run, reservationId, 0, signal) : undefined);
          kept(reserving.then(unmade)).catch(() => undefined);
          throw refused(error);
        }
      },
      settle: async (run, reservationId, cost, signal = never()) => {
        const settling = kept(settled(run, reservationId, cost, signal));
        await untilAborted(settling, signal).catch((error: unknown) => {
          if (!signal.aborted && !isUnavailable(error)) throw error;
        });
      },
    },
    records: {
      begin: async (run) => {
        const key = runKey(run);
        held.set(key, new Map());
        let begun = false;
        try {
          begun = await recordBegin(deps, instance, run);
          return begun;
        } finally {
          if (!begun) held.delete(key);
        }
      },
      update: progress.note,
      end: (run, end) => kept(ended(run, end)),
    },
    holds: (run) => held.has(runKey(run)),
    close: async () => {
      closing.abort();
      await Promise.all([...pending, progress.settled()]);
    },
  };
}

/** A database that is not available is not a bug, and not a failure of the model's provider. */
const refused = (reason: unknown): unknown =>
  isUnavailable(reason)
    ? new AppError({
        code: 'unavailable',
        publicMessage: 'the run was ended: the database could not be reached to reserve money for it',
        retryAfterSeconds: 5,
        cause: reason,
      })
    : reason;
