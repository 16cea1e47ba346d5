// Builds a caller from audit entries. With it, past calls can be decided again by documents alone. The checks before
// policy (keys, profiles, delegated tools, caps) let the original call pass and are not repeated. Of these checks, only
// the parts that documents configure apply: `unknownAgents` and `outage`. The control plane uses this to simulate a
// draft of the policy, and to count the use of limits.
import {
  agentTypeKey,
  type CompiledServer,
  type CompiledSettings,
  type Layer,
  type Part,
  type Role,
  type Tier,
} from '@tollgate/proto/contract';
import { Undecided } from '../conditions/values.ts';
import { documentsFor } from './bind.ts';
import type { Index } from './build-index.ts';
import type { AgentFacts, BoundHop, Caller, ConditionalPlan } from './caller.ts';
import { answerCases, type CallFacts } from './cases.ts';
import { registrationRefusal } from './chain.ts';
import type { Decision } from './decision.ts';
import { anyCase } from './document.ts';
import type { Fold, Winner } from './fold.ts';
import { answersByHop, type AnswersOfHop, foldsOf, planFor, planKey } from './plan.ts';
import { noSpelledNames } from './spelled-names.ts';
import { ruleWords } from './words.ts';

export interface ReplayedHop {
  readonly client: string;
  readonly tier: Tier;
  readonly name: string;
  /** Whether an agent of this name was registered. */
  readonly registered: boolean;
  /** The id of the registered agent. Absent: it is unknown, or the agent was not registered. */
  readonly id?: string;
}

export interface ReplayedCaller {
  /** A member's uid or `apikey:<id>`. For a delegated call, the subject that started the chain. */
  readonly sub: string;
  readonly keyId: string;
  readonly role: Role;
  /** The chain of agents, from the root to the caller. There is at least one hop. */
  readonly hops: readonly ReplayedHop[];
}

/** The policy that follows from the documents of a workspace alone, and what conditions read of the workspace. */
export interface ReplayedPolicy {
  readonly revision: number;
  readonly settings: CompiledSettings;
  readonly documents: Pick<Index['documents'], 'get'>;
  /** The scopes of the present agents, by id. */
  readonly agentScopes: ReadonlyMap<string, readonly string[]>;
  readonly servers: ReadonlyMap<string, CompiledServer>;
  /** Whether a rule has cases, so that the input of a call is needed to decide it again. */
  readonly readsInput: boolean;
}

/** Returns a function that binds replayed callers to a policy. It does not cache callers. */
export function createReplayedBinder(policy: ReplayedPolicy): (replayed: ReplayedCaller) => Caller {
  const { revision, settings, servers } = policy;
  // This index has no known agents, so no name is ambiguous. No tool requires scopes in it.
  const index: Index = {
    epoch: '',
    revision,
    hash: Buffer.alloc(0),
    settings,
    documents: new Map(),
    agentsById: new Map(),
    agentsByName: new Map(),
    members: new Map(),
    keysById: new Map(),
    keysByHash: new Map(),
    requiredScopes: new Map(),
    servers,
    spelledTools: noSpelledNames,
    shownHeaders: new Set(),
  };
  return (replayed) => bindReplayed(index, policy, replayed);
}

function bindReplayed(index: Index, { documents, agentScopes }: ReplayedPolicy, { sub, keyId, role, hops }: ReplayedCaller): Caller {
  const subject = { sub, uid: sub.startsWith('apikey:') ? null : sub, role, email: '' };
  const scopes = scopesOf(hops, agentScopes);
  const bound = hops.map(({ client, tier, name, registered, id }): BoundHop => {
    const agentType = agentTypeKey({ client, tier, name });
    const speaking = documentsFor({ documents }, subject, agentType);
    const facts = { scopes, ...(registered ? { id: id ?? unknownId } : {}) };
    return { hop: { tier, client, agent: name }, name, profile: null, agentType, tier, documents: speaking, facts };
  });
  const last = bound.at(-1);
  if (last === undefined) throw new RangeError('a caller from audit entries must have at least one hop, the hop of the calling agent');
  return {
    index,
    claim: { identity: { sub, keyId }, hops: bound.map(({ hop }) => hop) },
    key: null,
    subject,
    hops: bound,
    profile: null,
    tier: last.tier,
    scopes: [],
    deniedInOutage: hops.find(({ tier }) => index.settings.outage.then[tier] === 'deny')?.tier ?? null,
    halted: null,
    refused: registrationRefusal(
      index,
      bound.filter((_, at) => hops[at]?.registered !== true),
    ),
    isKept: true,
    plans: new Map(),
  };
}

const unknownId = new Undecided('hidden', 'agent.id');
const unknownScopes = new Undecided('hidden', 'agent.scopes');

/**
 * Returns the scopes that every agent of the chain has now. Entries do not record scopes. Those of a chain are unknown,
 * because a delegated task may have fewer than the agent. An agent that is not registered has none.
 */
function scopesOf(hops: readonly ReplayedHop[], agentScopes: ReplayedPolicy['agentScopes']): AgentFacts['scopes'] {
  if (hops.some(({ registered }) => !registered)) return [];
  const [only] = hops;
  return (hops.length === 1 && only?.id !== undefined ? agentScopes.get(only.id) : undefined) ?? unknownScopes;
}

const casesOf = (caller: Caller, tool: string): ConditionalPlan | null =>
  (caller.plans.get(planKey(tool, undefined)) ?? planFor(caller, tool)).cases;

/** Returns which cases hold in a call. Without facts, every case may hold. */
function answersFor(caller: Caller, tool: string, facts: CallFacts | null): AnswersOfHop {
  if (facts === null) return () => anyCase;
  const cases = casesOf(caller, tool);
  return cases === null ? () => anyCase : answersByHop(cases.questions, answerCases(caller.index, cases, facts).answers);
}

/**
 * Returns a text that is equal for calls of one caller and tool in which the same cases hold. Empty: no rule that
 * applies has cases.
 */
export function casesKey(caller: Caller, tool: string, facts: CallFacts): string {
  const cases = casesOf(caller, tool);
  return cases === null ? '' : answerCases(caller.index, cases, facts).signature;
}

/**
 * Returns the enforced fold, even if the call is denied. The limits of the fold are those that count the call if the
 * call is allowed. `facts`: what conditions read of the call. Null: every case may hold.
 */
export const enforcedFold = (caller: Caller, tool: string, facts: CallFacts | null): Fold =>
  foldsOf(caller, tool, undefined, answersFor(caller, tool, facts)).enforced;

/** A place in the policy that determines a decision, and the document that contains it. */
export interface Standing {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  readonly document: string;
  readonly path: string;
}

const standing = ({ layer, part, document, path }: Winner): Standing => ({ layer, ...(part === null ? {} : { part }), document, path });
const settingOf = (path: string): Standing => ({ layer: 'workspace', document: 'workspace', path });

/** Returns the place that determines whether the call is denied or allowed. */
export function permissionStanding(caller: Caller, tool: string, facts: CallFacts | null, { code, rule }: Decision): Standing {
  if (code === 'agent_unknown') return settingOf('unknownAgents');
  if (code === 'outage') return settingOf('outage');
  const fold = enforcedFold(caller, tool, facts);
  const limit =
    code === 'rate_limited' && rule !== null
      ? fold.limits.findLast(({ layer, part, path }) => layer === rule.layer && part === rule.part && path === rule.path)
      : undefined;
  if (limit === undefined) return standing(fold.permissionBy);
  const { id, layer, part, path } = limit;
  return { layer, ...(part === undefined ? {} : { part }), document: id.slice(0, id.length - path.length - 1), path };
}

/** Returns the place that determines whether the payload is redacted, and the reason in words. */
export function transformStanding(caller: Caller, tool: string, facts: CallFacts | null): Standing & { readonly reason: string } {
  const { transform, transformBy } = enforcedFold(caller, tool, facts);
  return { ...standing(transformBy), reason: ruleWords(transform === 'redact' ? 'redacts' : 'logs', transformBy, tool, caller.tier) };
}
