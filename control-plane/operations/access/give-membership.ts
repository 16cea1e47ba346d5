// Nobody gives what they lack, and a member may be given keys, and recognised by an issuer for their e-mail: who makes
// somebody a member, raises a role or says whose e-mail it is gives all that a session of that member may. Whether an issuer
// is configured now is not asked: one may be tomorrow.
import type { Role } from '@tollgate/proto/contract';
import { isAtMost, lackingScope, scopesOfMember } from '../../domain/access/access.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { brokenBound } from '../../domain/access/key-bounds.ts';
import { conflict, forbidden } from '../../domain/refusal.ts';
import { isEmailTaken } from '../../store/members.ts';
import type { Write } from '../operation.ts';

const unbound = { pins: { tier: null, agent: null, client: null }, expiresAt: null };

export function requireRole({ role }: Actor, given: Role): void {
  if (!isAtMost(given, role)) throw forbidden(`an ${role} cannot make an ${given}`);
}

/** Throws `forbidden`, in words that name what the giver lacks. */
export function requireMembership(actor: Actor, given: Role): void {
  requireRole(actor, given);
  const { kind } = actor.credential;
  const lacking = lackingScope(actor.scopes, scopesOfMember(given));
  if (lacking !== null) throw forbidden(`this ${kind} lacks the scope ${lacking}, which the member could have: it cannot give that`);
  const broken = brokenBound(actor, unbound);
  if (broken !== null) throw forbidden(`this ${kind} cannot give a member what is outside ${broken}`);
}

/** Of two members with one e-mail an issuer could not say which signs in. `uid`: whose it shall be. */
export async function requireOwnEmail({ client, workspaceId }: Write, uid: string, email: string): Promise<void> {
  if (await isEmailTaken(client, workspaceId, uid, email)) throw conflict('another member has that e-mail already');
}
