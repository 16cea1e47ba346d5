// A member cannot set fields of an agent above what the workspace permits to members.
import { isLead } from '../../domain/access/access.ts';
import type { AgentFields } from '../../domain/agents/agent.ts';
import { aboveCeiling } from '../../domain/agents/ceiling.ts';
import { looser } from '../../domain/refusal.ts';
import { readDocument } from '../../store/policies.ts';
import type { Write } from '../operation.ts';

/** Throws `forbidden` with each field that is too high and its maximum. `before`: null for a new agent. */
export async function requireCeiling(
  { client, workspaceId, actor }: Pick<Write, 'client' | 'workspaceId' | 'actor'>,
  before: AgentFields | null,
  after: AgentFields,
): Promise<void> {
  if (isLead(actor.role)) return;
  const { agentCeiling = {} } = (await readDocument(client, workspaceId, { layer: 'workspace' })) ?? {};
  const above = aboveCeiling(before, after, agentCeiling);
  if (above.length > 0) throw looser(above);
}
