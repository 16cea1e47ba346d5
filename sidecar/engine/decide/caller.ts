// Defines a caller under one snapshot, and the plans that were computed for the tools that it called. `bind.ts` and
// `plan.ts` create them.
import type { CompiledAgent, CompiledKey, Tier } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { Decision, LimitSet } from './decision.ts';
import type { IndexedDocument } from './document.ts';
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
export interface Plan {
  /** Step 3: the denial that depends on the tool. Null: there is none. */
  readonly refused: Decision | null;
  /** The decision by the enforced fold, if all limits of this fold have calls left. */
  readonly outcome: Decision;
  /** Null: no layer that can apply is in audit mode. Then the shadow result equals the enforced result. */
  readonly shadow: ShadowPlan | null;
}

export interface ShadowPlan {
  readonly fold: Fold;
  readonly limits: LimitSet;
}
