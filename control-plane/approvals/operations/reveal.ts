// Shows the values of a call that were hidden. Who sees them is recorded, before they are shown.
import { writeOperation } from '../../access/operation.ts';
import { conflict, forbidden, notFound } from '../../base/refusal.ts';
import { answerProblem } from '../rules/who-may-answer.ts';
import { escapeHidden } from '../rules/plain-text.ts';
import { holdMembers } from '../store/answers.ts';
import { recordStep } from '../store/approvals.ts';
import { answererOf, lockQuestion, requirePending } from './answer.ts';
import { askingSideOf } from './parts.ts';

/** Returns the hidden values. Only a person who may answer the approval sees them, and only while it is pending. */
export const reveal = writeOperation('approval.reveal', async (write, id: string) => {
  const { client, actor, deps, workspaceId } = write;
  const [locked] = await lockQuestion(write, [id]);
  if (locked === undefined) throw notFound('there is no such approval');
  const { approval } = await requirePending(client, locked);
  const answerer = await answererOf(client, actor);
  const problem = answerProblem(await askingSideOf(client, approval), answerer);
  if (problem !== null || answerer.uid === null) throw forbidden(problem ?? 'a service key answers no approvals');
  const member = (await holdMembers(client, workspaceId, [answerer.uid])).get(answerer.uid);
  if (member === undefined) throw forbidden(`${answerer.uid} is no member of this workspace`);
  const keys = await deps.approvals.keys();
  const opened = approval.sealed === null ? '[]' : keys.open(approval, approval.sealed);
  if (opened === null)
    throw conflict('the hidden values cannot be decrypted, because the database has another secret than when they were sealed; cancel it');
  const values: readonly string[] = JSON.parse(opened);
  const by = { sub: actor.sub, keyId: actor.keyId };
  await recordStep(client, approval, 'revealed', by, { revealedBy: answerer.uid }, { memberSince: member.createdAt.toISOString() });
  const hidden = approval.hidden.map((place, at) => ({
    ...place,
    value: JSON.parse(values[at] ?? 'null'),
    text: escapeHidden(values[at] ?? ''),
  }));
  return { result: { hidden }, target: `approval/${id}`, detail: { values: hidden.length } };
});
