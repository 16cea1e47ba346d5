// The money and the records of the runs of this control plane. Runs of one user take turns before they ask for a connection, so
// that however many begin at once, they do not take all that there are to wait for one row.
//
// A run is held from before it begins until its end is recorded, however long the database is away; what its calls cost is known
// here until it is settled. A run of this control plane that is not held any more is nobody's (mend-runs.ts).
import { AppError } from '@tollgate/proto/contract';
import { makeId } from '../../../domain/access/key.ts';
import type { Wanted } from '../../../domain/runs/budget.ts';
import { type RunRef, runKey } from '../../../domain/runs/run.ts';
import type { Money, Reserved } from '../../../runs/money.ts';
import type { RunEnd, RunRecords } from '../../../runs/records.ts';
import { findRunOwner, type RunOwner } from '../../../store/runs.ts';
import { isUnavailable } from '../../../store/unavailable.ts';
import { untilAborted } from '../../../until-aborted.ts';
import type { Deps } from '../../operation.ts';
import { inTurnsByKey } from '../../turns.ts';
import { createProgress } from './progress.ts';
import { recordBegin } from './record-begin.ts';
import { recordEnd } from './record-end.ts';
import { reserve, type Weighed } from './reserve.ts';
import { reservePatiently } from './reserve-patiently.ts';
import { settle } from './settle.ts';
import { tryAgain } from './try-again.ts';

export interface RunBooks {
  readonly money: Money;
  readonly records: RunRecords;
  /** Whether it is begun and not recorded as ended here. */
  readonly holds: (run: RunRef) => boolean;
  /** Call when no run goes on any more: what could not be recorded is tried once more. */
  close(): Promise<void>;
}

interface BookDeps extends Pick<Deps, 'pool' | 'clock' | 'random'> {
  /** What a user may spend in a day, in µ¢. */
  readonly dailyCap: number;
}

interface Config {
  /** Waits before the further tries: a database that restarts is worth no run. The last one for every further try of an end. */
  readonly triesAfterMs?: readonly number[];
  /** How long to wait for money that others have put aside, and have not spent. */
  readonly busyMs?: number;
}

const standardTriesAfterMs = [50, 250, 1_000, 2_500];
const standardBusyMs = 30_000;
const never = (): AbortSignal => new AbortController().signal;

/** `instance`: how the heart of this control plane is known (heart.ts). */
export function createRunBooks(
  deps: BookDeps,
  instance: string,
  { triesAfterMs = standardTriesAfterMs, busyMs = standardBusyMs }: Config = {},
): RunBooks {
  /** What calls of each held run cost, by reservation, as far as it is known and not settled. */
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

  const reserveOrWait = (run: RunRef, reservationId: string, wanted: Wanted, signal: AbortSignal): Promise<Reserved> => {
    const weigh = (asked: Wanted): Promise<Weighed> =>
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
      // Others may be waiting for what is left of it, and the run's end be far.
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
        // What was said is what a database may refuse; how the run ended, and its money, it takes.
        return write({ ...end, output: '', transcript: [{ role: 'cut' }] });
      });
    } finally {
      held.delete(key);
    }
  }

  return {
    money: {
      reserve: async (run, wanted, signal = never()): Promise<Reserved> => {
        const reservationId = makeId(deps.random);
        const reserving = kept(reserveOrWait(run, reservationId, wanted, signal));
        try {
          return await untilAborted(reserving, signal);
        } catch (error) {
          // It may have been made, or yet be: nothing will be asked for it.
          held.get(runKey(run))?.set(reservationId, 0);
          const unmade = (late: Reserved) => (late.kind === 'granted' ? settled(run, reservationId, 0, signal) : undefined);
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

/** A database that stays away is no bug of ours, nor a failing of the model's provider. */
const refused = (reason: unknown): unknown =>
  isUnavailable(reason)
    ? new AppError({
        code: 'unavailable',
        publicMessage: 'the run was ended: the database could not be reached to put money aside for it',
        retryAfterSeconds: 5,
        cause: reason,
      })
    : reason;
