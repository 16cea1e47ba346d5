// What policy says of a run besides the decisions on its calls: asked as often as anybody likes, nothing is counted and nothing recorded.
import {
  bindCaller,
  callerOf,
  type Claim,
  delegationRefusal,
  type GovernDeps,
  type GovernedRun,
  offers,
  planFor,
  rebind,
  stopOf,
} from '@tollgate/sidecar/embed';
import { createNumbers, redactorFor } from '@tollgate/sidecar/redact';

export interface RunPolicy {
  /** Whether a call of that tool has a chance: a model is not offered what policy denies to this caller. */
  offers(tool: string): boolean;
  /** Why the run may not go on at all, in words: frozen, suspended, its key revoked, its agent deleted; else null. */
  halted(): string | null;
  /** A text of the conversation, as policy lets it be stored. */
  kept(text: string): string;
  /** Whether redaction finds nothing in it, whatever policy says of what is stored. */
  isHarmless(text: string): boolean;
  mayDelegateTo(agentId: string): boolean;
  /** Why the chain may not go on to that agent, in words: it is in it already, it would be too deep, or the like; null: it may. */
  chainProblem(agentId: string): string | null;
}

/**
 * What people and models wrote goes by what policy says of this tool, which has no rules unless somebody names it: by the
 * defaults of every layer.
 */
const conversationTool = 'tollgate.conversation';

/** `childClaim`: what a run of that agent below this one would claim. */
export function createRunPolicy(deps: GovernDeps, run: GovernedRun, childClaim: (agentId: string) => Claim): RunPolicy {
  return {
    offers: (tool) => offers(deps, run, tool),
    halted: () => stopOf(deps, run)?.reason ?? null,
    kept: (text) => {
      const caller = callerOf(run);
      const { outcome } = caller.plans.get(conversationTool) ?? planFor(caller, conversationTool);
      if (outcome.storedTransform === 'log') return text;
      return redactorFor(caller.index.settings.redaction, noKinds).redactText(text, run.numbers).text;
    },
    isHarmless: (text) => redactorFor(callerOf(run).index.settings.redaction, noKinds).redactText(text, createNumbers()).text === text,
    chainProblem: (agentId) => {
      const refusal = delegationRefusal(bindCaller(callerOf(run).index, childClaim(agentId)).hops);
      return refusal === null ? null : refusal.reason.slice(refusal.code.length + 2);
    },
    mayDelegateTo: (agentId) => {
      const bound = rebind(deps, run);
      if ('barred' in bound) return false;
      const child = bindCaller(bound.caller.index, childClaim(agentId));
      return child.halted === null && child.refused === null && delegationRefusal(child.hops) === null;
    },
  };
}

/** One list, because redactors are found again by it. */
const noKinds: readonly string[] = [];
