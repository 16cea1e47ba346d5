// Does step 3 of a decision: what the agents of the chain may do. `bind.ts` calls the checks that do not depend on the
// tool, and `plan.ts` calls the others.
import { bounds, type CompiledAgent, namesTool } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { BoundHop, Caller } from './caller.ts';
import type { Decision } from './decision.ts';
import { refuse } from './refusal.ts';

/** Returns the profiles that an id or a name refers to: none, one, or several with the same name. */
export function profilesNamed(index: Index, agent: string): readonly CompiledAgent[] {
  const byId = index.agentsById.get(agent);
  return byId === undefined ? (index.agentsByName.get(agent) ?? []) : [byId];
}

/**
 * Step 3: returns the denial if the name of an agent is ambiguous, or if an agent is unknown and the workspace denies
 * unknown agents. Otherwise returns null.
 */
export function registrationRefusal(index: Index, hops: readonly BoundHop[]): Decision | null {
  for (const { hop, profile } of hops) {
    const quoted = JSON.stringify(hop.agent);
    const count = profile === null ? profilesNamed(index, hop.agent).length : 1;
    if (count > 1) return refuse('agent_ambiguous', `${count} agents have the name ${quoted}; use the id of the agent instead of the name`);
    if (count === 0 && index.settings.unknownAgents === 'deny')
      return refuse('agent_unknown', `no agent ${quoted} is registered, and the workspace denies unknown agents`);
  }
  return null;
}

/** Step 3: returns the denial if this chain of agents is not allowed. Otherwise returns null. */
export function delegationRefusal(hops: readonly BoundHop[]): Decision | null {
  const depth = hops.length - 1;
  if (depth > bounds.delegationDepth)
    return refuse(
      'delegation_denied',
      `a chain of agents may be at most ${bounds.delegationDepth} hops deep, but this chain is ${depth} hops deep`,
    );
  const seen = new Set<string>();
  for (const [at, { profile, name }] of hops.entries()) {
    if (profile === null) continue;
    const quoted = JSON.stringify(name);
    if (seen.has(profile.id)) return refuse('delegation_denied', `agent ${quoted} is in the chain twice`);
    seen.add(profile.id);
    if (at > 0 && !profile.delegatable)
      return refuse('delegation_denied', `agent ${quoted} is not delegatable, so other agents may not delegate tasks to it`);
    if (at < depth && !profile.canDelegate) return refuse('delegation_denied', `agent ${quoted} may not delegate tasks to other agents`);
    if (profile.maxDelegationDepth !== null && depth - at > profile.maxDelegationDepth) {
      return refuse(
        'delegation_denied',
        `agent ${quoted} allows at most ${profile.maxDelegationDepth} hops below it, but the chain has ${depth - at} hops below this agent`,
      );
    }
  }
  return null;
}

/**
 * Returns the scopes that every agent of the chain has. If scopes were delegated to an agent of the chain, only scopes
 * among them are returned. An unregistered agent has no scopes.
 */
export function scopesOf(hops: readonly BoundHop[]): readonly string[] {
  const [first = [], ...rest] = hops.flatMap(({ profile, hop }) => [
    profile?.scopes ?? [],
    ...(hop.handedScopes === undefined ? [] : [hop.handedScopes]),
  ]);
  return rest.reduce((held, scopes) => held.filter((scope) => scopes.includes(scope)), first);
}

/** Step 3: returns the denial by the checks that depend on the tool. Otherwise returns null. */
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
      return refuse('delegated_tools', `the task that was delegated to agent ${JSON.stringify(name)} does not include the tool ${quoted}`);
    }
  }
  const required = index.requiredScopes.get(tool) ?? [];
  const missing = required.filter((scope) => !scopes.includes(scope));
  return missing.length === 0
    ? null
    : refuse('scope_missing', `${quoted} requires the scopes ${missing.join(', ')}, which the agent lacks`);
}
