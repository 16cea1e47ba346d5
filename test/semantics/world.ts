// The inputs and outputs of the reference. These types are separate: the file imports nothing from this repository.

export type Permission = 'allow' | 'deny';
/** What a rule may say. */
export type RulePermission = Permission | 'ask';
export type Transform = 'log' | 'redact';
export type Tier = 'interactive' | 'subagent' | 'background' | 'api';
export type Role = 'owner' | 'admin' | 'member';

/** The terms of a rule that asks. The reference does not read them. */
type Ask = 'confirm' | { readonly need?: number; readonly uses?: number };

export interface Rule {
  readonly permission?: RulePermission;
  readonly ask?: Ask;
  readonly rateLimit?: number;
  readonly transform?: Transform;
  readonly override?: true;
  readonly cases?: readonly Case[];
}

export interface Case {
  readonly name: string;
  /** One of the conditions that the reference understands: see `truthOf`. */
  readonly when: string;
  readonly permission?: RulePermission;
  readonly ask?: Ask;
  readonly rateLimit?: number;
  readonly transform?: Transform;
  readonly reason?: string;
}

/** Rules by tier. Other keys have no effect. */
export type TierRules = Readonly<Record<string, Rule>>;

export interface Document {
  readonly mode?: 'enforce' | 'audit' | 'audit-only';
  readonly defaults?: TierRules;
  readonly tools?: Readonly<Record<string, TierRules>>;
}

export interface UserDocument extends Document {
  readonly agentTypes?: Readonly<Record<string, TierRules>>;
}

export interface WorkspaceDocument extends Document {
  readonly unknownAgents?: Permission;
  readonly outage?: { readonly maxStalenessSeconds?: number; readonly then?: Readonly<Record<string, 'deny' | 'last_known'>> };
}

export interface Agent {
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

export interface Member {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
}

export interface Key {
  readonly id: string;
  readonly scopes: readonly string[];
  /** Null: a service key. */
  readonly uid: string | null;
  /** For a service key, the role of the member who made it. */
  readonly role: Role;
  /** The values that the key fixes for the calling agent, whatever the agent claims. */
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
}

export interface Server {
  readonly name: string;
  readonly tools: readonly { readonly name: string; readonly requiredScopes: readonly string[] }[];
}

/** Everything that affects decisions. Where names are free, the lists hold pairs. */
export interface World {
  readonly frozen: boolean;
  readonly defaultPermission: Permission;
  readonly windowSeconds: number;
  readonly workspace: WorkspaceDocument | null;
  readonly roles: readonly (readonly [Role, Document])[];
  readonly agentTypes: readonly (readonly [string, Document])[];
  readonly users: readonly { readonly uid: string; readonly organisation: UserDocument | null; readonly self: UserDocument | null }[];
  readonly agents: readonly Agent[];
  readonly members: readonly Member[];
  readonly keys: readonly Key[];
  readonly servers: readonly Server[];
}

export interface Hop {
  readonly tier: Tier;
  readonly client: string;
  /** A profile's id, its name, or any other text. */
  readonly agent: string;
  readonly handedTools?: readonly string[];
  readonly handedScopes?: readonly string[];
}

/** A value of an input that the door does not show. */
export const hidden: Readonly<Record<string, unknown>> = Object.freeze({ hidden: true });

/** One attempt. Attempts are in order of time. Calls of one `run` have the same key, subject and hops. */
export interface Call {
  readonly at: number;
  readonly run: string;
  readonly keyId: string;
  readonly sub: string;
  readonly hops: readonly Hop[];
  readonly tool: string;
  /** Absent: a call without arguments. A value may be `hidden`. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** The model rounds that the run began since its last call. */
  readonly rounds?: number;
  /** The money that the run spent since its last call. */
  readonly spendCents?: number;
  /** Time without contact with the control plane, in ms. Absent: connected. */
  readonly silentForMs?: number;
  /**
   * A claimed approval of the call. `all`: of every rule by which it is asked for at that moment. `all but one`: of all of
   * them except the last by name. Absent: nothing was approved.
   */
  readonly approved?: 'all' | 'all but one';
}

export interface Winner {
  readonly layer: 'workspace' | 'role' | 'agent-type' | 'user' | 'default';
  readonly part?: 'organisation' | 'self';
  readonly path: string;
  readonly override?: true;
}

export interface Verdict {
  /** `ask`: only in the shadow. A call that policy asks for is denied, with the code `approval_pending`. */
  readonly decision: RulePermission;
  readonly code: string;
  readonly transform: Transform;
}

export interface Outcome extends Verdict {
  readonly rule: Winner | null;
  readonly storedTransform: Transform;
  readonly shadow: Verdict | null;
  readonly stop: string | null;
  readonly retryAfterMs: number | null;
  readonly outage: boolean;
  /** Whether the call counts towards `maxToolCalls`. */
  readonly attempt: boolean;
  /** The limits in which an allowed call counts. */
  readonly limits: readonly LimitSeen[];
  /** The rules by which a person is asked, each as `<document> <path>`, sorted. Empty: no one is asked. */
  readonly asks: readonly string[];
}

export interface LimitSeen {
  readonly layer: string;
  readonly part?: string;
  readonly path: string;
  readonly max: number;
}

/** What an entry records about the caller. */
export interface EntrySeen {
  readonly agentName: string;
  readonly agentTier: Tier;
  readonly agentType: string;
  readonly role: Role | '';
  readonly sub: string;
  readonly depth: number;
  readonly originSub?: string;
  readonly chain?: readonly string[];
}
