// Makes the texts that channels receive. They name an approval and say nothing of its input: the receiver may be outside of
// the organisation. Invisible characters are escaped, because the texts reach people. Pure.
import type { Approval } from '../../approvals/rules/approval.ts';
import { escapeHidden } from '../../approvals/rules/plain-text.ts';

/** The maximum of one text in a message, in UTF-16 code units. Names and reasons are shorter or are cut here. */
const textLength = 300;
const whyLength = 1_000;

const lineOf = (text: string, max: number = textLength): string => {
  const line = escapeHidden(text).replaceAll('\n', String.raw`\n`);
  // Many readers of JSON refuse half of a surrogate pair.
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
};

/** Why a message is sent: a person is asked, or the question has ended. */
export type MessageType = 'asked' | 'approved' | 'denied' | 'expired' | 'cancelled';

/** Returns the JSON text of a message about one approval. `at`: when the step was made. */
export function approvalBody(workspace: string, approval: Approval, type: MessageType, at: Date): string {
  const { id, questionId, state, call, rules, expiresAt, need, answeredBy } = approval;
  const why = rules
    .map(({ document, path, terms }) => `${document} ${path} asks${terms.reason === undefined ? '' : `: ${terms.reason}`}`)
    .join('; ');
  return JSON.stringify({
    type: `approval.${type}`,
    timestamp: at.toISOString(),
    data: {
      workspace,
      approval: id,
      question: questionId,
      state,
      tool: lineOf(call.tool),
      agent: lineOf(call.agents.at(-1) ?? ''),
      sub: lineOf(call.originSub),
      why: lineOf(why, whyLength),
      need,
      expiresAt: expiresAt.toISOString(),
      ...(answeredBy === null || state === 'pending' ? {} : { by: lineOf(answeredBy) }),
      command: `tollgate approvals show ${id}`,
    },
  });
}

export interface Digest {
  readonly ids: readonly string[];
  readonly count: number;
  readonly since: Date;
}

/** Returns the JSON text of a digest, which replaces the messages about many new approvals. */
export const digestBody = (workspace: string, { ids, count, since }: Digest, at: Date): string =>
  JSON.stringify({
    type: 'approval.digest',
    timestamp: at.toISOString(),
    data: { workspace, count, since: since.toISOString(), approvals: ids, command: 'tollgate approvals list' },
  });

/** Returns the JSON text of a message that only shows that a channel works. */
export const testBody = (workspace: string, channel: string, at: Date): string =>
  JSON.stringify({
    type: 'approval.test',
    timestamp: at.toISOString(),
    data: { workspace, channel, command: 'tollgate channels list' },
  });
