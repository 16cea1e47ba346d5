// Checks that a member sets no field of an agent above what the workspace permits to members.
import { isLead } from '../../access/rules/access.ts';
import type { AgentFields } from '../rules/agent.ts';
import { aboveCeiling } from '../rules/ceiling.ts';
import { looser } from '../../base/refusal.ts';
import { readDocument } from '../../policies/store/policies.ts';
import type { Write } from '../../access/operation.ts';

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
