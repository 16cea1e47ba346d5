// Defines what a snapshot's entries hold, as JSON. The control plane compiles them. A sidecar verifies every field
// before it uses an entry (`sidecar/engine/snapshot/verify.ts`). Lists of pairs are used where an object would have free keys.
// Thus no name is special, and equal content has equal bytes.
import type { CompiledRedaction } from './redaction.ts';
import type { CompiledToolNames } from './tool-names.ts';
import type { Part, Permission, Role, Tier, Transform } from './words.ts';

export const snapshotSchemaVersion = 1;

export interface Rule {
  readonly permission?: Permission;
  /** Calls in any window. 0 allows none. */
  readonly rateLimit?: number;
  readonly transform?: Transform;
  /** An exception by an owner or admin: what this rule sets replaces the values of broader layers. */
  readonly override?: true;
}

/** In the order of `tiers`. A tier without a rule is left out. */
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
  /** Only in user documents; by agent-type key, sorted. */
  readonly agentTypes: readonly (readonly [string, TierRules])[];
}

/** Entry key `settings`. It is always present. */
export interface CompiledSettings {
  readonly workspace: string;
  /** 32 hex digits that are never reused. The slug may be reused. */
  readonly workspaceId: string;
  readonly frozen: boolean;
  readonly defaultPermission: Permission;
  /** Length of a rate limit's window, in seconds. */
  readonly windowSeconds: number;
  readonly unknownAgents: Permission;
  /** What to do with a call that cannot be recorded. */
  readonly auditUnavailable: Permission;
  readonly outage: {
    readonly maxStalenessSeconds: number;
    readonly then: Readonly<Record<Tier, 'deny' | 'last_known'>>;
    /**
     * `deny`: while the ledger cannot be reached, no call is counted towards a cap by this process alone. Absent: calls
     * are counted in this way.
     */
    readonly caps?: 'deny';
  };
  readonly redaction: CompiledRedaction;
  /** In addition to the built-in tables of the hosts' names. */
  readonly toolNames: CompiledToolNames;
  /** `pinned`: a tool whose definition was not admitted is not called through doors that see definitions. */
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

/** Entry key `key/<id>`. A key that is revoked, or whose member left, is not in the snapshot. */
export interface CompiledKey {
  readonly id: string;
  /** SHA-256 in hex. Empty for a library, which already knows its own key and receives no other. */
  readonly hash: string;
  readonly scopes: readonly string[];
  /** The member that a personal key acts as. Null for a service key. */
  readonly uid: string | null;
  /** The role of the member, or for a service key the role of the member who made it. */
  readonly role: Role;
  /** Milliseconds since 1970. Null: never. */
  readonly expiresAt: number | null;
  /** What the key pins, whatever a caller claims. */
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
}

/**
 * Entry key `server/<name>`: a registered server. A library receives only servers with tools that require scopes, and
 * of these servers only those tools.
 */
export interface CompiledServer {
  readonly name: string;
  /** Which scopes an agent needs for its tools. A tool that is not listed requires none. */
  readonly tools: readonly { readonly name: string; readonly requiredScopes: readonly string[] }[];
  /** Null in a library, and from an older control plane. */
  readonly target: CompiledTarget | null;
  /** The admitted definitions: digests as `toolDefinitionDigest` computes them, by tool, sorted. */
  readonly admitted: readonly (readonly [tool: string, digest: string])[];
}

/**
 * Where a server is, with the names of the headers or variables that it additionally receives. Their values are
 * secrets, and never in a snapshot.
 */
export type CompiledTarget =
  | { readonly kind: 'url'; readonly url: string; readonly headers: readonly string[] }
  | { readonly kind: 'command'; readonly program: string; readonly args: readonly string[]; readonly env: readonly string[] };

/**
 * `workspace`, `role:<role>`, `agent-type:<key>`, `user:<uid>:<part>`: names a document in keys, reasons and counters.
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
