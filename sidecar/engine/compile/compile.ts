// Compiles documents into snapshot entries. Pure: the same source gives the same bytes, in any order of its parts. The
// caller has checked the documents (`checkDocument`), so compiling cannot fail. Sidecars verify the result anyway. Each
// entry is compiled only from its own source. There are two exceptions, which depend on the workspace document: the
// settings, and the admitted definitions of servers.
import {
  bounds,
  capBounds,
  capabilities,
  type CompiledAgent,
  type CompiledCase,
  type CompiledDocument,
  type CompiledKey,
  type CompiledRedaction,
  type CompiledServer,
  type CompiledSettings,
  type CompiledToolNames,
  type DocumentId,
  documentKey,
  type Expression,
  hosts,
  loweredRule,
  plainRedaction,
  policyNeeds,
  redactionKinds,
  type Rule,
  type Tier,
  type TierRules,
  tiers,
} from '@tollgate/proto/contract';
import { type Author, compileAsk } from './ask.ts';
import { readCondition } from './condition.ts';
import type { CaseDocument, PolicyDocument, RuleDocument, TierRulesDocument } from './policy-document.ts';
import type { RedactionDocument } from './redaction.ts';
import type { ToolNamesDocument } from './tool-names.ts';
import type { PolicyDefaults, PolicySource, WorkspaceKey } from './source.ts';

export interface SnapshotEntry {
  readonly key: string;
  readonly value: Buffer;
}

const outageDefaults = { maxStalenessSeconds: 3600, then: 'deny' as const };

/** Returns all entries of a workspace, sorted by key. It does not check the source. */
export function compileSnapshot(state: PolicySource, defaults: PolicyDefaults): readonly SnapshotEntry[] {
  const pinned = isPinned(state);
  const servers = state.servers.map((server) => serverEntry(server, pinned));
  return [settingsEntry(state, defaults), ...compileParts(state), ...servers].sort(byKey);
}

/** Returns the entries of documents, agents, members and keys. */
export const compileParts = ({
  documents,
  agents,
  members,
  keys,
}: Pick<PolicySource, 'documents' | 'agents' | 'members' | 'keys'>): readonly SnapshotEntry[] => [
  ...documents.map(({ id, document }) => entry(`document/${documentKey(id)}`, compileDocument(id, document))),
  ...agents.map((agent) => entry(`agent/${agent.id}`, compileAgent(agent))),
  ...members.map(({ uid, email, role }) => entry(`member/${uid}`, { uid, email, role })),
  ...keys.map((key) => entry(`key/${key.id}`, compileKey(key))),
];

export const settingsEntry = (state: SettingsState, defaults: PolicyDefaults): SnapshotEntry =>
  entry('settings', compileSettings(state, defaults));

/**
 * Returns the entry of a server. The digests of admitted definitions are included only if definitions are pinned,
 * because a server can have a thousand of them.
 */
export const serverEntry = ({ name, tools, target, admitted, hints = [] }: CompiledServer, pinned: boolean): SnapshotEntry =>
  entry(`server/${name}`, {
    name,
    tools,
    target,
    admitted: pinned ? admitted : [],
    ...(hints.length === 0 ? {} : { hints }),
  } satisfies CompiledServer);

const workspaceDocument = ({ documents }: Pick<PolicySource, 'documents'>): PolicyDocument =>
  documents.find(({ id }) => id.layer === 'workspace')?.document ?? {};

/** Whether the entries of servers contain the admitted definitions. */
export const isPinned = (state: Pick<PolicySource, 'documents'>): boolean => workspaceDocument(state).toolDefinitions === 'pinned';

const entry = (key: string, value: object): SnapshotEntry => ({ key, value: Buffer.from(JSON.stringify(value), 'utf8') });

// Compares two keys by code units, independent of the locale of the machine.
export const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** What the settings are compiled from. Of the documents, only that of the workspace is used. */
type SettingsState = Pick<PolicySource, 'workspace' | 'workspaceId' | 'frozen' | 'documents'>;

export function compileSettings(state: SettingsState, defaults: PolicyDefaults): CompiledSettings {
  const document = workspaceDocument(state);
  const then = (tier: Tier) => document.outage?.then?.[tier] ?? outageDefaults.then;
  return {
    workspace: state.workspace,
    workspaceId: state.workspaceId,
    frozen: state.frozen,
    defaultPermission: defaults.defaultPermission,
    windowSeconds: defaults.windowSeconds,
    unknownAgents: document.unknownAgents ?? 'allow',
    auditUnavailable: document.auditUnavailable ?? 'deny',
    outage: {
      maxStalenessSeconds: document.outage?.maxStalenessSeconds ?? outageDefaults.maxStalenessSeconds,
      then: { interactive: then('interactive'), subagent: then('subagent'), background: then('background'), api: then('api') },
      ...(document.outage?.caps === 'deny' ? { caps: 'deny' as const } : {}),
    },
    redaction: compileRedaction(document.redaction),
    toolNames: compileToolNames(document.toolNames),
    toolDefinitions: document.toolDefinitions ?? 'any',
  };
}

/** Compiles the `redaction` section of the workspace document, or a draft of it. */
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

/** Returns the document in the order that the contract defines, without parts that have no effect. */
export function compileDocument(id: DocumentId, document: PolicyDocument): CompiledDocument {
  const author = id.layer === 'user' && id.part === 'self' ? id.uid : null;
  return {
    id,
    mode: document.mode === 'audit' || document.mode === 'audit-only' ? 'audit' : 'enforce',
    defaults: compileTiers(document.defaults ?? {}, author),
    tools: compilePlaces(document.tools, author),
    agentTypes: compilePlaces(document.agentTypes, author),
  };
}

function compilePlaces(places: Readonly<Record<string, TierRulesDocument>> | undefined, author: Author): CompiledDocument['tools'] {
  return Object.entries(places ?? {})
    .map(([key, rules]) => ({ key, rules: compileTiers(rules, author) }))
    .filter(({ rules }) => rules.length > 0)
    .sort(byKey)
    .map(({ key, rules }) => [key, rules]);
}

function compileTiers(rules: TierRulesDocument, author: Author): TierRules {
  return tiers.flatMap((tier) => {
    const rule = compileRule(Object.hasOwn(rules, tier) ? rules[tier] : undefined, author);
    return rule === null ? [] : [[tier, rule] as const];
  });
}

/**
 * Returns null if the rule sets no field. An `override` alone has no effect, because it covers only fields that its
 * rule sets.
 */
function compileRule(stored: RuleDocument | undefined, author: Author): Rule | null {
  // Removes what a later version has written and this version does not know.
  const rule = stored === undefined ? {} : loweredRule<RuleDocument>(stored, (need) => !capabilities.includes(need), policyNeeds);
  const { permission, rateLimit, transform, override, cases = [] } = rule;
  if (permission === undefined && rateLimit === undefined && transform === undefined && cases.length === 0) return null;
  const ask = compileAsk(rule, author);
  return {
    ...(permission === undefined ? {} : { permission }),
    ...(ask === null ? {} : { ask }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(transform === undefined ? {} : { transform }),
    ...(override === true ? { override } : {}),
    ...(cases.length === 0 ? {} : { cases: cases.map((one) => compileCase(one, author)) }),
  };
}

function compileCase(written: CaseDocument, author: Author): CompiledCase {
  const { name, when, permission, rateLimit, transform, reason } = written;
  const read = readCondition(when);
  const ask = compileAsk(written, author);
  return {
    name,
    // A condition that this version does not understand was written by another version. It is undecided.
    when: 'problem' in read ? notUnderstood : read.expression,
    ...(permission === undefined ? {} : { permission }),
    ...(ask === null ? {} : { ask }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(transform === undefined ? {} : { transform }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** A value that is neither true nor false, so that the case is always undecided. */
const notUnderstood: Expression = ['null'];

/**
 * Compiles an agent. Its caps are clamped to their bounds: create and PUT accept any integer, but a run is limited to
 * what PATCH would permit.
 */
export function compileAgent(agent: CompiledAgent): CompiledAgent {
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
