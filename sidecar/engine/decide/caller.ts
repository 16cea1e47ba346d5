// Defines a caller under one snapshot, and the plans that were computed for the tools that it called. `bind.ts` and
// `plan.ts` create them.
import type { CompiledAgent, CompiledKey, Tier } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { Decision, LimitSet } from './decision.ts';
import type { IndexedDocument } from './document.ts';
import type { Fold } from './fold.ts';

/** One resolved agent of the chain. A profile is a registered agent. Null: the agent is not registered. */
export interface BoundHop {
  readonly hop: Hop;
  readonly name: string;
  readonly profile: CompiledAgent | null;
  readonly agentType: string;
  readonly tier: Tier;
  /** The documents that can apply to it, from broad to specific. */
  readonly documents: readonly IndexedDocument[];
}

export interface Caller {
  readonly index: Index;
  readonly claim: Claim;
  readonly key: CompiledKey | null;
  readonly subject: Subject | null;
  readonly hops: readonly BoundHop[];
  /** The profile of the calling agent, which carries the caps of its run. */
  readonly profile: CompiledAgent | null;
  readonly tier: Hop['tier'];
  /** The scopes of the agent, after each hop of the chain passed on at most what it had. */
  readonly scopes: readonly string[];
  /** The tier of some hop that the workspace denies while the policy is stale. Null: there is no such hop. */
  readonly deniedInOutage: Hop['tier'] | null;
  /** Step 0. It comes before every rule, and before the outage rule. */
  readonly halted: Decision | null;
  /** Steps 2 and 3. */
  readonly refused: Decision | null;
  /** A cache or a run keeps the caller, so its plans may serve later calls. */
  isKept: boolean;
  /** The plans that were computed for tools called before. */
  readonly plans: Map<string, Plan>;
}

/** Everything about one caller and one tool that does not depend on counters. */
export interface Plan {
  /** Steps 2 and 3. */
  readonly refused: Decision | null;
  /** The result of the enforced fold while its limits have calls left. */
  readonly outcome: Decision;
  /** Null: no layer that can apply is in audit mode. The shadow then equals the enforced result. */
  readonly shadow: ShadowPlan | null;
}

export interface ShadowPlan {
  readonly fold: Fold;
  readonly limits: LimitSet;
}
