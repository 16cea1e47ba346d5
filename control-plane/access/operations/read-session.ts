import type { Actor } from '../rules/actor.ts';
import { findMember } from '../store/members.ts';
import { listWorkspacesOf } from '../store/sessions.ts';
import { findWorkspace } from '../../workspaces/store/workspaces.ts';
import { unauthenticated } from '../../base/refusal.ts';
import type { OperationDeps } from '../operation.ts';

/** Describes the actor. A service key has neither uid nor e-mail. */
export async function readSession({ pool }: Pick<OperationDeps, 'pool'>, { workspaceId, slug, sub, uid, role, scopes, credential }: Actor) {
  const member = uid === null ? null : await findMember(pool, workspaceId, uid);
  return { sub, uid, email: member?.email ?? null, role, scopes, workspace: slug, expiresAt: credential.expiresAt };
}

/**
 * Returns the state of the actor's workspace, and the slugs of all workspaces that the actor can sign in to. A key, and
 * a session of a key, has one workspace. A person whom the issuer identified can be a member of several.
 */
export async function readSurroundings({ pool }: Pick<OperationDeps, 'pool'>, actor: Actor) {
  const workspace = await findWorkspace(pool, actor.workspaceId);
  if (workspace === null) throw unauthenticated('the workspace was removed');
  const workspaces = actor.onMember ? await listWorkspacesOf(pool, actor.workspaceId, actor.memberUid) : [actor.slug];
  return { frozen: workspace.frozen, workspaces };
}
