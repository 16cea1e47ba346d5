// Steps 0 to 3 of a decision, as far as they do not depend on the tool: who calls, through which agents, and whether
// they may call anything at all. Done once for a claim and a snapshot.
import {
  agentTypeKey,
  bounds,
  type CompiledAgent,
  type CompiledKey,
  documentKey,
  hasScope,
  namesTool,
  nameProblem,
} from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { Decision } from './decision.ts';
import type { IndexedDocument } from './document.ts';
import type { Principal } from './fold.ts';
import type { Plan } from './plan.ts';
import { refuse } from './refusal.ts';

/** One agent of the chain, resolved. `profile` is null for an agent that nobody registered. */
export interface BoundHop extends Principal {
  readonly hop: Hop;
  readonly name: string;
  readonly profile: CompiledAgent | null;
}

export interface Caller {
  readonly index: Index;
  readonly claim: Claim;
  readonly key: CompiledKey | null;
  readonly subject: Subject | null;
  readonly hops: readonly BoundHop[];
  /** The profile of the calling agent, which carries the caps of its run. */
  readonly profile: CompiledAgent | null;
  readonly tier: Hop['tier'];
  /** What the agent has, after every hop of the chain gave on at most what it had. */
  readonly scopes: readonly string[];
  /** The tier, of any hop, that the workspace denies while the policy is stale; null: none of them. */
  readonly deniedInOutage: Hop['tier'] | null;
  /** Step 0: before every rule, and before the outage rule. */
  readonly halted: Decision | null;
  /** Steps 2 and 3. */
  readonly refused: Decision | null;
  /** What was worked out for tools called before. */
  readonly plans: Map<string, Plan>;
}

/** The caller of a claim under this snapshot; equal claims share one. */
export function bindCaller(index: Index, claim: Claim): Caller {
  const cacheKey = JSON.stringify(claim);
  const known = index.callers.get(cacheKey);
  if (known !== undefined) return known;
  const caller = bind(index, claim);
  index.callers.set(cacheKey, caller);
  return caller;
}

function bind(index: Index, claim: Claim): Caller {
  const key = index.keysById.get(claim.identity.keyId) ?? null;
  const subject = key === null ? null : subjectOf(index, key, claim.identity.sub);
  const hops = pinned(claim.hops, key).map((hop) => bindHop(index, hop, subject));
  const last = hops.at(-1);
  if (last === undefined) throw new RangeError('a claim names at least the calling agent');
  return {
    index,
    claim,
    key,
    subject,
    hops,
    profile: last.profile,
    tier: last.tier,
    scopes: scopesOf(hops),
    deniedInOutage: hops.find(({ tier }) => index.settings.outage.then[tier] === 'deny')?.tier ?? null,
    halted: haltOf(index, hops),
    refused: identityRefusal(index, claim, key, subject) ?? agentRefusal(index, hops),
    plans: new Map(),
  };
}

/** A key may pin what its holder would otherwise claim about the calling agent. */
function pinned(hops: readonly Hop[], key: CompiledKey | null): readonly Hop[] {
  if (key === null) return hops;
  const { tier, agent, client } = key.pins;
  return hops.map((hop, at) =>
    at < hops.length - 1 ? hop : { ...hop, tier: tier ?? hop.tier, agent: agent ?? hop.agent, client: client ?? hop.client },
  );
}

function bindHop(index: Index, hop: Hop, subject: Subject | null): BoundHop {
  const named = profilesNamed(index, hop.agent);
  const profile = (named.length === 1 ? named[0] : undefined) ?? null;
  const name = profile?.name ?? hop.agent;
  const agentType = agentTypeKey({ client: hop.client, tier: hop.tier, name });
  return { hop, name, profile, agentType, tier: hop.tier, documents: subject === null ? [] : documentsFor(index, subject, agentType) };
}

function profilesNamed(index: Index, agent: string): readonly CompiledAgent[] {
  const byId = index.agentsById.get(agent);
  return byId === undefined ? (index.agentsByName.get(agent) ?? []) : [byId];
}

/** The documents that can speak for a principal, broad to specific. */
export function documentsFor(index: Index, subject: Pick<Subject, 'role' | 'uid'>, agentType: string): readonly IndexedDocument[] {
  const keys = [documentKey({ layer: 'workspace' }), documentKey({ layer: 'role', role: subject.role }), documentKey({ layer: 'agent-type', agentType })];
  if (subject.uid !== null) {
    for (const part of ['organisation', 'self'] as const) keys.push(documentKey({ layer: 'user', uid: subject.uid, part }));
  }
  return keys.flatMap((key) => index.documents.get(key) ?? []);
}

/** The member a claim names, or the service key itself; null where there is no such member. */
function subjectOf(index: Index, key: CompiledKey, sub: string): Subject | null {
  if (key.uid === null && sub === `apikey:${key.id}`) return { sub, uid: null, role: key.role, email: '' };
  const member = index.members.get(sub);
  return member === undefined ? null : { sub, uid: sub, role: member.role, email: member.email };
}

function haltOf(index: Index, hops: readonly BoundHop[]): Decision | null {
  if (index.settings.frozen) return refuse('workspace_frozen', 'the workspace is frozen: every call is denied until an owner or admin unfreezes it');
  const suspended = hops.find(({ profile }) => profile?.suspended === true);
  return suspended === undefined ? null : refuse('agent_suspended', `agent ${JSON.stringify(suspended.name)} is suspended`);
}

function identityRefusal(index: Index, { identity, hops }: Claim, key: CompiledKey | null, subject: Subject | null): Decision | null {
  const malformed = hops.map(hopProblem).find((words) => words !== null);
  if (malformed != null) return refuse('call_malformed', malformed);
  if (key === null) return refuse('key_revoked', 'the key was revoked, or its member left');
  if (!hasScope(key.scopes, 'govern')) return refuse('key_scope', 'the key lacks the scope "govern"');
  if (subject === null) return refuse('identity_unknown', `${JSON.stringify(identity.sub)} is not a member of workspace "${index.settings.workspace}"`);
  const own = key.uid ?? `apikey:${key.id}`;
  if (identity.sub !== own && !hasScope(key.scopes, 'govern.impersonate')) {
    return refuse('key_scope', 'the key lacks the scope "govern.impersonate" that naming another user needs');
  }
  return null;
}

function hopProblem({ agent, client }: Hop): string | null {
  const ofAgent = agent === '' ? null : nameProblem(agent);
  if (ofAgent !== null) return `agent name ${ofAgent}`;
  const ofClient = nameProblem(client);
  if (ofClient !== null) return `client name ${ofClient}`;
  return client.includes('::') ? 'client name must not hold "::"' : null;
}

function agentRefusal(index: Index, hops: readonly BoundHop[]): Decision | null {
  for (const { hop, profile } of hops) {
    const quoted = JSON.stringify(hop.agent);
    const count = profile === null ? profilesNamed(index, hop.agent).length : 1;
    if (count > 1) return refuse('agent_ambiguous', `${count} agents are named ${quoted}; name the one that is meant by its id`);
    if (count === 0 && index.settings.unknownAgents === 'deny') return refuse('agent_unknown', `no agent ${quoted} is registered, and the workspace denies unknown agents`);
  }
  return null;
}

function delegationRefusal(hops: readonly BoundHop[]): Decision | null {
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
function scopesOf(hops: readonly BoundHop[]): readonly string[] {
  const [first = [], ...rest] = hops.flatMap(({ profile, hop }) => [profile?.scopes ?? [], ...(hop.handedScopes === undefined ? [] : [hop.handedScopes])]);
  return rest.reduce((held, scopes) => held.filter((scope) => scopes.includes(scope)), first);
}

/** Step 3, as far as it depends on the tool. */
export function toolRefusal({ hops, scopes, index }: Caller, tool: string): Decision | null {
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
  return missing.length === 0 ? null : refuse('scope_missing', `${quoted} requires the scopes ${missing.join(', ')}, which the agent lacks`);
}
