// A caller under one snapshot, and what was worked out for the tools it called. `bind.ts` and `plan.ts` make them.
import type { CompiledAgent, CompiledKey, Tier } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { Decision, LimitSet } from './decision.ts';
import type { IndexedDocument } from './document.ts';
import type { Fold } from './fold.ts';

/** One agent of the chain, resolved. A profile is a registered agent; null where nobody registered it. */
export interface BoundHop {
  readonly hop: Hop;
  readonly name: string;
  readonly profile: CompiledAgent | null;
  readonly agentType: string;
  readonly tier: Tier;
  /** Those that can speak for it, broad to specific. */
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
  /** What the agent has, after every hop of the chain gave on at most what it had. */
  readonly scopes: readonly string[];
  /** The tier, of any hop, that the workspace denies while the policy is stale; null: none of them. */
  readonly deniedInOutage: Hop['tier'] | null;
  /** Step 0: before every rule, and before the outage rule. */
  readonly halted: Decision | null;
  /** Steps 2 and 3. */
  readonly refused: Decision | null;
  /** What was worked out for tools called before. */
  readonly plans: Map<string, Plan>;
}

/** Everything about one caller and one tool that no counter changes. */
export interface Plan {
  /** Steps 2 and 3. */
  readonly refused: Decision | null;
  /** What the enforced fold leads to while its limits have room. */
  readonly outcome: Decision;
  /** Null where no layer that can speak is in audit mode: then it equals the enforced one. */
  readonly shadow: ShadowPlan | null;
}

export interface ShadowPlan {
  readonly fold: Fold;
  readonly limits: LimitSet;
}
