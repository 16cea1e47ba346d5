// Finds the members who may answer what a rule asks. What a person answers with (a key, a session) is not looked at. Pure.
import { type CompiledAsk, type CompiledMember, roles } from '@tollgate/proto/contract';

type Member = Pick<CompiledMember, 'uid' | 'role'>;

/**
 * Returns the members who may answer, in the order of `members`. `subject`: the member that the call is made for. Null: it
 * is made for no member, or it is not known for whom.
 */
export function eligibleApprovers<M extends Member>(
  { approvers, self }: Pick<CompiledAsk, 'approvers' | 'self'>,
  members: readonly M[],
  subject: string | null,
): readonly M[] {
  const named = new Set(approvers);
  // A role stands for itself and those above it.
  const lowest = Math.max(-1, ...roles.map((role, at) => (named.has(`role:${role}`) ? at : -1)));
  return members.filter(({ uid, role }) => {
    if (uid === subject) return self === true && (named.has('subject') || named.has(`user:${uid}`) || roles.indexOf(role) <= lowest);
    return named.has(`user:${uid}`) || roles.indexOf(role) <= lowest;
  });
}
