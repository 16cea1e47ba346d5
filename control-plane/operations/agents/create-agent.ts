import { checkNewAgent } from '../../domain/agents/agent.ts';
import { makeId } from '../../domain/access/key.ts';
import { accepted } from '../../domain/refusal.ts';
import { insertAgent } from '../../store/agents.ts';
import { writeOperation } from '../operation.ts';
import { requireCeiling } from './require-ceiling.ts';
import { requireRoom } from './require-room.ts';

export const createAgent = writeOperation('agent.create', async (write, body: unknown) => {
  const { client, deps, workspaceId, now } = write;
  const fields = accepted(checkNewAgent(body));
  await requireCeiling(write, null, fields);
  const id = makeId(deps.random);
  await insertAgent(client, workspaceId, { ...fields, id, createdAt: now });
  await requireRoom(write, null, fields);
  return { result: { id }, target: `agent/${id}` };
});
