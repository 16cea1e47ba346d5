// Says before a person tries whether they may answer. The control plane decides; this knows only what an approval shows.
import type { Session } from '../app/session.tsx';
import type { Approval } from './state.tsx';

const ranks = ['owner', 'admin', 'member'] as const;

/** Who an approver of a rule is, in words: `role:admin` is every admin and owner. */
export function approverWords(approver: string): string {
  if (approver === 'subject') return 'the person that the call is made for';
  if (approver === 'role:owner') return 'owners';
  if (approver === 'role:admin') return 'owners and admins';
  if (approver === 'role:member') return 'all members';
  return approver.replace(/^user:/, '');
}

function isNamed(approver: string, { uid, role }: Session, sub: string): boolean {
  if (approver === 'subject') return uid === sub;
  if (approver.startsWith('role:')) {
    const least = ranks.findIndex((one) => one === approver.slice('role:'.length));
    return least >= 0 && ranks.indexOf(role) <= least;
  }
  return uid !== null && approver === `user:${uid}`;
}

export type Problem =
  /** No answer of this person can count. */
  | { readonly kind: 'no'; readonly why: string }
  /** The control plane will probably refuse it. */
  | { readonly kind: 'perhaps'; readonly why: string }
  | null;

export function answerProblem(approval: Approval, session: Session): Problem {
  const { why } = session.may('admin.approvals');
  if (why !== null) return { kind: 'no', why };
  if (session.uid === null)
    return { kind: 'no', why: 'You signed in with a service key. A member answers, with a key or session of their own.' };
  const approvers = [...new Set(approval.rules.flatMap((rule) => rule.approvers))];
  if (!approvers.some((one) => isNamed(one, session, approval.call.sub)))
    return { kind: 'no', why: `No rule that asks names you. These may answer: ${approvers.map(approverWords).join(', ')}.` };
  if (approval.call.sub === session.uid && !approvers.includes('subject'))
    return {
      kind: 'perhaps',
      why: 'The call is made for you. Unless its rule lets you confirm your own calls, another person must answer.',
    };
  return null;
}

/** What must still happen before this person can approve. Null: nothing. */
export function approveProblem(approval: Approval, session: Session): string | null {
  if (session.uid !== null && approval.approvals.some(({ by }) => by === session.uid))
    return 'You have approved it. Another person must approve it too.';
  if (approval.hidden.length > 0 && !approval.revealedBy.includes(session.uid ?? ''))
    return `${approval.hidden.length === 1 ? 'A value is' : `${approval.hidden.length} values are`} hidden. Reveal first what the tool will receive.`;
  return null;
}

/** Whether the approval waits for this person: they may answer it, and have not approved it yet. */
export const isYours = (approval: Approval, session: Session): boolean =>
  answerProblem(approval, session) === null && !approval.approvals.some(({ by }) => by === session.uid);

/** Returns the call after those that were just answered; after the last one, the first. */
export function nextOf(waiting: readonly Approval[], answered: readonly string[]): Approval | undefined {
  const at = waiting.findIndex(({ id }) => id === answered[0]);
  return [...waiting.slice(at + 1), ...waiting.slice(0, Math.max(0, at))].find(({ id }) => !answered.includes(id));
}
