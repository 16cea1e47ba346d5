// Reads policy documents as they are stored. The result is `{}` if no document is set.
import type { DocumentId, Role } from '@tollgate/proto/contract';
import type { PolicyDocument } from '@tollgate/sidecar/engine/compile';
import { requireAccessTo } from '../../access/rules/access.ts';
import { mergedUserView } from '../rules/user-policy.ts';
import { listDocuments, readDocument } from '../store/policies.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../../access/operation.ts';

const orEmpty = async (document: Promise<PolicyDocument | null>): Promise<PolicyDocument> => (await document) ?? {};

export const readWorkspacePolicy = readOperation('workspace-policy.read', ({ pool }, actor) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'workspace' })),
);

export const readRolePolicy = readOperation('role-policy.read', ({ pool }, actor, role: Role) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'role', role })),
);

export const readAgentTypePolicy = readOperation('agent-type-policy.read', ({ pool }, actor, agentType: string) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'agent-type', agentType })),
);

const nameOf = (id: DocumentId): string => (id.layer === 'role' ? id.role : id.layer === 'agent-type' ? id.agentType : '');

const listLayer = async (
  db: Queryable,
  workspaceId: number,
  layer: 'role' | 'agent-type',
): Promise<Readonly<Record<string, PolicyDocument>>> =>
  Object.fromEntries((await listDocuments(db, workspaceId, layer)).map(({ id, document }) => [nameOf(id), document]));

export const listRolePolicies = readOperation('role-policy.list', ({ pool }, actor) => listLayer(pool, actor.workspaceId, 'role'));
export const listAgentTypePolicies = readOperation('agent-type-policy.list', ({ pool }, actor) =>
  listLayer(pool, actor.workspaceId, 'agent-type'),
);

/** The two parts of a user's document. */
export async function readUserParts(db: Queryable, workspaceId: number, uid: string) {
  const organisation = await readDocument(db, workspaceId, { layer: 'user', uid, part: 'organisation' });
  const self = await readDocument(db, workspaceId, { layer: 'user', uid, part: 'self' });
  return { organisation, self };
}

export const readUserPolicy = readOperation('user-policy.read', async ({ pool }, actor, uid: string) => {
  requireAccessTo(actor, 'user-policy.read', uid);
  const { organisation, self } = await readUserParts(pool, actor.workspaceId, uid);
  return mergedUserView(organisation, self);
});
