import { notFound } from '../../domain/refusal.ts';
import type { ToolServer } from '../../domain/tool-servers/tool-server.ts';
import { findToolServer, listToolServers as listStored } from '../../store/tool-servers.ts';
import type { Queryable } from '../../store/transaction.ts';
import { readOperation } from '../operation.ts';

/** Throws `not_found`, in one text for a server of another workspace and for one that never was. */
export async function requireToolServer(db: Queryable, workspaceId: number, name: string): Promise<ToolServer> {
  return (await findToolServer(db, workspaceId, name)) ?? refuseMissing();
}

export function refuseMissing(): never {
  throw notFound('there is no such tool server');
}

/** By name; never the values of headers and variables. */
export const listToolServers = readOperation(
  'tool-server.read',
  ({ pool }, actor): Promise<readonly ToolServer[]> => listStored(pool, actor.workspaceId),
);

export const readToolServer = readOperation('tool-server.read', ({ pool }, actor, name: string) =>
  requireToolServer(pool, actor.workspaceId, name),
);
