import { requireAccessTo } from '../../access/rules/access.ts';
import { badRequest, unauthenticated } from '../../base/refusal.ts';
import { explainCall as explainState, type ExplainQuestion } from '@tollgate/sidecar/engine/compile';
import { readWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import { readOperation } from '../../access/operation.ts';

interface ExplainRequest extends Omit<ExplainQuestion, 'call'> {
  /** Absent: nothing is known of the input. */
  readonly input?: unknown;
}

/**
 * Returns what would be decided and why. A member can ask about their own subject, about the key of the request, and
 * about roles. Cases are evaluated for `input`, and for the present time.
 */
export const explainCall = readOperation(
  'policy.explain',
  async ({ pool, defaults, clock }, actor, { input, ...question }: ExplainRequest) => {
    if (question.sub !== undefined && question.sub !== actor.sub) requireAccessTo(actor, 'policy.explain', question.sub);
    if (question.sub?.startsWith('agent:') === true)
      throw badRequest('sub is an agent, and agents have no policy; use the originSub of the entry');
    const state = await readWorkspaceState(pool, actor.workspaceId);
    if (state === null) throw unauthenticated('the workspace of this key no longer exists');
    const call = input === undefined ? {} : { call: { input, wallTime: clock().getTime() } };
    const explanation = explainState(state, defaults, { ...question, ...call });
    if (explanation === null)
      throw badRequest(`${JSON.stringify(question.sub)} is not a member or service key of this workspace; use role instead`);
    return explanation;
  },
);
