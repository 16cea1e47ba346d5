// A workspace as the compiler takes it, all at one revision.
import type pg from 'pg';
import type { WorkspaceState } from '../compile/state.ts';
import { listAgents } from './agents.ts';
import { readDeployment } from './deployment.ts';
import { listStandingKeys } from './keys.ts';
import { listMembers } from './members.ts';
import { listDocuments } from './policies.ts';
import { listWorkspaceServers } from './tool-servers.ts';
import { readPatiently } from './patience.ts';
import { beginRead, patiently, type Queryable } from './transaction.ts';
import { findWorkspace } from './workspaces.ts';

/**
 * One read-only transaction, so that all parts are of the same revision; with patience, since a workspace may be large.
 * Null where the workspace is gone.
 */
export function readWorkspaceState(pool: pg.Pool, workspaceId: number): Promise<WorkspaceState | null> {
  return readPatiently(pool, async (client) => {
    await client.query(beginRead);
    const state = await findState(patiently(client), workspaceId);
    await client.query('commit');
    return state;
  });
}

/** The same within a transaction that holds the workspace's row, where nothing else can write. */
export async function collectWorkspaceState(db: Queryable, workspaceId: number): Promise<WorkspaceState> {
  const state = await findState(db, workspaceId);
  if (state === null) throw new Error('a workspace whose row is held is gone');
  return state;
}

async function findState(db: Queryable, workspaceId: number): Promise<WorkspaceState | null> {
  const workspace = await findWorkspace(db, workspaceId);
  if (workspace === null) return null;
  const deployment = await readDeployment(db);
  if (deployment === null) throw new Error('the database holds workspaces and no epoch');
  return {
    workspace: workspace.slug,
    epoch: deployment.epoch,
    revision: workspace.revision,
    frozen: workspace.frozen,
    documents: await listDocuments(db, workspaceId),
    agents: await listAgents(db, workspaceId),
    members: await listMembers(db, workspaceId),
    keys: await listStandingKeys(db, workspaceId),
    servers: await listWorkspaceServers(db, workspaceId),
  };
}
