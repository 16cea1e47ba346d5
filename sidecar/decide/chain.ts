// Step 3 of a decision: what the agents of the chain may do. `bind.ts` asks what does not depend on the tool, `plan.ts` the rest.
import { bounds, type CompiledAgent, namesTool } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { BoundHop, Caller } from './caller.ts';
import type { Decision } from './decision.ts';
import { refuse } from './refusal.ts';

/** The profiles that an id or a name stands for: none, one, or several of one name. */
export function profilesNamed(index: Index, agent: string): readonly CompiledAgent[] {
  const byId = index.agentsById.get(agent);
  return byId === undefined ? (index.agentsByName.get(agent) ?? []) : [byId];
}

/** Step 3: whether every agent of the chain is known, as far as the workspace asks for that. */
export function registrationRefusal(index: Index, hops: readonly BoundHop[]): Decision | null {
  for (const { hop, profile } of hops) {
    const quoted = JSON.stringify(hop.agent);
    const count = profile === null ? profilesNamed(index, hop.agent).length : 1;
    if (count > 1) return refuse('agent_ambiguous', `${count} agents are named ${quoted}; name the one that is meant by its id`);
    if (count === 0 && index.settings.unknownAgents === 'deny')
      return refuse('agent_unknown', `no agent ${quoted} is registered, and the workspace denies unknown agents`);
  }
  return null;
}

/** Step 3: whether this chain of agents may be at all. */
export function delegationRefusal(hops: readonly BoundHop[]): Decision | null {
  const depth = hops.length - 1;
  if (depth > bounds.delegationDepth) return refuse('delegation_denied', `a chain may be ${bounds.delegationDepth} hops deep, is ${depth}`);
  const seen = new Set<string>();
  for (const [at, { profile, name }] of hops.entries()) {
    if (profile === null) continue;
    const quoted = JSON.stringify(name);
    if (seen.has(profile.id)) return refuse('delegation_denied', `agent ${quoted} is in the chain twice`);
    seen.add(profile.id);
    if (at > 0 && !profile.delegatable) return refuse('delegation_denied', `agent ${quoted} is not delegatable`);
    if (at < depth && !profile.canDelegate) return refuse('delegation_denied', `agent ${quoted} may not delegate`);
    if (profile.maxDelegationDepth !== null && depth - at > profile.maxDelegationDepth) {
      return refuse('delegation_denied', `agent ${quoted} allows ${profile.maxDelegationDepth} hops below it, there are ${depth - at}`);
    }
  }
  return null;
}

/** The scopes that every agent of the chain has and that were handed down. An agent that nobody registered has none. */
export function scopesOf(hops: readonly BoundHop[]): readonly string[] {
  const [first = [], ...rest] = hops.flatMap(({ profile, hop }) => [
    profile?.scopes ?? [],
    ...(hop.handedScopes === undefined ? [] : [hop.handedScopes]),
  ]);
  return rest.reduce((held, scopes) => held.filter((scope) => scopes.includes(scope)), first);
}

/** Step 3, as far as it depends on the tool. */
export function toolRefusal({ hops, scopes, index }: Pick<Caller, 'hops' | 'scopes' | 'index'>, tool: string): Decision | null {
  const quoted = JSON.stringify(tool);
  for (const { profile, name } of hops) {
    if (profile !== null && !namesTool(profile.enabledTools, tool)) {
      return refuse('agent_tools', `enabledTools of agent ${JSON.stringify(name)} does not name ${quoted}`);
    }
  }
  const delegation = delegationRefusal(hops);
  if (delegation !== null) return delegation;
  for (const { hop, name } of hops) {
    if (hop.handedTools !== undefined && !namesTool(hop.handedTools, tool)) {
      return refuse('delegated_tools', `the task was handed to agent ${JSON.stringify(name)} without ${quoted}`);
    }
  }
  const required = index.requiredScopes.get(tool) ?? [];
  const missing = required.filter((scope) => !scopes.includes(scope));
  return missing.length === 0
    ? null
    : refuse('scope_missing', `${quoted} requires the scopes ${missing.join(', ')}, which the agent lacks`);
}
