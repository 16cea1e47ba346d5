import { reachesOthers } from '../../access/rules/access.ts';
import { runCursorOf, type RunPosition, type RunSummary } from '../rules/run.ts';
import { listRuns as listStored } from '../store/runs.ts';
import { requireAgent } from '../../agents/operations/read-agents.ts';
import { readOperation } from '../../access/operation.ts';

interface RunQuery {
  readonly agentId: string;
  readonly limit: number;
  /** The parsed `next` of the previous page; null: the first page. */
  readonly before: RunPosition | null;
}

interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** The runs of an agent that the actor can read, newest first. */
export const listRuns = readOperation('run.read', async ({ pool }, actor, { agentId, limit, before }: RunQuery): Promise<RunPage> => {
  await requireAgent(pool, actor.workspaceId, agentId);
  const found = await listStored(pool, actor.workspaceId, agentId, {
    limit: limit + 1,
    before,
    sub: reachesOthers(actor, 'run.read') ? null : actor.sub,
  });
  const runs = found.slice(0, limit);
  const last = runs.at(-1);
  return { runs, ...(last !== undefined && found.length > limit ? { next: runCursorOf(last) } : {}) };
});
