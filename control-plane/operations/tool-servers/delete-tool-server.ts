import { deleteToolServer as deleteStored } from '../../store/tool-servers.ts';
import { writeOperation } from '../operation.ts';
import { requireToolServer } from './read-tool-servers.ts';

/** Its credentials go with it. */
export const deleteToolServer = writeOperation('tool-server.write', async ({ client, workspaceId }, name: string) => {
  await requireToolServer(client, workspaceId, name);
  await deleteStored(client, workspaceId, name);
  return { result: {}, target: `tool-server/${name}`, detail: { change: 'delete' } };
});
