// A chore of every control plane, at start and then every few seconds: runs whose control plane has gone silent are failed, and
// what was put aside for them is spent. Safe to do by several at once: each run is looked at again once it is locked.
import { died, lost, type RunRef } from '../../../domain/runs/run.ts';
import { reasonOf } from '../../../loggable.ts';
import { deleteSilentInstances, findOrphans, findRunsOf, isOrphan } from '../../../store/run-instances.ts';
import { findRunOwner, type StoredEnd } from '../../../store/runs.ts';
import { inTransaction, type Queryable } from '../../../store/transaction.ts';
import type { Deps } from '../../operation.ts';
import { endOnce } from '../books/record-end.ts';

/** Heartbeats come every second: whoever misses so many is dead, frozen, or without the database. */
const silenceMs = 15_000;
const forgetMs = 3_600_000;
/** The others wait for the next turn. */
const runsMax = 1_000;

const nothingKnown: Omit<StoredEnd, 'at' | 'error'> = {
  status: 'failed',
  stopReason: null,
  output: '',
  promptTokens: null,
  completionTokens: null,
  toolCalls: null,
  rounds: null,
  transcript: undefined,
};

interface MendDeps extends Pick<Deps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void };
}

/** The control plane that mends: of its own runs it need not guess. */
interface Self {
  readonly instance: string;
  /** Whether it goes on with the run, or is about to record its end. */
  readonly holds: (run: RunRef) => boolean;
  /** Whether the silence of others is theirs (heart.ts). */
  readonly isSteady: () => boolean;
}

/** A run that nobody goes on with; `stillIs` is asked again once it is locked. */
interface Left {
  readonly run: RunRef;
  readonly error: string;
  readonly stillIs: (client: Queryable) => Promise<boolean>;
}

/** How many were failed. */
export async function mendRuns(deps: MendDeps, self: Self | null = null): Promise<number> {
  const { pool, log } = deps;
  let mended = 0;
  const silent = self === null || self.isSteady() ? await findLeft(pool) : [];
  for (const left of [...silent, ...(self === null ? [] : await findLost(pool, self))]) {
    try {
      if (await failRun(deps, left)) mended += 1;
    } catch (error) {
      log.warn({ run: left.run.id, reason: reasonOf(error) }, 'a run that was left behind could not be ended yet');
    }
  }
  if (mended > 0) log.warn({ runs: mended }, 'ended runs that were left behind');
  await deleteSilentInstances(pool, forgetMs);
  return mended;
}

const findLeft = async (db: Queryable): Promise<readonly Left[]> =>
  (await findOrphans(db, silenceMs, runsMax)).map((run) => ({ run, error: died, stillIs: (client) => isOrphan(client, run, silenceMs) }));

/** Begun without our hearing of it, or ended in a way that could not be recorded. */
async function findLost(db: Queryable, { instance, holds }: Self): Promise<readonly Left[]> {
  const running = await findRunsOf(db, instance);
  return running.filter((run) => !holds(run)).map((run) => ({ run, error: lost, stillIs: () => Promise.resolve(!holds(run)) }));
}

async function failRun({ pool, clock }: MendDeps, { run, error, stillIs }: Left): Promise<boolean> {
  const owner = await findRunOwner(pool, run.workspaceId, run.id);
  if (owner === null) return false;
  const ending = { run, owner, end: { ...nothingKnown, error }, at: clock() };
  return inTransaction(pool, (client) => endOnce(client, ending, () => stillIs(client)));
}
