// Adds a member. The actor must have all permissions that the new member could have: `requireMembership`.
import type { Role } from '@tollgate/proto/contract';
import { checkEmail, checkUid } from '../rules/member.ts';
import { conflict, refuseIfAny } from '../../base/refusal.ts';
import { findMember, insertMember } from '../store/members.ts';
import { writeOperation } from '../operation.ts';
import { requireMembership, requireOwnEmail } from './give-membership.ts';

interface NewMember {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
}

export const createMember = writeOperation('member.create', async (write, { uid, email, role }: NewMember) => {
  const { client, actor, workspaceId, now } = write;
  refuseIfAny([...checkUid(uid), ...checkEmail(email)]);
  requireMembership(actor, role);
  if ((await findMember(client, workspaceId, uid)) !== null) throw conflict('a member with this uid already exists');
  await requireOwnEmail(write, uid, email);
  await insertMember(client, workspaceId, { uid, email, role, createdAt: now });
  return { result: { uid }, target: `member/${uid}`, detail: { role } };
});
