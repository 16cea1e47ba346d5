// Documents in, snapshot entries out. Pure: the same state gives the same bytes, whatever the order it was written in.
// Documents were checked when they were written, so compiling cannot fail; a sidecar verifies all the same.
import {
  bounds,
  type CompiledAgent,
  type CompiledDocument,
  type CompiledKey,
  type CompiledRedaction,
  type CompiledServer,
  type CompiledSettings,
  type CompiledToolNames,
  type DocumentId,
  documentKey,
  hosts,
  plainRedaction,
  redactionKinds,
  type Rule,
  type Tier,
  type TierRules,
  tiers,
} from '@tollgate/proto/contract';
import { type Agent, capBounds } from '../domain/agents/agent.ts';
import type { PolicyDocument, TierRulesDocument } from '../domain/policies/policy.ts';
import type { RedactionDocument } from '../domain/policies/redaction.ts';
import type { ToolNamesDocument } from '../domain/policies/tool-names.ts';
import type { PolicyDefaults, WorkspaceKey, WorkspaceServer, WorkspaceState } from './state.ts';

export interface SnapshotEntry {
  readonly key: string;
  readonly value: Buffer;
}

const outageDefaults = { maxStalenessSeconds: 3600, then: 'deny' as const };

/** All entries of a workspace, sorted by key. `viewOf` takes from them what one sidecar may hold. */
export function compileSnapshot(state: WorkspaceState, defaults: PolicyDefaults): readonly SnapshotEntry[] {
  return [
    entry('settings', compileSettings(state, defaults)),
    ...state.documents.map(({ id, document }) => entry(`document/${documentKey(id)}`, compileDocument(id, document))),
    ...state.agents.map((agent) => entry(`agent/${agent.id}`, compileAgent(agent))),
    ...state.members.map(({ uid, email, role }) => entry(`member/${uid}`, { uid, email, role })),
    ...state.keys.map((key) => entry(`key/${key.id}`, compileKey(key))),
    ...state.servers.map((server) => entry(`server/${server.name}`, compileServer(server, pins(state)))),
  ].sort(byKey);
}

const entry = (key: string, value: object): SnapshotEntry => ({ key, value: Buffer.from(JSON.stringify(value), 'utf8') });

// Code unit order, whatever the locale of the machine.
const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

const workspaceDocument = ({ documents }: WorkspaceState): PolicyDocument =>
  documents.find(({ id }) => id.layer === 'workspace')?.document ?? {};

const pins = (state: WorkspaceState): boolean => workspaceDocument(state).toolDefinitions === 'pinned';

/** Digests travel only where they are asked for: there may be a thousand of a server. */
const compileServer = ({ name, tools, target, admitted }: WorkspaceServer, pinned: boolean): CompiledServer => ({
  name,
  tools,
  target,
  admitted: pinned ? admitted : [],
});

export function compileSettings(state: WorkspaceState, defaults: PolicyDefaults): CompiledSettings {
  const document = workspaceDocument(state);
  const then = (tier: Tier) => document.outage?.then?.[tier] ?? outageDefaults.then;
  return {
    workspace: state.workspace,
    frozen: state.frozen,
    defaultPermission: defaults.defaultPermission,
    windowSeconds: defaults.windowSeconds,
    unknownAgents: document.unknownAgents ?? 'allow',
    auditUnavailable: document.auditUnavailable ?? 'deny',
    outage: {
      maxStalenessSeconds: document.outage?.maxStalenessSeconds ?? outageDefaults.maxStalenessSeconds,
      then: { interactive: then('interactive'), subagent: then('subagent'), background: then('background'), api: then('api') },
    },
    redaction: compileRedaction(document.redaction),
    toolNames: compileToolNames(document.toolNames),
    toolDefinitions: document.toolDefinitions ?? 'any',
  };
}

/** Of the section of the workspace document, or of a draft of it. */
export function compileRedaction(section: RedactionDocument | undefined): CompiledRedaction {
  if (section === undefined) return plainRedaction;
  const { kinds = {}, patterns = {}, allow = [], exceptions = {} } = section;
  return {
    off: redactionKinds.filter((kind) => Object.hasOwn(kinds, kind) && kinds[kind] === false).toSorted(),
    patterns: Object.entries(patterns).toSorted(byName),
    allow: [...new Set(allow)].toSorted(),
    exceptions: Object.entries(exceptions)
      .map(([key, kept]) => [key, [...new Set(kept)].toSorted()] as const)
      .toSorted(byName),
  };
}

function compileToolNames(section: ToolNamesDocument = {}): CompiledToolNames {
  return hosts.flatMap((host) => {
    const names = Object.entries((Object.hasOwn(section, host) ? section[host] : undefined) ?? {}).toSorted(byName);
    return names.length === 0 ? [] : [[host, names] as const];
  });
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** The document in the order the contract fixes, without what is inert. */
export function compileDocument(id: DocumentId, document: PolicyDocument): CompiledDocument {
  return {
    id,
    mode: document.mode === 'audit' || document.mode === 'audit-only' ? 'audit' : 'enforce',
    defaults: compileTiers(document.defaults ?? {}),
    tools: compilePlaces(document.tools),
    agentTypes: compilePlaces(document.agentTypes),
  };
}

function compilePlaces(places: Readonly<Record<string, TierRulesDocument>> | undefined): CompiledDocument['tools'] {
  return Object.entries(places ?? {})
    .map(([key, rules]) => ({ key, rules: compileTiers(rules) }))
    .filter(({ rules }) => rules.length > 0)
    .sort(byKey)
    .map(({ key, rules }) => [key, rules]);
}

function compileTiers(rules: TierRulesDocument): TierRules {
  return tiers.flatMap((tier) => {
    const rule = compileRule(Object.hasOwn(rules, tier) ? rules[tier] : undefined);
    return rule === null ? [] : [[tier, rule] as const];
  });
}

/** Null where the rule says nothing: an `override` covers only fields that its rule sets. */
function compileRule(rule: Rule | undefined): Rule | null {
  const { permission, rateLimit, transform, override } = rule ?? {};
  if (permission === undefined && rateLimit === undefined && transform === undefined) return null;
  return {
    ...(permission === undefined ? {} : { permission }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(transform === undefined ? {} : { transform }),
    ...(override === true ? { override } : {}),
  };
}

/** Caps clamped to their bounds: creating and PUT take any integer, and a run is held to what PATCH would allow. */
export function compileAgent(agent: Agent): CompiledAgent {
  const cap = (field: keyof typeof capBounds): number => clamp(agent[field], capBounds[field]);
  return {
    id: agent.id,
    name: agent.name,
    suspended: agent.suspended,
    enabledTools: agent.enabledTools,
    scopes: agent.scopes,
    maxToolCalls: cap('maxToolCalls'),
    maxBudgetCents: cap('maxBudgetCents'),
    maxDurationMs: cap('maxDurationMs'),
    maxToolRounds: cap('maxToolRounds'),
    delegatable: agent.delegatable,
    canDelegate: agent.canDelegate,
    maxDelegationDepth: agent.maxDelegationDepth === null ? null : clamp(agent.maxDelegationDepth, { min: 0, max: bounds.delegationDepth }),
  };
}

const clamp = (value: number, { min, max }: { readonly min: number; readonly max: number }): number => Math.min(max, Math.max(min, value));

function compileKey({ id, hash, scopes, uid, role, expiresAt, pins }: WorkspaceKey): CompiledKey {
  return { id, hash, scopes, uid, role, expiresAt: expiresAt === null ? null : expiresAt.getTime(), pins };
}
