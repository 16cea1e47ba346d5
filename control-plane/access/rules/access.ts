// Defines which actor can do what. The scopes limit a key, and the role limits the member behind it. Both must permit
// the action. This is the only table of this kind: operations check it, and edges check it through the operation.
import { hasScope, type Role, roles, type Scope } from '@tollgate/proto/contract';
import type { Actor } from './actor.ts';
import { forbidden } from '../../base/refusal.ts';

interface Access {
  readonly scope: Scope;
  /**
   * An alternative scope that is also sufficient. If a key names this scope explicitly (not through `*`), the key also
   * gives access to what belongs to others.
   */
  readonly or?: Scope;
  readonly roles: readonly Role[];
  /**
   * Roles that can do the action for other members or on their data. All other members can do it only for themselves.
   */
  readonly others?: readonly Role[];
}

const anybody = roles;
const leads = ['owner', 'admin'] as const satisfies readonly Role[];

const access = {
  'agent.read': { scope: 'agents.read', roles: anybody },
  'agent.create': { scope: 'agents.write', roles: anybody },
  'agent.update': { scope: 'agents.write', roles: anybody },
  'agent.patch': { scope: 'agents.write', roles: anybody },
  'agent.delete': { scope: 'agents.write', roles: anybody },
  'run.start': { scope: 'agents.write', roles: anybody },
  // The content of a run is as private as its entries in the audit log. A key that explicitly names the audit scope can
  // read the runs of others. The scope `*` is not sufficient, because most keys have it.
  'run.read': { scope: 'agents.read', or: 'admin.audit.read', roles: anybody, others: leads },
  'run.cancel': { scope: 'agents.write', roles: anybody, others: leads },

  'workspace-policy.read': { scope: 'policies.read', roles: anybody },
  'workspace-policy.write': { scope: 'policies.write', roles: leads },
  'workspace-policy.delete': { scope: 'policies.write', roles: leads },
  'role-policy.list': { scope: 'policies.read', roles: leads },
  'role-policy.read': { scope: 'policies.read', roles: anybody },
  'role-policy.write': { scope: 'policies.write', roles: leads },
  'role-policy.delete': { scope: 'policies.write', roles: leads },
  'agent-type-policy.list': { scope: 'policies.read', roles: leads },
  'agent-type-policy.read': { scope: 'policies.read', roles: anybody },
  'agent-type-policy.write': { scope: 'policies.write', roles: leads },
  'agent-type-policy.delete': { scope: 'policies.write', roles: leads },
  'user-policy.read': { scope: 'policies.read', roles: anybody, others: leads },
  'user-policy.write': { scope: 'policies.write', roles: anybody, others: leads },
  'user-policy.delete': { scope: 'policies.write', roles: anybody, others: leads },
  'policy.explain': { scope: 'policies.read', roles: anybody, others: leads },

  'redaction.preview': { scope: 'policies.read', roles: leads },
  'policy.simulate': { scope: 'policies.read', roles: leads },
  'policy.export': { scope: 'policies.read', roles: leads },
  'policy.history': { scope: 'policies.read', roles: leads },
  'policy.apply': { scope: 'policies.write', roles: leads },
  'policy.rollback': { scope: 'policies.write', roles: leads },

  'workspace.freeze': { scope: 'policies.write', roles: leads },
  'workspace.unfreeze': { scope: 'policies.write', roles: leads },

  'member.read': { scope: 'members.write', roles: leads },
  'member.create': { scope: 'members.write', roles: leads },
  'member.change': { scope: 'members.write', roles: leads },
  'member.remove': { scope: 'members.write', roles: leads },
  'key.read': { scope: 'keys.write', roles: leads },
  'key.create': { scope: 'keys.write', roles: leads },
  'key.revoke': { scope: 'keys.write', roles: leads },
  'key.rotate': { scope: 'keys.write', roles: leads },
  'key.narrow': { scope: 'keys.write', roles: leads },

  'tool-server.read': { scope: 'policies.read', roles: leads },
  'tool-server.write': { scope: 'policies.write', roles: leads },

  // Who may answer an approval follows from its rules. Members see those that they may answer, and their own.
  'approval.read': { scope: 'admin.approvals', roles: anybody, others: leads },
  'approval.reveal': { scope: 'admin.approvals', roles: anybody },
  'approval.approve': { scope: 'admin.approvals', roles: anybody },
  'approval.deny': { scope: 'admin.approvals', roles: anybody },
  'approval.cancel': { scope: 'admin.approvals', roles: anybody, others: leads },

  'approval-channel.read': { scope: 'policies.read', roles: leads },
  'approval-channel.write': { scope: 'policies.write', roles: leads },

  'sidecar.read': { scope: 'policies.read', roles: leads },
  // The authorities are not secret, so a sidecar's own key is sufficient.
  'authority.read': { scope: 'policies.read', or: 'sidecar.library', roles: anybody },
  'event.read': { scope: 'admin.audit.read', roles: leads },

  // Every role may read the audit log if its key has the scope.
  'audit.read': { scope: 'admin.audit.read', roles: anybody },
  'usage.read': { scope: 'admin.audit.read', roles: anybody },
} as const satisfies Record<string, Access>;

export type Action = keyof typeof access;

/**
 * Returns the scopes of a session that depends on a member and not on a key: everything that the role permits. The only
 * exception is the audit log: only sessions of owners and admins can read it.
 */
export function scopesOfMember(role: Role): readonly string[] {
  if (isLead(role)) return ['*'];
  const rows: readonly Access[] = Object.values(access);
  const scopes = rows.filter((row) => row.roles.includes(role)).map(({ scope }) => scope);
  return [...new Set(scopes)].filter((scope) => scope !== 'admin.audit.read').toSorted();
}

const listed = (some: readonly Role[]): string => some.join(' or ');

export const accessTo = (action: Action): Access => access[action];

/** Throws `forbidden` with a message that names what is missing. */
export function requireAccess(actor: Actor, action: Action): void {
  const refusal = refusalFor(actor, action);
  if (refusal !== null) throw forbidden(refusal);
}

/** Returns why the actor may not do the action; null: it may. */
export function refusalFor(actor: Actor, action: Action): string | null {
  const needed = accessTo(action);
  if (![needed.scope, needed.or].some((scope) => scope !== undefined && hasScope(actor.scopes, scope)))
    return `this ${actor.credential.kind} lacks the scope ${needed.scope}`;
  return needed.roles.includes(actor.role) ? null : `only ${listed(needed.roles)} may do this`;
}

/**
 * Checks an action that a member can do for themselves, and that only some roles can do for others. Throws `forbidden`.
 */
export function requireAccessTo(actor: Actor, action: Action, uid: string): void {
  const refusal = refusalForOther(actor, action, uid);
  if (refusal !== null) throw forbidden(refusal);
}

/** Returns why the actor may not do the action for this member; null: it may. */
export function refusalForOther(actor: Actor, action: Action, uid: string): string | null {
  const { others }: Access = access[action];
  if (actor.uid === uid || others === undefined || others.includes(actor.role)) return null;
  return `only ${listed(others)} may do this for another member`;
}

/**
 * Whether the action also applies to what belongs to others. Otherwise it applies only to what belongs to the actor.
 */
export function reachesOthers({ role, scopes }: Pick<Actor, 'role' | 'scopes'>, action: Action): boolean {
  const { others, or }: Access = access[action];
  return others === undefined || others.includes(role) || (or !== undefined && scopes.includes(or));
}

export const isLead = (role: Role): boolean => leads.some((one) => one === role);

/** Whether `role` is at most `limit`. Owners are above admins, and admins are above members. */
export const isAtMost = (role: Role, limit: Role): boolean => roles.indexOf(role) >= roles.indexOf(limit);

/** An actor cannot give scopes that it lacks. Returns the first scope that `giver` lacks, or null. */
export const lackingScope = (giver: readonly string[], given: readonly string[]): string | null =>
  given.find((scope) => !giver.includes('*') && !giver.includes(scope)) ?? null;
