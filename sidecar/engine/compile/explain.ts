// Explains a call from a workspace's state, with the same index that a sidecar builds from the same bytes.
import { childPath, documentKey, keyedPath, type Role, rulePath, type Tier } from '@tollgate/proto/contract';
import { documentIdsFor } from '../decide/bind.ts';
import { type Explanation, explain } from '../decide/explain.ts';
import type { ExplainedCase, ExplainedInput } from '../decide/explain-cases.ts';
import type { AskedAgent, AskedChain } from '../decide/explain-chain.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';
import { indexOf } from './index-of.ts';
import type { PolicyDocument, StoredDocument, TierRulesDocument } from './policy-document.ts';

export interface ExplainQuestion {
  /** A member's uid or `apikey:<id>`. A role can be given instead. */
  readonly sub?: string;
  readonly role?: Role;
  readonly agentType: string;
  readonly tier: Tier;
  readonly tool: string;
  /** The agents above the calling agent, root first, at most `bounds.delegationDepth`. Absent: a direct call. */
  readonly above?: readonly AskedAgent[];
  /** What conditions read of the scopes of the agents. Absent: each has handed on all the scopes that it has. */
  readonly scopes?: NonNullable<AskedChain['scopes']>;
  /** What the call would be. Its input is at most `bounds.jsonDepth` deep. Absent: every case may hold. */
  readonly call?: ExplainedInput;
}

/**
 * Returns why a call of this subject gets its decision. Only the documents that apply to the subject are
 * compiled. Null if `sub` does not exist in this workspace, or if neither `sub` nor `role` is given. Throws the same
 * errors as `indexOf`.
 */
export function explainCall(state: PolicySource, defaults: PolicyDefaults, { tool, call, ...caller }: ExplainQuestion): Explanation | null {
  return createExplainer(state, defaults, caller)?.(tool, call) ?? null;
}

/** Like `explainCall`, for several calls of one caller. The documents are indexed once. */
export function createExplainer(
  state: PolicySource,
  defaults: PolicyDefaults,
  caller: Omit<ExplainQuestion, 'tool' | 'call'>,
): ((tool: string, call?: ExplainedInput) => Explanation) | null {
  const subject = subjectOf(state, caller);
  if (subject === null) return null;
  const { agentType, tier, above = [], scopes } = caller;
  // Keeps only the documents that apply to the subject. A workspace may have ten thousand users with documents.
  const speaking = new Set([...above, caller].flatMap((one) => documentIdsFor(subject, one.agentType).map(documentKey)));
  const documents = state.documents.filter(({ id }) => speaking.has(documentKey(id)));
  const index = indexOf({ ...state, documents, members: documents.some(mayAsk) ? state.members : [], keys: [] }, defaults);
  const asked = { subject, agentType, tier, above, ...(scopes === undefined ? {} : { scopes }) };
  return (tool, call) =>
    withConditions(withModes(explain(index, { ...asked, tool, ...(call === undefined ? {} : { call }) }), documents), documents, tier);
}

/** Whether a rule of the document may ask a person. Then the members are needed, to name those who may answer. */
const mayAsk = ({ document }: StoredDocument): boolean => JSON.stringify(document).includes('"ask"');

function subjectOf(
  state: PolicySource,
  { sub, role }: Pick<ExplainQuestion, 'sub' | 'role'>,
): { readonly role: Role; readonly uid: string | null } | null {
  if (sub === undefined) return role === undefined ? null : { role, uid: null };
  const member = state.members.find(({ uid }) => uid === sub);
  if (member !== undefined) return { role: member.role, uid: sub };
  const key = state.keys.find(({ id, uid }) => uid === null && sub === `apikey:${id}`);
  return key === undefined ? null : { role: key.role, uid: null };
}

/** Gives each layer the mode as its document has it. The index knows only whether a document is enforced. */
function withModes(explanation: Explanation, documents: readonly StoredDocument[]): Explanation {
  const modes = new Map(documents.map(({ id, document }) => [documentKey(id), document.mode ?? 'enforce']));
  const withOwn = (layers: Explanation['layers']): Explanation['layers'] =>
    layers.map((layer) => (layer.mode === null ? layer : { ...layer, mode: modes.get(layer.document) ?? layer.mode }));
  const { above } = explanation;
  return {
    ...explanation,
    layers: withOwn(explanation.layers),
    ...(above === undefined ? {} : { above: above.map((agent) => ({ ...agent, layers: withOwn(agent.layers) })) }),
  };
}

/** How much of a condition is shown, in UTF-16 code units. A workspace may have 2,000 conditions of 4 kB. */
const shownMax = 500;

/**
 * Adds the texts of conditions to the cases. The index has only their compiled form. A case that applies to several agents
 * of a chain has its text once, at the last of them, so that a chain does not repeat all texts.
 */
function withConditions(explanation: Explanation, documents: readonly StoredDocument[], tier: Tier): Explanation {
  const shownAt = new Set<string>();
  const withTexts = (layers: Explanation['layers'], tierOfAgent: Tier): Explanation['layers'] =>
    layers.map((layer) => {
      const { cases, document: key } = layer;
      if (cases === undefined) return layer;
      const stored = documents.find(({ id }) => documentKey(id) === key);
      const texts = stored === undefined ? new Map<string, string>() : conditionTexts(stored.document, tierOfAgent);
      const shown = (one: ExplainedCase): ExplainedCase => {
        const place = `${key} ${one.path}`;
        if (shownAt.has(place)) return one;
        shownAt.add(place);
        return { ...one, ...shownText(texts.get(one.path)) };
      };
      return { ...layer, cases: cases.map(shown) };
    });
  const layers = withTexts(explanation.layers, tier);
  const { above } = explanation;
  if (above === undefined) return { ...explanation, layers };
  const fromCaller = above.toReversed().map((agent) => ({ ...agent, layers: withTexts(agent.layers, agent.tier) }));
  return { ...explanation, layers, above: fromCaller.toReversed() };
}

const shownText = (when: string | undefined): { readonly when?: string } =>
  when === undefined ? {} : { when: when.length <= shownMax ? when : `${when.slice(0, shownMax).replace(/[\uD800-\uDBFF]$/, '')}…` };

/** Returns the texts of the conditions for one tier, by the places of their cases. */
function conditionTexts({ defaults = {}, tools = {}, agentTypes = {} }: PolicyDocument, tier: Tier): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const add = (path: string, rules: TierRulesDocument): void => {
    const { cases = [] } = (Object.hasOwn(rules, tier) ? rules[tier] : undefined) ?? {};
    for (const { name, when } of cases) texts.set(keyedPath(childPath(path, 'cases'), name), when);
  };
  add(rulePath('defaults', null, tier), defaults);
  for (const [key, rules] of Object.entries(tools)) add(rulePath('tools', key, tier), rules);
  for (const [key, rules] of Object.entries(agentTypes)) add(rulePath('agentTypes', key, tier), rules);
  return texts;
}
