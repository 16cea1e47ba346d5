// Changes and removes members. A workspace always keeps an owner, and only owners touch owners.
import { type Part, parts, type Role } from '@tollgate/proto/contract';
import { isAtMost } from '../../domain/access/access.ts';
import { checkEmail, type Member } from '../../domain/access/member.ts';
import { conflict, forbidden, refuseIfAny } from '../../domain/refusal.ts';
import { revokeKeysOf } from '../../store/keys.ts';
import { countOwners, deleteMember, updateMember } from '../../store/members.ts';
import { deleteDocument } from '../../store/policies.ts';
import { deleteSessionsOfMember } from '../../store/sessions.ts';
import { type Write, writeOperation } from '../operation.ts';
import { requireMember } from './read-members.ts';
import { authorship } from '../policies/write-policy.ts';

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
    throw conflict('a workspace keeps at least one owner; make another one first');
  }
}

export const changeMember = writeOperation('member.change', async (write, { uid, email, role }: MemberChange) => {
  const { client, actor, workspaceId } = write;
  const member = await touchable(write, uid);
  refuseIfAny(email === undefined ? [] : checkEmail(email));
  if (role !== undefined && !isAtMost(role, actor.role)) throw forbidden(`an ${actor.role} cannot make an ${role}`);
  if (role !== undefined && role !== 'owner') await keepAnOwner(write, member);
  const changed = { uid, email: email ?? member.email, role: role ?? member.role };
  await updateMember(client, workspaceId, changed);
  return { result: {}, target: `member/${uid}`, detail: { role: changed.role } };
});

/** Their sessions, the power of their keys and both parts of their policy go with them: the next holder of the uid inherits nothing. */
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
  return { result: {}, target: [`member/${uid}`, ...removed.map((part) => `policy/user:${uid}:${part}`)] };
});
