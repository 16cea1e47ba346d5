import { isUid } from '@tollgate/proto/contract';
import { type Member, memberCursorOf } from '../rules/member.ts';
import { oneMore, pageOf, type PageWanted } from '../../base/page.ts';
import { notFound } from '../../base/refusal.ts';
import { findMember, listMembersAfter } from '../store/members.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../operation.ts';

/** Returns a member; throws `not_found` if it does not exist. */
export async function requireMember(db: Queryable, workspaceId: number, uid: string): Promise<Member> {
  const member = isUid(uid) ? await findMember(db, workspaceId, uid) : null;
  if (member === null) throw notFound('there is no such member');
  return member;
}

interface MemberPage {
  readonly members: readonly Member[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Lists the members by their uid. The position is a uid. */
export const listMembers = readOperation(
  'member.read',
  async ({ pool }, actor, { limit, after }: PageWanted<string>): Promise<MemberPage> => {
    const found = await listMembersAfter(pool, actor.workspaceId, { limit: oneMore(limit), after });
    const { items, ...rest } = pageOf(found, limit, memberCursorOf);
    return { members: items, ...rest };
  },
);

export const readMember = readOperation('member.read', ({ pool }, actor, uid: string) => requireMember(pool, actor.workspaceId, uid));
