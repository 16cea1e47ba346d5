import type { Actor } from '../rules/actor.ts';
import { findMember } from '../store/members.ts';
import type { OperationDeps } from '../operation.ts';

/** Describes the actor. A service key has neither uid nor e-mail. */
export async function readSession({ pool }: Pick<OperationDeps, 'pool'>, { workspaceId, slug, sub, uid, role, scopes, credential }: Actor) {
  const member = uid === null ? null : await findMember(pool, workspaceId, uid);
  return { sub, uid, email: member?.email ?? null, role, scopes, workspace: slug, expiresAt: credential.expiresAt };
}
