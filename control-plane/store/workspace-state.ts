// A workspace as the compiler takes it, all at one revision.
import type pg from 'pg';
import type { WorkspaceState } from '../compile/state.ts';
import { unauthenticated } from '../domain/refusal.ts';
import { listAgents } from './agents.ts';
import { readDeployment } from './deployment.ts';
import { listStandingKeys } from './keys.ts';
import { listMembers } from './members.ts';
import { listDocuments } from './policies.ts';
import { inTransaction, type Queryable } from './transaction.ts';
import { findWorkspace } from './workspaces.ts';

/** One read-only transaction, so that all parts are of the same revision. Refuses where there is no such workspace. */
export function readWorkspaceState(pool: pg.Pool, workspaceId: number): Promise<WorkspaceState> {
  return inTransaction(pool, (client) => collectWorkspaceState(client, workspaceId), 'read');
}

/** The same within a transaction that holds the workspace's row, where nothing else can write. */
export async function collectWorkspaceState(db: Queryable, workspaceId: number): Promise<WorkspaceState> {
  const workspace = await findWorkspace(db, workspaceId);
  const deployment = await readDeployment(db);
  if (workspace === null || deployment === null) throw unauthenticated('the workspace of this key is gone');
  return {
    workspace: workspace.slug,
    epoch: deployment.epoch,
    revision: workspace.revision,
    frozen: workspace.frozen,
    documents: await listDocuments(db, workspaceId),
    agents: await listAgents(db, workspaceId),
    members: await listMembers(db, workspaceId),
    keys: await listStandingKeys(db, workspaceId),
    servers: [],
  };
}
