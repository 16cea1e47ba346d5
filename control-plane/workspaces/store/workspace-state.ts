// Reads a workspace in the form that the compiler uses, all at one revision.
import type { RevisionName } from '@tollgate/proto/contract';
import type pg from 'pg';
import type { TouchedEntry, WorkspaceRead, WorkspaceState } from '../rules.ts';
import { listAgents } from '../../agents/store.ts';
import { readDeployment } from '../../database/deployment.ts';
import { listStandingKeys } from '../../access/store/keys.ts';
import { listMembers } from '../../access/store/members.ts';
import { findDocuments, listDocuments } from '../../policies/store/policies.ts';
import { listWorkspaceServers } from '../../tool-servers/store/tool-servers.ts';
import { readPatiently } from '../../database/patience.ts';
import { beginRead, patiently, type Queryable } from '../../database/transaction.ts';
import { listLately, listTouched } from './workspace-changes.ts';
import { findWorkspace } from './workspaces.ts';

/**
 * Returns the whole state. Null: the workspace no longer exists. It uses one read-only transaction, so that all parts
 * are from the same revision. The transaction has a longer timeout than usual, because a workspace can be large.
 */
export function readWorkspaceState(pool: pg.Pool, workspaceId: number): Promise<WorkspaceState | null> {
  return readPatiently(pool, async (client) => {
    await client.query(beginRead);
    const state = await findState(patiently(client), workspaceId);
    await client.query('commit');
    return state;
  });
}

/**
 * Reads the whole state within the caller's transaction, which must hold the lock on the workspace's row. So no other
 * process can write to the workspace during the read.
 */
export async function collectWorkspaceState(db: Queryable, workspaceId: number): Promise<WorkspaceState> {
  const state = await findState(db, workspaceId);
  if (state === null) throw new Error('the caller must hold the lock on the row of the workspace, but the workspace does not exist');
  return state;
}

/**
 * Reads the changes since `since`, in one read-only transaction. If these changes are not known or are too many, it
 * reads the whole workspace. `since`: null if the reader holds no revision. Returns null if the workspace no longer
 * exists.
 */
export function readWorkspace(pool: pg.Pool, workspaceId: number, since: RevisionName | null): Promise<WorkspaceRead | null> {
  return readPatiently(pool, async (client) => {
    await client.query(beginRead);
    const read = await findSince(patiently(client), workspaceId, since);
    await client.query('commit');
    return read;
  });
}

type Head = Pick<WorkspaceState, 'workspace' | 'workspaceId' | 'epoch' | 'revision' | 'frozen'>;

async function findSince(db: Queryable, workspaceId: number, since: RevisionName | null): Promise<WorkspaceRead | null> {
  const head = await findHead(db, workspaceId);
  if (head === null) return null;
  const { known, ...state } = head;
  const ahead = since !== null && since.epoch === head.epoch && since.number >= known && since.number <= head.revision;
  const touched = ahead ? await listTouched(db, workspaceId, since.number) : null;
  if (touched !== null) return { kind: 'changes', state: { ...state, ...(await findParts(db, workspaceId, touched)) }, touched };
  return { kind: 'whole', state: { ...state, ...(await findAll(db, workspaceId)) }, ...(await listLately(db, workspaceId, known)) };
}

async function findHead(db: Queryable, workspaceId: number): Promise<(Head & { readonly known: number }) | null> {
  const workspace = await findWorkspace(db, workspaceId);
  if (workspace === null) return null;
  const deployment = await readDeployment(db);
  if (deployment === null) throw new Error('the table "deployment" of the database must have a row with the epoch, but it has no row');
  const { slug, randomId, revision, frozen, changesFrom } = workspace;
  return { workspace: slug, workspaceId: randomId, epoch: deployment.epoch, revision, frozen, known: changesFrom };
}

async function findState(db: Queryable, workspaceId: number): Promise<WorkspaceState | null> {
  const head = await findHead(db, workspaceId);
  if (head === null) return null;
  const { known: _, ...state } = head;
  return { ...state, ...(await findAll(db, workspaceId)) };
}

const findAll = async (db: Queryable, workspaceId: number): Promise<Omit<WorkspaceState, keyof Head>> => ({
  documents: await listDocuments(db, workspaceId),
  agents: await listAgents(db, workspaceId),
  members: await listMembers(db, workspaceId),
  keys: await listStandingKeys(db, workspaceId),
  servers: await listWorkspaceServers(db, workspaceId),
});

/** Reads the touched entries of each kind. Makes no query for a kind without touched entries. */
async function findParts(db: Queryable, workspaceId: number, touched: readonly TouchedEntry[]): Promise<Omit<WorkspaceState, keyof Head>> {
  const of = <T>(prefix: string, find: (names: readonly string[]) => Promise<readonly T[]>): Promise<readonly T[]> => {
    const names = touched.filter(({ key }) => key.startsWith(prefix)).map(({ key }) => key.slice(prefix.length));
    return names.length === 0 ? Promise.resolve([]) : find([...new Set(names)]);
  };
  return {
    documents: await of('document/', (keys) => findDocuments(db, workspaceId, keys)),
    agents: await of('agent/', (ids) => listAgents(db, workspaceId, ids)),
    members: await of('member/', (uids) => listMembers(db, workspaceId, uids)),
    keys: await of('key/', (ids) => listStandingKeys(db, workspaceId, ids)),
    servers: await of('server/', (names) => listWorkspaceServers(db, workspaceId, names)),
  };
}
