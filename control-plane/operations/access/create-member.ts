import type { Role } from '@tollgate/proto/contract';
import { isAtMost } from '../../domain/access/access.ts';
import { checkEmail, checkUid } from '../../domain/access/member.ts';
import { conflict, forbidden, refuseIfAny } from '../../domain/refusal.ts';
import { findMember, insertMember } from '../../store/members.ts';
import { writeOperation } from '../operation.ts';

interface NewMember {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
}

export const createMember = writeOperation(
  'member.create',
  async ({ client, actor, workspaceId, now }, { uid, email, role }: NewMember) => {
    refuseIfAny([...checkUid(uid), ...checkEmail(email)]);
    if (!isAtMost(role, actor.role)) throw forbidden(`an ${actor.role} cannot make an ${role}`);
    if ((await findMember(client, workspaceId, uid)) !== null) throw conflict('there is a member of that uid already');
    await insertMember(client, workspaceId, { uid, email, role, createdAt: now });
    return { result: { uid }, target: `member/${uid}`, detail: { role } };
  },
);
