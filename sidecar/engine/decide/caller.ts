// Defines a caller under one snapshot, and the plans that were computed for the tools that it called. `bind.ts` and
// `plan.ts` create them.
import type { AskingRule, CompiledAgent, CompiledKey, Role, Tier } from '@tollgate/proto/contract';
import type { Undecided } from '../conditions/values.ts';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { Decision, LimitSet } from './decision.ts';
import type { IndexedDocument, PlacedRule } from './document.ts';
import type { Fold } from './fold.ts';

/**
 * One resolved agent of the chain. `profile` is its registration. Null: the agent is not registered, or its name is
 * ambiguous.
 */
export interface BoundHop {
  readonly hop: Hop;
  readonly name: string;
  readonly profile: CompiledAgent | null;
  readonly agentType: string;
  readonly tier: Tier;
  /** The documents that can apply to this agent, from broad to specific. */
  readonly documents: readonly IndexedDocument[];
  /** What conditions read instead of the profile. Only for a call of the log, which tells less. */
  readonly facts?: Pick<AgentFacts, 'id' | 'scopes'>;
}

export interface Caller {
  readonly index: Index;
  readonly claim: Claim;
  readonly key: CompiledKey | null;
  readonly subject: Subject | null;
  readonly hops: readonly BoundHop[];
  /** The profile of the calling agent. It contains the caps of this agent's run. */
  readonly profile: CompiledAgent | null;
  readonly tier: Hop['tier'];
  /** The scopes of the calling agent. Each hop of the chain passes on at most the scopes that it has. */
  readonly scopes: readonly string[];
  /**
   * The tier of the first hop whose calls the workspace denies while the policy is stale. Null: there is no such hop.
   */
  readonly deniedInOutage: Hop['tier'] | null;
  /**
   * Step 0: the denial because of a frozen workspace or a suspended agent. It comes before every rule, and before the
   * outage rule. Null: there is none.
   */
  readonly halted: Decision | null;
  /** Steps 2 and 3: the denial that does not depend on the tool. Null: there is none. */
  readonly refused: Decision | null;
  /** True: a cache or a run keeps the caller, so its plans are stored for later calls. */
  isKept: boolean;
  /** The plans that were computed for tools called before. */
  readonly plans: Map<string, Plan>;
}

/** Everything about one caller and one tool that does not depend on counters. */
export interface Plan extends PlannedOutcome {
  /** Step 3: the denial that depends on the tool. Null: there is none. */
  readonly refused: Decision | null;
  /** Whether the enforced fold allows the call, or asks for it, in some way that its cases may turn out: see `Fold.mayAllow`. */
  readonly mayAllow: boolean;
  /**
   * The cases that the outcome depends on. Then `outcome` and `shadow` are those of a call of which nothing is known:
   * every case is undecided. Null: no rule that may apply has cases.
   */
  readonly cases: ConditionalPlan | null;
}

export interface PlannedOutcome {
  /** The decision by the enforced fold, if all limits of this fold have calls left. */
  readonly outcome: Decision;
  /** Present if `outcome` is that a person is asked. Null: no rule asks, or one denies. */
  readonly asked: PlannedAsk | null;
  /** Null: no layer that can apply is in audit mode. Then the shadow result equals the enforced result. */
  readonly shadow: ShadowPlan | null;
}

interface PlannedAsk {
  /** The rules that ask. The decision is `approved` if an approval covers all of them. */
  readonly rules: readonly AskingRule[];
  /** The decision about the approved call, if all limits have calls left. */
  readonly approved: Decision;
}

export interface ShadowPlan {
  readonly fold: Fold;
  readonly limits: LimitSet;
}

/** The rules with cases that may apply to a caller and a tool, and what their conditions read besides the call. */
export interface ConditionalPlan {
  readonly questions: readonly CaseQuestion[];
  readonly tool: ToolFacts;
  /** By hop of the chain. */
  readonly agents: readonly AgentFacts[];
  readonly user: UserFacts;
  /** The outcomes that were computed, by the answers: see `AnsweredCases.signature`. */
  readonly outcomes: Map<string, PlannedOutcome>;
}

/** One rule whose cases are evaluated for one hop. */
export interface CaseQuestion {
  readonly hop: number;
  /** The key of the document. */
  readonly document: string;
  readonly rule: PlacedRule;
}

/** The variable `tool` of conditions. */
export interface ToolFacts {
  readonly name: string;
  /** Absent: the tool is of no registered server. */
  readonly server?: string;
  /** The hints of the admitted definition. Absent: they are unknown. */
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** The variable `agent` of conditions: one hop of the chain. */
export interface AgentFacts {
  readonly name: string;
  /** Absent: the agent is not registered. */
  readonly id?: string | Undecided;
  readonly client: string;
  readonly tier: Tier;
  readonly type: string;
  /** The scopes that every agent of the chain has. */
  readonly scopes: readonly string[] | Undecided;
  /** The names of the agents, root first. */
  readonly chain: readonly string[];
}

/** The variable `user` of conditions: the subject at the root of the chain. A field that is unknown is absent. */
export interface UserFacts {
  readonly uid?: string;
  readonly role?: Role;
}
