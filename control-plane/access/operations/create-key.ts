// Issues a key. An actor cannot give permissions that it lacks: the key's scopes are among the issuer's scopes, its
// pins and expiry are within the issuer's, and the role of the member behind the key is not higher than the issuer's
// role.
import type { Scope, Tier } from '@tollgate/proto/contract';
import { isAtMost, lackingScope } from '../rules/access.ts';
import type { Actor } from '../rules/actor.ts';
import { checkPins, makeId, makeSecret } from '../rules/key.ts';
import { brokenBound, inheritBounds, type KeyBounds } from '../rules/key-bounds.ts';
import { badRequest, forbidden, refuseIfAny } from '../../base/refusal.ts';
import { insertKey } from '../store/keys.ts';
import { findMember } from '../store/members.ts';
import { type Write, writeOperation } from '../operation.ts';

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** If given, the key is a personal key of this member. */
  readonly uid?: string | undefined;
  readonly tier?: Tier | undefined;
  readonly agent?: string | undefined;
  readonly client?: string | undefined;
  readonly expiresAt?: Date | undefined;
}

export const createKey = writeOperation('key.create', async (write, input: NewKey) => {
  const { client, deps, actor, workspaceId, now } = write;
  const { name, scopes, uid = null, tier = null, agent = null, client: pinnedClient = null, expiresAt = null } = input;
  refuseIfAny(checkPins({ agent, client: pinnedClient }));
  const bounds = inheritBounds(actor, { pins: { tier, agent, client: pinnedClient }, expiresAt });
  requireScopes(actor, scopes);
  requireBounds(actor, bounds);
  if (uid !== null) await requireMember(write, uid);
  if (expiresAt !== null && expiresAt <= now) throw badRequest('expiresAt must be in the future');
  const id = makeId(deps.random);
  const secret = makeSecret(deps.random, actor.slug);
  const key = { id, name, last4: secret.last4, scopes, uid, madeBy: actor.memberUid, ...bounds, revokedAt: null, createdAt: now };
  await insertKey(client, workspaceId, key, secret);
  return { result: { id, key: secret.key }, target: `key/${id}`, detail: { name, scopes, uid } };
});

export function requireScopes(actor: Actor, scopes: readonly string[]): void {
  const lacking = lackingScope(actor.scopes, scopes);
  if (lacking !== null) throw forbidden(`this ${actor.credential.kind} lacks the scope ${lacking} and cannot grant it`);
}

export function requireBounds(actor: Actor, given: KeyBounds): void {
  const broken = brokenBound(actor, given);
  if (broken !== null) throw forbidden(`this key cannot grant more access than ${broken} allows`);
}

async function requireMember({ client, actor, workspaceId }: Write, uid: string): Promise<void> {
  const member = await findMember(client, workspaceId, uid);
  if (member === null) throw badRequest('uid is not a member of this workspace');
  if (!isAtMost(member.role, actor.role)) throw forbidden('only owners may issue a key of an owner');
}
