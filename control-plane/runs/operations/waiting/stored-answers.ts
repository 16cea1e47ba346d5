// Opens what is stored of a run that waits, and reads how its questions were answered.
import { statusOf, unknownStatus } from '../../../approvals/rules/approval.ts';
import type { ApprovalKeys } from '../../../approvals/operations/secrets.ts';
import { findApproval, readTime } from '../../../approvals/store/approvals.ts';
import type { Queryable } from '../../../database/transaction.ts';
import type { RunRef } from '../../rules/run.ts';
import { type AnsweredQuestion, parseStored, type StoredQuestion } from '../../waiting.ts';

/** The place to which a stored conversation is bound. */
export const placeOfRun = ({ workspaceId, id }: RunRef): string => `run ${workspaceId} ${id}`;

/** Returns the stored run, or why it cannot be read. `sealed` is null after the resumed run has made a call. */
export function openStored(
  keys: Pick<ApprovalKeys, 'openAt'>,
  run: RunRef,
  sealed: Uint8Array | null,
): NonNullable<ReturnType<typeof parseStored>> | { readonly problem: string } {
  const text = sealed === null ? null : keys.openAt(placeOfRun(run), sealed);
  return text === null ? { problem: unopened } : (parseStored(text) ?? { problem: unread });
}

const unopened = 'the run waited for a person, and its stored conversation cannot be decrypted: it was changed, or the secret was';
const unread = 'the run waited for a person, and its stored conversation has a form that this release cannot read';

/** Returns the current answers, in the order of the questions. Null: there is no approval of the call. */
export async function answersTo(
  db: Queryable,
  workspaceId: number,
  questions: readonly StoredQuestion[],
): Promise<readonly (AnsweredQuestion | null)[]> {
  const answers: (AnsweredQuestion | null)[] = [];
  for (const { approvalId: id, isCounted } of questions) {
    const approval = id === null ? null : await findApproval(db, { workspaceId, id });
    if (id === null) answers.push(null);
    else answers.push({ approval: approval === null ? unknownStatus(id) : statusOf(approval, await readTime(db)), isCounted });
  }
  return answers;
}
