import { isUid } from '@tollgate/proto/contract';
import type { Member } from '../rules/member.ts';
import { notFound } from '../../base/refusal.ts';
import { findMember, listMembers as listStored } from '../store/members.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../operation.ts';

/** Returns a member; throws `not_found` if it does not exist. */
export async function requireMember(db: Queryable, workspaceId: number, uid: string): Promise<Member> {
  const member = isUid(uid) ? await findMember(db, workspaceId, uid) : null;
  if (member === null) throw notFound('there is no such member');
  return member;
}

export const listMembers = readOperation(
  'member.read',
  ({ pool }, actor): Promise<readonly Member[]> => listStored(pool, actor.workspaceId),
);

export const readMember = readOperation('member.read', ({ pool }, actor, uid: string) => requireMember(pool, actor.workspaceId, uid));
