// Checks that an actor gives no permissions that it lacks when it changes a membership. A member can receive keys, and
// an issuer can recognise the member by e-mail. Therefore an actor that adds a member, raises a role or sets an e-mail
// gives all permissions that a session of that member can have. The check applies even if no issuer is configured now,
// because one can be configured later.
import type { Role } from '@tollgate/proto/contract';
import { isAtMost, lackingScope, scopesOfMember } from '../rules/access.ts';
import type { Actor } from '../rules/actor.ts';
import { brokenBound } from '../rules/key-bounds.ts';
import { conflict, forbidden } from '../../base/refusal.ts';
import { isEmailTaken } from '../store/members.ts';
import type { Write } from '../operation.ts';

const unbound = { pins: { tier: null, agent: null, client: null }, expiresAt: null };

export function requireRole({ role }: Actor, given: Role): void {
  if (!isAtMost(given, role)) throw forbidden(`a caller with the role ${role} cannot grant the role ${given}`);
}

/** Throws `forbidden` with a message that names what the actor lacks. */
export function requireMembership(actor: Actor, given: Role): void {
  requireRole(actor, given);
  const { kind } = actor.credential;
  const lacking = lackingScope(actor.scopes, scopesOfMember(given));
  if (lacking !== null) throw forbidden(`this ${kind} lacks the scope ${lacking} and cannot grant it to a member`);
  const broken = brokenBound(actor, unbound);
  if (broken !== null) throw forbidden(`this ${kind} cannot grant a member more access than ${broken} allows`);
}

/**
 * Throws `conflict` if another member has the e-mail. If two members had the same e-mail, an issuer could not decide
 * which of them signs in. `uid`: the member who is to get the e-mail.
 */
export async function requireOwnEmail({ client, workspaceId }: Write, uid: string, email: string): Promise<void> {
  if (await isEmailTaken(client, workspaceId, uid, email)) throw conflict('another member already has this e-mail');
}
