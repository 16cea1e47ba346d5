import { type ExplainQuestion, explainCall as explainState } from '../compile/explain.ts';
import { requireAccessTo } from '../domain/access.ts';
import { badRequest } from '../domain/refusal.ts';
import { readWorkspaceState } from '../store/workspace-state.ts';
import { readOperation } from './operation.ts';

/** Says what would be decided and why. A member may ask about themselves and about roles. */
export const explainCall = readOperation('policy.explain', async ({ pool, defaults }, actor, question: ExplainQuestion) => {
  if (question.sub !== undefined) requireAccessTo(actor, 'policy.explain', question.sub);
  const explanation = explainState(await readWorkspaceState(pool, actor.workspaceId), defaults, question);
  if (explanation === null) throw badRequest('sub is nobody in this workspace');
  return explanation;
});
