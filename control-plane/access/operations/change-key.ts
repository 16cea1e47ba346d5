// Revokes, rotates and narrows keys. When the secret of a key stops working, the sessions that were opened with the key
// end too. Only owners can change keys that belong to an owner.
import { hasScope, type Scope } from '@tollgate/proto/contract';
import { isAtMost } from '../rules/access.ts';
import { type ApiKey, isId, makeSecret } from '../rules/key.ts';
import { badRequest, conflict, forbidden, notFound } from '../../base/refusal.ts';
import { findKey, replaceScopes, replaceSecret, revokeKey as revokeStored } from '../store/keys.ts';
import { findMember } from '../store/members.ts';
import { deleteSessionsOfKey } from '../store/sessions.ts';
import { requireBounds, requireScopes } from './create-key.ts';
import { type Write, writeOperation } from '../operation.ts';

async function touchable({ client, actor, workspaceId }: Write, id: string): Promise<ApiKey> {
  const key = isId(id) ? await findKey(client, workspaceId, id) : null;
  if (key === null || key.revokedAt !== null) throw notFound('there is no such key');
  const member = await findMember(client, workspaceId, key.uid ?? key.madeBy);
  if (member !== null && !isAtMost(member.role, actor.role)) throw forbidden('only owners may change a key of an owner');
  return key;
}

export const revokeKey = writeOperation('key.revoke', async (write, id: string) => {
  await touchable(write, id);
  await revokeStored(write.client, write.workspaceId, id, write.now);
  await deleteSessionsOfKey(write.client, write.workspaceId, id);
  return { result: {}, target: `key/${id}` };
});

/** Gives the key a new secret. The old secret stops working immediately. */
export const rotateKey = writeOperation('key.rotate', async (write, id: string) => {
  const { client, deps, actor, workspaceId, now } = write;
  const key = await touchable(write, id);
  if (key.expiresAt !== null && key.expiresAt <= now)
    throw conflict('the key has expired, and a new secret would not extend it; issue another key');
  // The member who rotates a key knows its new secret. So the member must have the permissions of the key.
  requireScopes(actor, key.scopes);
  requireBounds(actor, key);
  const secret = makeSecret(deps.random, actor.slug);
  await replaceSecret(client, workspaceId, id, secret, actor.memberUid);
  await deleteSessionsOfKey(client, workspaceId, id);
  return { result: { id, key: secret.key }, target: `key/${id}` };
});

export interface NarrowedScopes {
  readonly id: string;
  readonly scopes: readonly Scope[];
}

/**
 * Removes scopes from a key. The secret does not change. The caller does not need these scopes, because narrowing gives
 * no permission to anyone.
 */
export const narrowKey = writeOperation('key.narrow', async (write, { id, scopes }: NarrowedScopes) => {
  const key = await touchable(write, id);
  const wider = scopes.find((scope) => !hasScope(key.scopes, scope));
  if (wider !== undefined)
    throw badRequest(`the scopes of a key can only be reduced, and this key lacks the scope ${wider}; it has ${key.scopes.join(', ')}`);
  await replaceScopes(write.client, write.workspaceId, id, scopes);
  return { result: { id, scopes }, target: `key/${id}`, detail: { before: key.scopes, scopes } };
});
