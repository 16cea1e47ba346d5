// The forms of an approval over REST.
import type { ShownApproval, WholeApproval } from '../operations/list.ts';

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Returns an approval as the list shows it. */
export function shownApproval({ approval, shownText, used, answers }: ShownApproval) {
  const { call, rules, hidden, revision } = approval;
  return {
    id: approval.id,
    question: approval.questionId,
    state: approval.state,
    createdAt: approval.createdAt.toISOString(),
    expiresAt: approval.expiresAt.toISOString(),
    usableUntil: iso(approval.usableUntil),
    answeredAt: iso(approval.answeredAt),
    by: approval.answeredBy,
    note: approval.note,
    uses: approval.uses,
    used,
    need: approval.need,
    approvals: answers.map(({ uid, at, via }) => ({ by: uid, at: at.toISOString(), via })),
    call: {
      tool: call.tool,
      agent: call.agents.at(-1) ?? '',
      agentType: call.agentType,
      agents: call.agents,
      tier: call.tier,
      sub: call.originSub,
      sessionId: call.sessionId,
      keyId: call.keyId,
      revision: revision.number,
      claimedClient: approval.claimedClient,
    },
    rules: rules.map(({ document, path, terms }) => ({
      document,
      path,
      approvers: terms.approvers,
      need: terms.need,
      reason: terms.reason ?? null,
    })),
    shownInput: JSON.parse(approval.shownInput) as unknown,
    shownText,
    inputCut: false,
    findings: approval.findings,
    hidden,
    revealedBy: approval.revealedBy,
    why: rules
      .map(({ document, path, terms }) => `${document} ${path} asks${terms.reason === undefined ? '' : `: ${terms.reason}`}`)
      .join('; '),
  };
}

/** Returns an approval with its question, its steps and the last calls of its session. */
export const shownWhole = ({ question, steps, calls, ...shown }: WholeApproval) => ({
  ...shownApproval(shown),
  questionIds: question,
  steps: steps.map(({ at, action, sub, keyId, detail }) => ({ at: at.toISOString(), action, sub, keyId, detail })),
  session: { calls },
});
