import { isServerName } from '@tollgate/proto/contract';
import { notFound } from '../../base/refusal.ts';
import type { ListedToolServer, ToolServer } from '../rules/tool-server.ts';
import { findToolServer, listToolServers as listStored } from '../store/tool-servers.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../../access/operation.ts';

/**
 * Returns the server, or throws `not_found`. The message is the same for a server of another workspace and for one that
 * never existed.
 */
async function requireToolServer(db: Queryable, workspaceId: number, name: string): Promise<ToolServer> {
  return (isServerName(name) ? await findToolServer(db, workspaceId, name) : null) ?? refuseMissing();
}

export function refuseMissing(): never {
  throw notFound('there is no such tool server');
}

/**
 * Returns the servers, sorted by name. The result never contains the values of headers and variables, or the schemas of
 * tools.
 */
export const listToolServers = readOperation(
  'tool-server.read',
  ({ pool }, actor): Promise<readonly ListedToolServer[]> => listStored(pool, actor.workspaceId),
);

export const readToolServer = readOperation('tool-server.read', ({ pool }, actor, name: string) =>
  requireToolServer(pool, actor.workspaceId, name),
);
