import { reachesOthers } from '../../domain/access/access.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { isId } from '../../domain/access/key.ts';
import { notFound } from '../../domain/refusal.ts';
import type { Run } from '../../domain/runs/run.ts';
import { findRun } from '../../store/runs.ts';
import type { Queryable } from '../../store/transaction.ts';
import { readOperation } from '../operation.ts';

export const noSuchRun = () => notFound('there is no such run');

/** Whether it is the actor's, or the actor may read everybody's. */
export const maySee = (actor: Actor, { sub }: Pick<Run, 'sub'>): boolean => sub === actor.sub || reachesOthers(actor, 'run.read');

/** Throws `not_found`, in one text for a run that is somebody else's, for one of another workspace and for one that never was. */
export async function requireRun(db: Queryable, actor: Actor, id: string): Promise<Run> {
  const run = isId(id) ? await findRun(db, actor.workspaceId, id) : null;
  if (run === null || !maySee(actor, run)) throw noSuchRun();
  return run;
}

/** With its transcript; of one that goes on, as of its last round. */
export const readRun = readOperation('run.read', ({ pool }, actor, id: string) => requireRun(pool, actor, id));
