// Reads and replaces the sealed secrets of tool servers, for all workspaces. They are read page by page, and replaced
// only if they have not changed in the meantime.
import type pg from 'pg';
import type { Target } from '../rules/tool-server.ts';
import { targetFromRow } from './tool-servers.ts';
import { patientQuery, type Queryable } from '../../database/transaction.ts';

export interface SealedServer {
  readonly workspaceId: number;
  readonly name: string;
  readonly target: Target;
  readonly sealed: Uint8Array;
}

interface SealedRow {
  readonly workspace_id: string;
  readonly name: string;
  readonly url: string | null;
  readonly program: string | null;
  readonly args: readonly string[];
  readonly secret_names: readonly string[];
  readonly sealed: Buffer;
}

/** Returns the next servers after `after`, in a stable order. Null: starts from the beginning. */
export async function listSealedServers(
  db: Queryable,
  after: Pick<SealedServer, 'workspaceId' | 'name'> | null,
  limit: number,
): Promise<readonly SealedServer[]> {
  const list = `select workspace_id, name, url, program, args, secret_names, sealed from tool_server
    where sealed is not null and (workspace_id, name) > ($1::bigint, $2) order by workspace_id, name limit $3`;
  const { rows } = await db.query<SealedRow>(patientQuery(list, [after?.workspaceId ?? 0, after?.name ?? '', limit]));
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), name: row.name, target: targetFromRow(row), sealed: row.sealed }));
}

/**
 * Replaces the secrets in rows that have not changed since they were read. Returns the number of these rows. A row that
 * has changed since then keeps its present secrets.
 */
export async function updateSealedServers(
  client: pg.PoolClient,
  changes: readonly (SealedServer & { readonly resealedBytes: Uint8Array })[],
): Promise<number> {
  const workspaceIds = changes.map(({ workspaceId }) => workspaceId);
  // Every write locks the workspace first. This code locks in the same order, which prevents deadlocks with writes and
  // with other processes that encrypt again.
  await client.query('select from workspace where id = any($1::bigint[]) order by id for no key update', [workspaceIds]);
  const { rowCount } = await client.query(
    `update tool_server set sealed = changed.resealed_bytes
     from unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[]) as changed(workspace_id, name, sealed, resealed_bytes)
     where tool_server.workspace_id = changed.workspace_id and tool_server.name = changed.name and tool_server.sealed = changed.sealed`,
    [workspaceIds, changes.map(({ name }) => name), changes.map(({ sealed }) => sealed), changes.map(({ resealedBytes }) => resealedBytes)],
  );
  return rowCount ?? 0;
}
