// Builds a caller from audit entries. With it, past calls can be decided again by documents alone. The checks before
// policy (keys, profiles, delegated tools, caps) let the original call pass and are not repeated. Of these checks, only
// the parts that documents configure apply: `unknownAgents` and `outage`. The control plane uses this to simulate a
// draft of the policy, and to count the use of limits.
import { agentTypeKey, type CompiledSettings, type Layer, type Part, type Role, type Tier } from '@tollgate/proto/contract';
import { documentsFor } from './bind.ts';
import type { Index } from './build-index.ts';
import type { BoundHop, Caller } from './caller.ts';
import { registrationRefusal } from './chain.ts';
import type { Decision } from './decision.ts';
import { anyCase } from './document.ts';
import type { Fold, Winner } from './fold.ts';
import { foldsOf } from './plan.ts';
import { noSpelledNames } from './spelled-names.ts';
import { ruleWords } from './words.ts';

export interface ReplayedHop {
  readonly client: string;
  readonly tier: Tier;
  readonly name: string;
  /** Whether an agent of this name was registered. */
  readonly registered: boolean;
}

export interface ReplayedCaller {
  /** A member's uid or `apikey:<id>`. For a delegated call, the subject that started the chain. */
  readonly sub: string;
  readonly keyId: string;
  readonly role: Role;
  /** The chain of agents, from the root to the caller. There is at least one hop. */
  readonly hops: readonly ReplayedHop[];
}

/** The policy that follows from the documents of a workspace alone. */
export interface ReplayedPolicy {
  readonly revision: number;
  readonly settings: CompiledSettings;
  readonly documents: Pick<Index['documents'], 'get'>;
}

/** Returns a function that binds replayed callers to a policy. It does not cache callers. */
export function createReplayedBinder({ revision, settings, documents }: ReplayedPolicy): (replayed: ReplayedCaller) => Caller {
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
    servers: new Map(),
    spelledTools: noSpelledNames,
    shownHeaders: new Set(),
  };
  return (replayed) => bindReplayed(index, documents, replayed);
}

function bindReplayed(index: Index, documents: ReplayedPolicy['documents'], { sub, keyId, role, hops }: ReplayedCaller): Caller {
  const subject = { sub, uid: sub.startsWith('apikey:') ? null : sub, role, email: '' };
  const bound = hops.map(({ client, tier, name }): BoundHop => {
    const agentType = agentTypeKey({ client, tier, name });
    const speaking = documentsFor({ documents }, subject, agentType);
    return { hop: { tier, client, agent: name }, name, profile: null, agentType, tier, documents: speaking };
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

/**
 * Returns the enforced fold, even if the call is denied. The limits of the fold are those that count the call if the
 * call is allowed.
 */
export const enforcedFold = (caller: Caller, tool: string): Fold => foldsOf(caller, tool, undefined, () => anyCase).enforced;

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
export function permissionStanding(caller: Caller, tool: string, { code, rule }: Decision): Standing {
  if (code === 'agent_unknown') return settingOf('unknownAgents');
  if (code === 'outage') return settingOf('outage');
  const fold = enforcedFold(caller, tool);
  const limit =
    code === 'rate_limited' && rule !== null
      ? fold.limits.findLast(({ layer, part, path }) => layer === rule.layer && part === rule.part && path === rule.path)
      : undefined;
  if (limit === undefined) return standing(fold.permissionBy);
  const { id, layer, part, path } = limit;
  return { layer, ...(part === undefined ? {} : { part }), document: id.slice(0, id.length - path.length - 1), path };
}

/** Returns the place that determines whether the payload is redacted, and the reason in words. */
export function transformStanding(caller: Caller, tool: string): Standing & { readonly reason: string } {
  const { transform, transformBy } = enforcedFold(caller, tool);
  return { ...standing(transformBy), reason: ruleWords(transform === 'redact' ? 'redacts' : 'logs', transformBy, tool, caller.tier) };
}
