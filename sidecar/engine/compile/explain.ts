// Explains a call from a workspace's state, with the same index that a sidecar builds from the same bytes.
import { documentKey, type Role, type Tier } from '@tollgate/proto/contract';
import { documentIdsFor } from '../decide/bind.ts';
import { type ExplainedInput, type Explanation, explain } from '../decide/explain.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';
import { indexOf } from './index-of.ts';

export interface ExplainQuestion {
  /** A member's uid or `apikey:<id>`. A role can be given instead. */
  readonly sub?: string;
  readonly role?: Role;
  readonly agentType: string;
  readonly tier: Tier;
  readonly tool: string;
  /** What the call would be. Absent: every case may hold. */
  readonly call?: ExplainedInput;
}

/**
 * Returns why a direct call of this subject gets its decision. Only the documents that apply to the subject are
 * compiled. Null if `sub` does not exist in this workspace, or if neither `sub` nor `role` is given. Throws the same
 * errors as `indexOf`.
 */
export function explainCall(state: PolicySource, defaults: PolicyDefaults, question: ExplainQuestion): Explanation | null {
  const subject = subjectOf(state, question);
  if (subject === null) return null;
  const { agentType, tier, tool, call } = question;
  // Keeps only the documents that apply to the subject. A workspace may have ten thousand users with documents.
  const speaking = new Set(documentIdsFor(subject, agentType).map(documentKey));
  const documents = state.documents.filter(({ id }) => speaking.has(documentKey(id)));
  return explain(indexOf({ ...state, documents, members: [], keys: [] }, defaults), { subject, agentType, tier, tool, ...(call === undefined ? {} : { call }) });
}

function subjectOf(state: PolicySource, { sub, role }: ExplainQuestion): { readonly role: Role; readonly uid: string | null } | null {
  if (sub === undefined) return role === undefined ? null : { role, uid: null };
  const member = state.members.find(({ uid }) => uid === sub);
  if (member !== undefined) return { role: member.role, uid: sub };
  const key = state.keys.find(({ id, uid }) => uid === null && sub === `apikey:${id}`);
  return key === undefined ? null : { role: key.role, uid: null };
}
