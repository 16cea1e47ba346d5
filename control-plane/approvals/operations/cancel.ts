import { requireAccessTo } from '../../access/rules/access.ts';
import { writeOperation } from '../../access/operation.ts';
import { conflict, notFound } from '../../base/refusal.ts';
import { isOpen } from '../rules/approval.ts';
import { recordStep } from '../store/approvals.ts';
import { lockQuestion } from './answer.ts';
import { settleDue } from './parts.ts';

/** Takes a question back, or an approval that is not used up. The person that the call is made for may, and owners and admins. */
export const cancel = writeOperation('approval.cancel', async (write, id: string) => {
  const { client, actor, deps } = write;
  const [locked] = await lockQuestion(write, [id]);
  if (locked === undefined) throw notFound('there is no such approval');
  requireAccessTo(actor, 'approval.cancel', locked.call.originSub);
  const { approval } = await settleDue(client, locked);
  if (!isOpen(approval.state)) throw conflict(`the approval ${id} is already ${approval.state}, since ${approval.changedAt.toISOString()}`);
  const after = await recordStep(client, approval, 'cancelled', { sub: actor.sub, keyId: actor.keyId }, { state: 'cancelled' });
  if (approval.state === 'pending') deps.approvals.metrics.decided('cancelled', null);
  return { result: { states: [{ id, state: after.state }] }, target: `approval/${id}` };
});
