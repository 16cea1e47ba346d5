import { isServerName } from '@tollgate/proto/contract';
import { deleteToolServer as deleteStored } from '../store/tool-servers.ts';
import { writeOperation } from '../../access/operation.ts';
import { refuseMissing } from './read-tool-servers.ts';

/** Deletes the server together with its credentials. */
export const deleteToolServer = writeOperation('tool-server.write', async ({ client, workspaceId }, name: string) => {
  if (!isServerName(name) || !(await deleteStored(client, workspaceId, name))) refuseMissing();
  return { result: {}, target: `tool-server/${name}`, detail: { change: 'delete' } };
});
