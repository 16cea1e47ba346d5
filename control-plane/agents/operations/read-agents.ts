import type { Agent } from '../rules/agent.ts';
import { isId } from '../../access/rules/key.ts';
import { notFound } from '../../base/refusal.ts';
import { findAgent, listAgents as listStored } from '../store.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../../access/operation.ts';

/**
 * Returns an agent; throws `not_found`. The message is the same for an id of another workspace and for an id that never
 * existed.
 */
export async function requireAgent(db: Queryable, workspaceId: number, id: string): Promise<Agent> {
  const agent = isId(id) ? await findAgent(db, workspaceId, id) : null;
  if (agent === null) throw notFound('there is no such agent');
  return agent;
}

/** Lists the agents of the workspace, newest first. */
export const listAgents = readOperation('agent.read', ({ pool }, actor): Promise<readonly Agent[]> => listStored(pool, actor.workspaceId));

export const readAgent = readOperation('agent.read', ({ pool }, actor, id: string) => requireAgent(pool, actor.workspaceId, id));
