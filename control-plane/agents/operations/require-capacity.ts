// Limits the number of agents of a workspace and their total size. The check runs after a write, in its transaction, so
// a refusal rolls the write back.
import { agentBounds, type AgentFields } from '../rules/agent.ts';
import { conflict } from '../../base/refusal.ts';
import { measureAgents } from '../store.ts';
import type { Write } from '../../access/operation.ts';

const { inWorkspace, bytesInWorkspace } = agentBounds;

/**
 * Throws `conflict` if the write makes the agents too many or too large. A change that does not make its agent larger
 * is always accepted. So if an older version stored more than the bounds permit, the workspace can be reduced again.
 * `before`: null for a new agent.
 */
export async function requireCapacity(
  { client, workspaceId }: Pick<Write, 'client' | 'workspaceId'>,
  before: AgentFields | null,
  after: AgentFields,
): Promise<void> {
  if (before !== null && sizeOf(after) <= sizeOf(before)) return;
  const { count, bytes } = await measureAgents(client, workspaceId);
  if (before === null && count > inWorkspace)
    throw conflict(`a workspace has at most ${inWorkspace} agents; delete one that is not needed`);
  if (bytes > bytesInWorkspace) {
    throw conflict(
      `the agents of a workspace may hold ${bytesInWorkspace} bytes of text together, with this one they would hold ${bytes}; ` +
        'shorten prompts, descriptions or lists of tools, or delete agents that are not needed',
    );
  }
}

/**
 * Returns the size of the fields that `measureAgents` also measures. Caps and switches are not included, so they can
 * always be changed.
 */
const sizeOf = ({ name, model, systemPrompt, description, icon, enabledTools, scopes }: AgentFields): number =>
  Buffer.byteLength(JSON.stringify([name, model, systemPrompt, description, icon, enabledTools, scopes]));
