// The agents of a call that is explained, from the root of its chain to the calling agent: the profiles and the documents
// of each, and the denial by the steps before the rules are read.
import { type CompiledAgent, type DocumentId, documentKey, namesTool, parseAgentType, type Tier } from '@tollgate/proto/contract';
import { documentIdsFor, haltOf } from './bind.ts';
import type { Index } from './build-index.ts';
import type { Subject } from './call.ts';
import type { AgentFacts, BoundHop } from './caller.ts';
import { registrationRefusal, scopesOf, toolRefusal } from './chain.ts';
import type { Decision } from './decision.ts';

/** An agent of a chain, as the question names it. */
export interface AskedAgent {
  readonly agentType: string;
  readonly tier: Tier;
}

export interface AskedChain extends AskedAgent {
  readonly subject: Pick<Subject, 'role' | 'uid'>;
  readonly tool: string;
  /** The agents above the calling agent, root first. Absent: a direct call. */
  readonly above?: readonly AskedAgent[];
  /** What conditions read of the scopes. Absent: each agent has handed on all the scopes that it has. */
  readonly scopes?: AgentFacts['scopes'];
}

export interface ExplainedAgent {
  readonly hop: BoundHop;
  /** All profiles with the name of the agent. If there are several, a call names the intended one by id. */
  readonly profiles: readonly CompiledAgent[];
  /** The documents that can apply, whether they are set or not, from broad to specific. */
  readonly ids: readonly DocumentId[];
}

/** The agents above, root first, and the calling agent. */
export interface ExplainedChain {
  readonly above: readonly ExplainedAgent[];
  readonly calling: ExplainedAgent;
}

export function chainOf(index: Index, { subject, tool, above = [], scopes, ...calling }: AskedChain): ExplainedChain {
  const agentOf = ({ agentType, tier }: AskedAgent, isAbove: boolean): ExplainedAgent => {
    const { client = '', name = '' } = parseAgentType(agentType) ?? {};
    const profiles = index.agentsByName.get(name) ?? [];
    const ids = documentIdsFor(subject, agentType);
    const documents = ids.flatMap((id) => index.documents.get(documentKey(id)) ?? []);
    const profile = (profiles.length === 1 || isAbove ? likelyOf(profiles, tool) : null) ?? null;
    const facts = scopes === undefined ? {} : { facts: { scopes, ...(profile === null ? {} : { id: profile.id }) } };
    return { hop: { hop: { tier, client, agent: name }, name, profile, agentType, tier, documents, ...facts }, profiles, ids };
  };
  return { above: above.map((one) => agentOf(one, true)), calling: agentOf(calling, false) };
}

/** Returns the profile that a call through this agent most likely names: one that does not deny the call. */
const likelyOf = (profiles: readonly CompiledAgent[], tool: string): CompiledAgent | undefined =>
  profiles.find(({ suspended, enabledTools }) => !suspended && namesTool(enabledTools, tool)) ?? profiles[0];

export const agentsOf = ({ above, calling }: ExplainedChain): readonly ExplainedAgent[] => [...above, calling];
export const hopsOf = (chain: ExplainedChain): readonly BoundHop[] => agentsOf(chain).map(({ hop }) => hop);

/** Steps 0 and 3: returns the denial before the rules. Null: there is none, with one of the profiles of the calling agent. */
export function refusalBefore(index: Index, { above, calling: { hop, profiles } }: ExplainedChain, tool: string): Decision | null {
  const refusals = (profiles.length === 0 ? [null] : profiles).map((profile) => {
    const hops = [...above.map((one) => one.hop), { ...hop, profile }];
    return haltOf(index, hops) ?? registrationRefusal(index, hops) ?? toolRefusal({ hops, scopes: scopesOf(hops), index }, tool);
  });
  return refusals.every((refusal) => refusal !== null) ? (refusals[0] ?? null) : null;
}
