import { checkNewAgent } from '../../domain/agents/agent.ts';
import { makeId } from '../../domain/access/key.ts';
import { accepted } from '../../domain/refusal.ts';
import { insertAgent } from '../../store/agents.ts';
import { writeOperation } from '../operation.ts';

export const createAgent = writeOperation('agent.create', async ({ client, deps, workspaceId, now }, body: unknown) => {
  const fields = accepted(checkNewAgent(body));
  const id = makeId(deps.random);
  await insertAgent(client, workspaceId, { ...fields, id, createdAt: now });
  return { result: { id }, target: `agent/${id}` };
});
