// Explains a recorded call: why it was decided as it was, by the policy documents of the revision at which it was decided,
// for each agent of its chain.
// Agents, tool servers and keys have no history, so they are as they are today. Nothing is written.
import { isDeepStrictEqual } from 'node:util';
import { agentTypeKey, bounds, documentKey, parseAgentType, type Tier } from '@tollgate/proto/contract';
import {
  documentIdsFor,
  explainCall as explainState,
  type Explanation,
  type PolicySource,
  type ReplayedCaller,
  type StoredDocument,
  Undecided,
} from '@tollgate/sidecar/engine/compile';
import { type OperationDeps, readOperation } from '../../access/operation.ts';
import { refusalFor, refusalForOther } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { readWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import { knownFrom, type ReplayedCall, type ReplayedEntry, replayedCall } from '../evaluate/replayed-call.ts';
import { findDocumentsAt } from '../store/policy-history.ts';
import { readAhead } from './read-ahead.ts';

export type RecordedExplanation =
  | {
      readonly explanation: Explanation;
      /**
       * `isCurrent`: the documents that apply to the call are the same today. `isWhole`: the entry names the caller and every
       * agent above in full. Otherwise a client or a tier of an agent above is guessed.
       */
      readonly at: { readonly revision: number; readonly isCurrent: boolean; readonly isWhole: boolean };
    }
  /** Why there is no explanation. */
  | { readonly unexplained: string };

/**
 * Explains the call of a `PreToolUse` entry. Who may ask is the same as for `explainCall`; the answer then says why there
 * is no explanation, because the caller may read the entry.
 */
export const explainRecorded = readOperation('audit.read', async (deps, actor, entry: ReplayedEntry): Promise<RecordedExplanation> => {
  const refusal = whyNot(actor, entry);
  if (refusal !== null) return { unexplained: refusal };
  const { revision, epoch } = entry.fields;
  if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 1)
    return { unexplained: 'the entry does not name the revision at which the call was decided' };
  const state = await readWorkspaceState(deps.readingPool, actor.workspaceId);
  if (state === null) return { unexplained: 'the workspace no longer exists' };
  if (epoch !== state.epoch) return { unexplained: 'the database was restored from a backup after the call, so its policy is not known' };
  if (revision > state.revision) return { unexplained: `the entry names revision ${revision}, which the workspace has not reached` };
  const call = replayedCall(entry, knownFrom(state), true);
  const asked = askedBy(call);
  if (asked === null) return { unexplained: 'the entry does not name the caller in full' };
  return explained(deps, { actor, state, revision, call, asked });
});

/** Returns why the actor may not ask; null: it may. A caller that the entry does not name counts as another member. */
function whyNot(actor: Actor, { sub, fields }: ReplayedEntry): string | null {
  const origin = typeof fields['originSub'] === 'string' ? fields['originSub'] : sub;
  const refusal = refusalFor(actor, 'policy.explain') ?? (origin === actor.sub ? null : refusalForOther(actor, 'policy.explain', origin));
  return refusal === null ? null : `${refusal}: an explanation shows the policy of the caller`;
}

interface AskedCaller {
  readonly caller: ReplayedCaller;
  readonly agentType: string;
  readonly tier: Tier;
  /** The agents above, root first. */
  readonly above: readonly { readonly agentType: string; readonly tier: Tier }[];
  /** Null for a service key. */
  readonly uid: string | null;
}

function askedBy({ caller, tier }: ReplayedCall): AskedCaller | null {
  const agents = caller?.hops.map((hop) => ({ agentType: agentTypeKey(hop), tier: hop.tier })) ?? [];
  const calling = agents.at(-1);
  if (caller === null || calling === undefined || agents.length - 1 > bounds.delegationDepth) return null;
  if (agents.some((one) => parseAgentType(one.agentType) === null)) return null;
  return {
    caller,
    agentType: calling.agentType,
    tier,
    above: agents.slice(0, -1),
    uid: caller.sub.startsWith('apikey:') ? null : caller.sub,
  };
}

const unknownScopes = new Undecided('hidden', 'agent.scopes');

interface Recorded {
  readonly actor: Actor;
  readonly state: PolicySource;
  readonly revision: number;
  readonly call: ReplayedCall;
  readonly asked: AskedCaller;
}

async function explained(
  { readingPool, defaults }: OperationDeps,
  { actor, state, revision, call, asked }: Recorded,
): Promise<RecordedExplanation> {
  const { caller, agentType, tier, above, uid } = asked;
  const ofAgents = [...above, asked].flatMap((one) => documentIdsFor({ role: caller.role, uid }, one.agentType));
  const ids = [...new Map(ofAgents.map((id) => [documentKey(id), id])).values()];
  const then = await findDocumentsAt(readingPool, actor.workspaceId, ids, revision);
  const keys = new Set(ids.map(documentKey));
  const now = state.documents.filter(({ id }) => keys.has(documentKey(id)));
  await readAhead(then.map(({ document }) => document));
  const { facts } = call;
  const shownHeaders = facts?.shownHeaders;
  const explanation = explainState(
    {
      ...state,
      revision,
      documents: then,
      frozen: call.code === 'workspace_frozen',
      // The role that the member had. A member who was removed since then is explained too.
      members: uid === null ? state.members : [...state.members.filter((one) => one.uid !== uid), { uid, email: '', role: caller.role }],
    },
    defaults,
    {
      ...(uid === null ? { role: caller.role } : { sub: uid }),
      agentType,
      tier,
      // A delegated task may have been given fewer scopes than its agent has.
      ...(above.length === 0 ? {} : { above, scopes: unknownScopes }),
      tool: call.tool,
      ...(facts === null
        ? {}
        : { call: { input: facts.args, wallTime: facts.wallTime, ...(shownHeaders === undefined ? {} : { shownHeaders }) } }),
    },
  );
  if (explanation === null) return { unexplained: 'the caller of the entry is not known' };
  return { explanation, at: { revision, isCurrent: isDeepStrictEqual(sorted(then), sorted(now)), isWhole: !call.approximate } };
}

const sorted = (documents: readonly StoredDocument[]): readonly StoredDocument[] =>
  documents.toSorted((a, b) => (documentKey(a.id) < documentKey(b.id) ? -1 : 1));
