// What a snapshot's entries hold, as JSON. The control plane compiles them; a sidecar verifies every field before it
// believes one (`sidecar/snapshot/verify.ts`). Lists of pairs stand where an object would have free keys, so that
// no name is special and the bytes of equal content are equal.
import type { CompiledRedaction } from './redaction.ts';
import type { CompiledToolNames } from './tool-names.ts';
import type { Part, Permission, Role, Tier, Transform } from './words.ts';

export const snapshotSchemaVersion = 1;

export interface Rule {
  readonly permission?: Permission;
  /** Calls in any window; 0 allows none. */
  readonly rateLimit?: number;
  readonly transform?: Transform;
  /** An exception by an owner or admin: what this rule sets replaces what broader layers said. */
  readonly override?: true;
}

/** In the order of `tiers`; a tier without a rule is left out. */
export type TierRules = readonly (readonly [Tier, Rule])[];

export type DocumentId =
  | { readonly layer: 'workspace' }
  | { readonly layer: 'role'; readonly role: Role }
  | { readonly layer: 'agent-type'; readonly agentType: string }
  | { readonly layer: 'user'; readonly uid: string; readonly part: Part };

/** A policy document that says something. Entry key `document/<documentKey(id)>`. */
export interface CompiledDocument {
  readonly id: DocumentId;
  readonly mode: 'enforce' | 'audit';
  readonly defaults: TierRules;
  /** By tool name or wildcard, sorted by key. */
  readonly tools: readonly (readonly [string, TierRules])[];
  /** Only in user documents; by agent-type key, sorted. */
  readonly agentTypes: readonly (readonly [string, TierRules])[];
}

/** Entry key `settings`; always there. */
export interface CompiledSettings {
  readonly workspace: string;
  /** 32 hex digits that are never used again, where the slug may be. */
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
    /** `deny`: no call is counted to a cap here alone while nobody can be asked; absent: it is. */
    readonly caps?: 'deny';
  };
  readonly redaction: CompiledRedaction;
  /** Beside the built-in tables of the hosts' names. */
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
  /** SHA-256 in hex; empty for a library, which knows its own key already and is sent no other. */
  readonly hash: string;
  readonly scopes: readonly string[];
  /** The member a personal key acts as; null for a service key. */
  readonly uid: string | null;
  /** That of the member, or for a service key of the member who made it. */
  readonly role: Role;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  /** What the key pins, whatever a caller claims. */
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
}

/** Entry key `server/<name>`: a registered server. A library is sent those that ask for scopes, and of them only these. */
export interface CompiledServer {
  readonly name: string;
  /** Which scopes an agent needs for its tools; those that are not here require none. */
  readonly tools: readonly { readonly name: string; readonly requiredScopes: readonly string[] }[];
  /** Null in a library, and from a control plane of before. */
  readonly target: CompiledTarget | null;
  /** The definitions that were admitted: digests as `toolDefinitionDigest` makes them, by tool, sorted. */
  readonly admitted: readonly (readonly [tool: string, digest: string])[];
}

/** Where a server is, with the names of what it is sent besides. Their values are secrets, and never in a snapshot. */
export type CompiledTarget =
  | { readonly kind: 'url'; readonly url: string; readonly headers: readonly string[] }
  | { readonly kind: 'command'; readonly program: string; readonly args: readonly string[]; readonly env: readonly string[] };

/** `workspace`, `role:<role>`, `agent-type:<key>`, `user:<uid>:<part>`: names a document in keys, reasons and counters. */
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
