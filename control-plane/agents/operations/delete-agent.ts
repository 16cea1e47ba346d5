import { deleteAgent as deleteStored } from '../store.ts';
import { writeOperation } from '../../access/operation.ts';
import { requireAgent } from './read-agents.ts';

export const deleteAgent = writeOperation('agent.delete', async ({ client, workspaceId }, id: string) => {
  await requireAgent(client, workspaceId, id);
  await deleteStored(client, workspaceId, id);
  return { result: {}, target: `agent/${id}` };
});
