// Changes and removes members. A workspace always keeps an owner, and only owners can change owners. An actor that
// raises a role or changes an e-mail must have all permissions that the member could have afterwards
// (`requireMembership`). When a member's role rises, some of the member's keys are revoked: those whose secret was
// shown to a person with a lower role than the member's new role. When an e-mail changes, the sessions that were
// possibly opened through the old e-mail end.
import { documentKey, type Part, parts, type Role } from '@tollgate/proto/contract';
import { isAtMost } from '../rules/access.ts';
import { checkEmail, type Member } from '../rules/member.ts';
import { conflict, forbidden, refuseIfAny } from '../../base/refusal.ts';
import { revokeKeysFromBelow, revokeKeysOf } from '../store/keys.ts';
import { countOwners, deleteMember, updateMember } from '../store/members.ts';
import { deleteDocument } from '../../policies/store/policies.ts';
import { deleteSessionsOfKey, deleteSessionsOfMember, deleteSessionsOnMember } from '../store/sessions.ts';
import { authorship, type Write, writeOperation } from '../operation.ts';
import { requireMembership, requireOwnEmail, requireRole } from './give-membership.ts';
import { requireMember } from './read-members.ts';

interface MemberChange {
  readonly uid: string;
  readonly email?: string | undefined;
  readonly role?: Role | undefined;
}

async function touchable({ client, actor, workspaceId }: Write, uid: string): Promise<Member> {
  const member = await requireMember(client, workspaceId, uid);
  if (!isAtMost(member.role, actor.role)) throw forbidden('only owners may change or remove an owner');
  return member;
}

async function keepAnOwner({ client, workspaceId }: Write, member: Member): Promise<void> {
  if (member.role === 'owner' && (await countOwners(client, workspaceId)) <= 1) {
    throw conflict('a workspace must have at least one owner; add another owner first');
  }
}

export const changeMember = writeOperation('member.change', async (write, { uid, email, role }: MemberChange) => {
  const { client, actor, workspaceId } = write;
  const member = await touchable(write, uid);
  refuseIfAny(email === undefined ? [] : checkEmail(email));
  if (role !== undefined) requireRole(actor, role);
  const changed = { uid, email: email ?? member.email, role: role ?? member.role };
  const fields = (['email', 'role'] as const).filter((field) => changed[field] !== member[field]);
  const raised = !isAtMost(changed.role, member.role);
  if (raised || fields.includes('email')) requireMembership(actor, changed.role);
  if (fields.includes('email')) await requireOwnEmail(write, uid, changed.email);
  if (role !== undefined && role !== 'owner') await keepAnOwner(write, member);
  await updateMember(client, workspaceId, changed);
  if (fields.includes('email')) await deleteSessionsOnMember(client, workspaceId, uid);
  if (raised) await dropKeysFromBelow(write, uid);
  return { result: {}, target: `member/${uid}`, detail: { role: changed.role, fields } };
});

async function dropKeysFromBelow({ client, workspaceId, now }: Write, uid: string): Promise<void> {
  for (const id of await revokeKeysFromBelow(client, workspaceId, uid, now)) await deleteSessionsOfKey(client, workspaceId, id);
}

/**
 * Removes the member together with the member's sessions, the keys that act as the member, the keys that the member
 * made for anyone, and both parts of the member's policy. A member can know the secrets of the keys that they made, and
 * the next member with this uid must inherit nothing.
 */
export const removeMember = writeOperation('member.remove', async (write, uid: string) => {
  const { client, workspaceId, now } = write;
  await keepAnOwner(write, await touchable(write, uid));
  await revokeKeysOf(client, workspaceId, uid, now);
  await deleteSessionsOfMember(client, workspaceId, uid);
  const removed: Part[] = [];
  for (const part of parts) {
    if (await deleteDocument(client, workspaceId, { layer: 'user', uid, part }, authorship(write))) removed.push(part);
  }
  await deleteMember(client, workspaceId, uid);
  return { result: {}, target: [`member/${uid}`, ...removed.map((part) => `policy/${documentKey({ layer: 'user', uid, part })}`)] };
});
