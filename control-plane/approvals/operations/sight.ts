// Decides which approvals a caller sees: owners and admins all, members those that they may answer and their own.
import { type Role, roles } from '@tollgate/proto/contract';
import { reachesOthers } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import type { Approval } from '../rules/approval.ts';
import { approversOf } from '../rules/who-may-answer.ts';
import type { Sight } from '../store/listed.ts';

type Seer = Pick<Actor, 'role' | 'scopes' | 'sub' | 'uid'>;

/** Returns what limits the caller's sight; null: it sees all. */
export function sightOf(actor: Seer): Sight | null {
  if (reachesOthers(actor, 'approval.read')) return null;
  return { sub: actor.sub, names: actor.uid === null ? [] : [`user:${actor.uid}`, ...namesOfRole(actor.role)] };
}

/** A rule that names a role names the roles above it too. */
const namesOfRole = (role: Role): readonly string[] => roles.slice(roles.indexOf(role)).map((one) => `role:${one}`);

export function isSeenBy(actor: Seer, { call, rules }: Pick<Approval, 'call' | 'rules'>): boolean {
  const sight = sightOf(actor);
  return sight === null || call.originSub === sight.sub || approversOf(rules).some((approver) => sight.names.includes(approver));
}
