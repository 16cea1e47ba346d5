// The agents of a workspace have a number and a size together. Asked after a write, in its transaction: what is refused is undone.
import { agentBounds, type AgentFields } from '../../domain/agents/agent.ts';
import { conflict } from '../../domain/refusal.ts';
import { measureAgents } from '../../store/agents.ts';
import type { Write } from '../operation.ts';

const { inWorkspace, bytesInWorkspace } = agentBounds;

/**
 * Throws `conflict` where the write made them too many or too large. A change that makes its agent no larger always passes: a workspace
 * that holds more than it may, since it was written by an older version, can be brought back within its bounds. `before`: null for a
 * new agent.
 */
export async function requireRoom(
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

/** Of what `measureAgents` measures, and no cap or switch: those can be set wherever the agent was written. */
const sizeOf = ({ name, model, systemPrompt, description, icon, enabledTools, scopes }: AgentFields): number =>
  Buffer.byteLength(JSON.stringify([name, model, systemPrompt, description, icon, enabledTools, scopes]));
