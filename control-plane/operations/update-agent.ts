// PUT writes what is there and ignores what it does not know; PATCH is the validated path.
import type { Action } from '../domain/access.ts';
import { type AgentFields, checkAgentPatch, checkAgentUpdate } from '../domain/agent.ts';
import { accepted, type Checked } from '../domain/refusal.ts';
import { updateAgent as updateStored } from '../store/agents.ts';
import { writeOperation } from './operation.ts';
import { requireAgent } from './read-agents.ts';

interface AgentChange {
  readonly id: string;
  readonly body: unknown;
}

const changeBy = (action: Action, check: (body: unknown) => Checked<Partial<AgentFields>>) =>
  writeOperation(action, async ({ client, workspaceId, now }, { id, body }: AgentChange) => {
    await requireAgent(client, workspaceId, id);
    const fields = accepted(check(body));
    await updateStored(client, workspaceId, id, fields, now);
    return { result: {}, target: `agent/${id}`, detail: { fields: Object.keys(fields) } };
  });

export const updateAgent = changeBy('agent.update', checkAgentUpdate);
export const patchAgent = changeBy('agent.patch', checkAgentPatch);
