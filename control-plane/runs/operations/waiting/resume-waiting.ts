// Resumes the runs that have waited for persons. Every control plane looks once a second, and at once when an approval has
// changed. A run whose question was answered, that was cancelled or whose workspace is frozen is taken by one of them.
//
// States: looking, and closed (final): no further run is taken.
import { AppError } from '@tollgate/proto/contract';
import { loggable } from '../../../base/loggable.ts';
import type { Seats } from '../../../base/turns.ts';
import { isUnavailable } from '../../../base/unavailable.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { type RunRef, silenceMs } from '../../rules/run.ts';
import { type Runner, waitsElsewhere } from '../../runner.ts';
import { type DueRun, listDue, listNotWaiting, releaseReader } from '../../store/waiting-runs.ts';
import type { RunBooks } from '../books/run-books.ts';

interface ResumeDeps extends Pick<OperationDeps, 'pool'> {
  readonly approvals: Pick<OperationDeps['approvals'], 'changes'>;
  readonly books: Pick<RunBooks, 'take' | 'fail' | 'giveBack'>;
  readonly runner: Pick<Runner, 'resume' | 'followed' | 'unfollow' | 'isActive' | 'isDraining'>;
  /** The places for root runs, by workspace. */
  readonly seats: Seats<number>;
  readonly instance: string;
  readonly log: { warn(fields: object, message: string): void };
}

export interface Resuming {
  /** Looks for runs that can continue, and resumes them. Resolves when they were taken. */
  look(): Promise<void>;
  /** No further run is taken, and other control planes may take those whose events are read here. */
  close(): Promise<void>;
}

/** The last event of a client whose run was cancelled while it waited, or could not be read. */
const endedWaiting = 'the run was ended while it waited for a person; read it at /api/v1/runs/';

const standardLookMs = 1_000;
/** The maximum number of runs that one look finds. */
const dueMax = 200;

export function startResuming(deps: ResumeDeps, lookMs = standardLookMs): Resuming {
  const resuming = new RunResuming(deps);
  const timer = setInterval(() => void resuming.look(), lookMs);
  const unsubscribe = deps.approvals.changes.onChange(() => void resuming.look());
  return {
    look: () => resuming.look(),
    close: async () => {
      clearInterval(timer);
      unsubscribe();
      await resuming.close();
    },
  };
}

class RunResuming {
  readonly #deps: ResumeDeps;
  #looking: Promise<void> | null = null;
  #isDue = false;
  #isClosed = false;

  constructor(deps: ResumeDeps) {
    this.#deps = deps;
  }

  /** One look at a time. What becomes due meanwhile is found by one look after it. */
  look(): Promise<void> {
    this.#isDue = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
    await releaseReader(this.#deps.pool, this.#deps.instance).catch((error: unknown) => this.#warn(error));
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      await this.#lookOnce().catch((error: unknown) => this.#warn(error));
    }
  }

  async #lookOnce(): Promise<void> {
    const { pool, instance, runner } = this.#deps;
    for (const due of await listDue(pool, instance, silenceMs, dueMax)) if (!this.#isClosed && !runner.isDraining) await this.#resume(due);
    // A run that is active here may wait again before the answer of the database arrives.
    const followed = runner.followed().filter((run) => !runner.isActive(run));
    for (const gone of await listNotWaiting(pool, followed))
      runner.unfollow(gone, `${gone.isRunning ? waitsElsewhere : endedWaiting}${gone.id}`);
  }

  async #resume(due: DueRun): Promise<void> {
    const { books, runner, seats } = this.#deps;
    if (runner.isActive(due)) return;
    const seat = seats.take(due.workspaceId);
    if ('taken' in seat) return;
    let isTaken = false;
    try {
      const taken = await books.take(due);
      if (taken === null) return;
      isTaken = true;
      void runner
        .resume(taken, (error) => this.#notResumed(taken.run, error))
        .catch((error: unknown) => this.#warnOf(due, error, 'a run that waited for a person has failed, or it waits again'))
        .finally(() => seat.leave());
    } catch (error) {
      this.#warnOf(due, error, 'a run that waited for a person could not be resumed yet');
    } finally {
      if (!isTaken) seat.leave();
    }
  }

  /** A reason that passes must not end a run that a person has answered. This or another process takes it again. */
  async #notResumed(run: RunRef, error: unknown): Promise<'ended' | 'waits'> {
    if (passes(error)) await this.#deps.books.giveBack(run);
    else await this.#deps.books.fail(run, AppError.from(error).publicMessage);
    return passes(error) ? 'waits' : 'ended';
  }

  #warnOf({ id }: DueRun, error: unknown, what: string): void {
    this.#deps.log.warn({ ...loggable(error), run: id }, what);
  }

  #warn(error: unknown): void {
    if (!this.#isClosed) this.#deps.log.warn({ ...loggable(error) }, 'runs that wait for persons could not be read');
  }
}

/** Whether the same can succeed later: a policy that has not arrived, a database that is not available, a process that stops. */
const passes = (error: unknown): boolean => (error instanceof AppError ? error.code === 'unavailable' : isUnavailable(error));
