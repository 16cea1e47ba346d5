import type { Agent } from '../rules/agent.ts';
import { agentCursorOf, type AgentPosition } from '../rules/agent-position.ts';
import { isId } from '../../access/rules/key.ts';
import { oneMore, pageOf, type PageWanted } from '../../base/page.ts';
import { notFound } from '../../base/refusal.ts';
import { findAgent, listPositionedAgents } from '../store.ts';
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

interface AgentPage {
  readonly agents: readonly Agent[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Lists the agents of the workspace, newest first. */
export const listAgents = readOperation(
  'agent.read',
  async ({ pool }, actor, { limit, after }: PageWanted<AgentPosition>): Promise<AgentPage> => {
    const found = await listPositionedAgents(pool, actor.workspaceId, { limit: oneMore(limit), after });
    const { items, ...rest } = pageOf(found, limit, ({ position }) => agentCursorOf(position));
    return { agents: items.map(({ agent }) => agent), ...rest };
  },
);

export const readAgent = readOperation('agent.read', ({ pool }, actor, id: string) => requireAgent(pool, actor.workspaceId, id));
