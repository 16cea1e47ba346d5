import { isServerName } from '@tollgate/proto/contract';
import { cursorOfText, type PageWanted, textInCursor } from '../../base/page.ts';
import { notFound } from '../../base/refusal.ts';
import { type ListedToolServer, type ToolServer, toolServerBounds } from '../rules/tool-server.ts';
import { findToolServer, listToolServers as listStored, listToolServersAfter } from '../store/tool-servers.ts';
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

interface ToolServerPage {
  readonly servers: readonly ListedToolServer[];
  /** Absent on the last page. */
  readonly next?: string;
}

/**
 * Lists the servers by name. The result never contains the values of headers and variables, or the schemas of tools. The
 * position is a name.
 */
export const listToolServers = readOperation(
  'tool-server.read',
  async ({ pool }, { workspaceId }, { limit, after }: PageWanted<string>): Promise<ToolServerPage> => {
    // There are at most 100.
    const { servers, more } = await (limit === null && after === null
      ? { servers: await listStored(pool, workspaceId), more: false }
      : listToolServersAfter(pool, workspaceId, { limit: limit ?? toolServerBounds.serversInWorkspace, after }));
    const last = servers.at(-1);
    return { servers, ...(last !== undefined && more ? { next: cursorOfText(last.name) } : {}) };
  },
);

export const parseToolServerCursor = (cursor: string): string | null => textInCursor(cursor, isServerName);

export const readToolServer = readOperation('tool-server.read', ({ pool }, actor, name: string) =>
  requireToolServer(pool, actor.workspaceId, name),
);
