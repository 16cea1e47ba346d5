// Defines what a snapshot's entries contain, as JSON. The control plane compiles them. A sidecar verifies every field
// before it uses an entry (`sidecar/engine/snapshot/verify.ts`). Where an object would have arbitrary keys, a list of
// pairs is used. So no name has a special meaning, and equal content has equal bytes.
import type { CompiledAsk } from './approvals.ts';
import type { Expression } from './expression.ts';
import type { CompiledRedaction } from './redaction.ts';
import type { ToolHints } from './tool-definition.ts';
import type { CompiledToolNames } from './tool-names.ts';
import type { Part, Permission, Role, RulePermission, Tier, Transform } from './words.ts';

export const snapshotSchemaVersion = 1;

export interface Rule {
  readonly permission?: RulePermission;
  /** The terms. Present exactly if `permission` is `ask`. */
  readonly ask?: CompiledAsk;
  /** The maximum number of calls in any window of `windowSeconds`. 0 permits no calls. */
  readonly rateLimit?: number;
  readonly transform?: Transform;
  /** An exception by an owner or admin: what this rule sets replaces the values of broader layers. */
  readonly override?: true;
  /** The first case whose condition holds replaces fields of the rule. At least one, if present. */
  readonly cases?: readonly CompiledCase[];
}

/** A case of a rule. `permission`, `transform` and `reason` replace those of the rule; `rateLimit` is added. */
export interface CompiledCase {
  /** Unique in the rule. */
  readonly name: string;
  readonly when: Expression;
  readonly permission?: RulePermission;
  /** The terms. Present exactly if `permission` is `ask`. */
  readonly ask?: CompiledAsk;
  readonly rateLimit?: number;
  readonly transform?: Transform;
  /** For the agent, if the case denies. */
  readonly reason?: string;
}

/** The rules of the tiers, in the order of `tiers`. A tier without a rule is left out. */
export type TierRules = readonly (readonly [Tier, Rule])[];

export type DocumentId =
  | { readonly layer: 'workspace' }
  | { readonly layer: 'role'; readonly role: Role }
  | { readonly layer: 'agent-type'; readonly agentType: string }
  | { readonly layer: 'user'; readonly uid: string; readonly part: Part };

/** A policy document that contains at least one setting. Entry key `document/<documentKey(id)>`. */
export interface CompiledDocument {
  readonly id: DocumentId;
  readonly mode: 'enforce' | 'audit';
  readonly defaults: TierRules;
  /** By tool name or wildcard, sorted by key. */
  readonly tools: readonly (readonly [string, TierRules])[];
  /** The rules by agent-type key, sorted. Only user documents have such rules. */
  readonly agentTypes: readonly (readonly [string, TierRules])[];
}

/** The settings of the workspace. Entry key `settings`. This entry is always present. */
export interface CompiledSettings {
  readonly workspace: string;
  /** 32 hex digits that are never reused. The slug may be reused. */
  readonly workspaceId: string;
  readonly frozen: boolean;
  readonly defaultPermission: Permission;
  /** Length of a rate limit's window, in seconds. */
  readonly windowSeconds: number;
  readonly unknownAgents: Permission;
  /** Whether a call that cannot be recorded is allowed or denied. */
  readonly auditUnavailable: Permission;
  readonly outage: {
    readonly maxStalenessSeconds: number;
    readonly then: Readonly<Record<Tier, 'deny' | 'last_known'>>;
    /**
     * Whether this process may count calls towards a cap without the ledger while it cannot reach the ledger. `deny`:
     * it may not. Absent: it may.
     */
    readonly caps?: 'deny';
  };
  readonly redaction: CompiledRedaction;
  /** The workspace's mapping from hosts' tool names to our names. */
  readonly toolNames: CompiledToolNames;
  /** `pinned`: doors that see a tool's definition call the tool only if this definition was admitted. */
  readonly toolDefinitions: 'any' | 'pinned';
}

/** Entry key `agent/<id>`. */
export interface CompiledAgent {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly enabledTools: readonly string[];
  readonly scopes: readonly string[];
  readonly maxToolCalls: number;
  readonly maxBudgetCents: number;
  readonly maxDurationMs: number;
  readonly maxToolRounds: number;
  readonly delegatable: boolean;
  readonly canDelegate: boolean;
  readonly maxDelegationDepth: number | null;
}

/** Entry key `member/<uid>`. */
export interface CompiledMember {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
}

/** Entry key `key/<id>`. Revoked keys and keys of members who left are not in the snapshot. */
export interface CompiledKey {
  readonly id: string;
  /** SHA-256 of the key, in hex. Empty for a library, which already knows its own key and receives no other key. */
  readonly hash: string;
  readonly scopes: readonly string[];
  /** The member whose identity a personal key has. Null for a service key. */
  readonly uid: string | null;
  /** For a personal key, the role of the member. For a service key, the role of the member who made the key. */
  readonly role: Role;
  /** The time at which the key expires, in ms since 1970. Null: it never expires. */
  readonly expiresAt: number | null;
  /** The values that the key sets, whatever a caller claims. Null: the key does not set the value. */
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
}

/**
 * Entry key `server/<name>`: a registered server. A library receives the names of servers, the tools that require scopes,
 * and the hints.
 */
export interface CompiledServer {
  readonly name: string;
  /** The scopes that an agent needs for the server's tools. A tool that is not listed requires none. */
  readonly tools: readonly { readonly name: string; readonly requiredScopes: readonly string[] }[];
  /** Null in a library, and if an older control plane sent the entry. */
  readonly target: CompiledTarget | null;
  /** The admitted definitions: digests as `toolDefinitionDigest` computes them, by tool, sorted. */
  readonly admitted: readonly (readonly [tool: string, digest: string])[];
  /**
   * The hints that the admitted definitions give, by tool, sorted. Tools without hints are left out. Absent: no hint is
   * known, because no definition gives one, or because an older control plane sent the entry.
   */
  readonly hints?: readonly (readonly [tool: string, hints: ToolHints])[];
}

/**
 * The address or program of a server, and the names of the headers or variables that the server additionally receives.
 * Their values are secrets and are never in a snapshot.
 */
export type CompiledTarget =
  | { readonly kind: 'url'; readonly url: string; readonly headers: readonly string[] }
  | { readonly kind: 'command'; readonly program: string; readonly args: readonly string[]; readonly env: readonly string[] };

/**
 * Returns the name of a document in keys, reasons and counters: `workspace`, `role:<role>`, `agent-type:<key>`,
 * `user:<uid>:<part>`.
 */
export function documentKey(id: DocumentId): string {
  switch (id.layer) {
    case 'workspace':
      return 'workspace';
    case 'role':
      return `role:${id.role}`;
    case 'agent-type':
      return `agent-type:${id.agentType}`;
    case 'user':
      return `user:${id.uid}:${id.part}`;
  }
}
