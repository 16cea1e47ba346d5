import { reachesOthers } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { isId } from '../../access/rules/key.ts';
import { notFound } from '../../base/refusal.ts';
import type { Run } from '../rules/run.ts';
import { findRun } from '../store/runs.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../../access/operation.ts';

export const noSuchRun = () => notFound('there is no such run');

/** Whether the run belongs to the actor, or the actor can read the runs of all subjects. */
export const maySee = (actor: Actor, { sub }: Pick<Run, 'sub'>): boolean => sub === actor.sub || reachesOthers(actor, 'run.read');

/**
 * Reads a run, or throws `not_found`. The message is the same for a run of another subject, for a run of another
 * workspace and for an id that never existed.
 */
export async function requireRun(db: Queryable, actor: Actor, id: string): Promise<Run> {
  const run = isId(id) ? await findRun(db, actor.workspaceId, id) : null;
  if (run === null || !maySee(actor, run)) throw noSuchRun();
  return run;
}

/** Reads a run with its transcript. If the run is still running, the transcript ends with its last round. */
export const readRun = readOperation('run.read', ({ pool }, actor, id: string) => requireRun(pool, actor, id));
