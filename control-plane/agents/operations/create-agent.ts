import { checkNewAgent } from '../rules/agent.ts';
import { makeId } from '../../access/rules/key.ts';
import { accepted } from '../../base/refusal.ts';
import { insertAgent } from '../store.ts';
import { writeOperation } from '../../access/operation.ts';
import { requireCeiling } from './require-ceiling.ts';
import { requireCapacity } from './require-capacity.ts';

export const createAgent = writeOperation('agent.create', async (write, body: unknown) => {
  const { client, deps, workspaceId, now } = write;
  const fields = accepted(checkNewAgent(body));
  await requireCeiling(write, null, fields);
  const id = makeId(deps.random);
  await insertAgent(client, workspaceId, { ...fields, id, createdAt: now });
  await requireCapacity(write, null, fields);
  return { result: { id }, target: `agent/${id}` };
});
