// A caller as audit entries have it, for deciding past calls again: by documents alone. Whatever stood before policy
// (keys, profiles, tools handed down, caps) has let the replayed call pass, and is not asked again; only what documents
// say of it is: `unknownAgents` and `outage`. For the control plane, which simulates and counts.
import { agentTypeKey, type CompiledSettings, type Layer, type Part, type Role, type Tier } from '@tollgate/proto/contract';
import { documentsFor } from './bind.ts';
import type { Index } from './build-index.ts';
import type { BoundHop, Caller } from './caller.ts';
import { registrationRefusal } from './chain.ts';
import type { Decision } from './decision.ts';
import type { Fold, Winner } from './fold.ts';
import { foldsOf } from './plan.ts';
import { noSpelledNames } from './spelled-names.ts';
import { ruleWords } from './words.ts';

export interface ReplayedHop {
  readonly client: string;
  readonly tier: Tier;
  readonly name: string;
  /** Whether a profile was behind the name. */
  readonly registered: boolean;
}

export interface ReplayedCaller {
  /** A member's uid or `apikey:<id>`: for a delegated call the one it began with. */
  readonly sub: string;
  readonly keyId: string;
  readonly role: Role;
  /** From the root to the caller, at least one. */
  readonly hops: readonly ReplayedHop[];
}

/** What documents say, and nothing else of a workspace. */
export interface ReplayedPolicy {
  readonly revision: number;
  readonly settings: CompiledSettings;
  readonly documents: Pick<Index['documents'], 'get'>;
}

/** Binds replayed callers to a policy. Callers are not remembered here. */
export function createReplayedBinder({ revision, settings, documents }: ReplayedPolicy): (replayed: ReplayedCaller) => Caller {
  // Nobody is known by it, nobody is ambiguous, and no tool asks for scopes.
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
  if (last === undefined) throw new RangeError('a replayed caller has at least the calling agent');
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
    plans: new Map(),
  };
}

/** Whatever the permission is: the limits of the enforced fold, in which the call counts once it is allowed. */
export const enforcedFold = (caller: Caller, tool: string): Fold => foldsOf(caller, tool).enforced;

/** The place that a decision stands on, with the document that it is in. */
export interface Standing {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  readonly document: string;
  readonly path: string;
}

const standing = ({ layer, part, document, path }: Winner): Standing => ({ layer, ...(part === null ? {} : { part }), document, path });
const settingOf = (path: string): Standing => ({ layer: 'workspace', document: 'workspace', path });

/** Why the call is denied or allowed. */
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

/** Why its payload is redacted or not, and in words. */
export function transformStanding(caller: Caller, tool: string): Standing & { readonly reason: string } {
  const { transform, transformBy } = enforcedFold(caller, tool);
  return { ...standing(transformBy), reason: ruleWords(transform === 'redact' ? 'redacts' : 'logs', transformBy, tool, caller.tier) };
}
