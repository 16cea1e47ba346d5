// Explains a call from a workspace's state, by the same index a sidecar builds from the same bytes.
import { buildIndex, type Explanation, explain, type Index, verifySnapshot } from '@tollgate/sidecar/decide';
import { type Role, snapshotHash, snapshotSchemaVersion, type Tier } from '@tollgate/proto/contract';
import { compileSnapshot } from './compile.ts';
import type { PolicyDefaults, WorkspaceState } from './state.ts';

export interface ExplainQuestion {
  /** A member's uid or `apikey:<id>`; or a role alone. */
  readonly sub?: string;
  readonly role?: Role;
  readonly agentType: string;
  readonly tier: Tier;
  readonly tool: string;
}

/** The index of a workspace as every sidecar of form `process` has it. */
export function indexOf(state: WorkspaceState, defaults: PolicyDefaults): Index {
  const entries = compileSnapshot(state, defaults);
  const verified = verifySnapshot(
    {
      revision: { epoch: state.epoch, number: state.revision },
      workspace: state.workspace,
      schemaVersion: snapshotSchemaVersion,
      hash: snapshotHash(entries),
      entries,
    },
    state.workspace,
  );
  if (!verified.ok) throw new Error(`the compiler made a snapshot that no sidecar takes: ${verified.code}: ${verified.message}`);
  return buildIndex(verified.snapshot);
}

/** Null where `sub` is nobody in this workspace. */
export function explainCall(state: WorkspaceState, defaults: PolicyDefaults, question: ExplainQuestion): Explanation | null {
  const subject = subjectOf(state, question);
  if (subject === null) return null;
  const { agentType, tier, tool } = question;
  return explain(indexOf(state, defaults), { subject, agentType, tier, tool });
}

function subjectOf(state: WorkspaceState, { sub, role }: ExplainQuestion): { readonly role: Role; readonly uid: string | null } | null {
  if (sub === undefined) return role === undefined ? null : { role, uid: null };
  const member = state.members.find(({ uid }) => uid === sub);
  if (member !== undefined) return { role: member.role, uid: sub };
  const key = state.keys.find(({ id, uid }) => uid === null && sub === `apikey:${id}`);
  return key === undefined ? null : { role: key.role, uid: null };
}
