// Answers questions about the policy of a run, except the decisions on its calls. Every question may be asked
// repeatedly: nothing is counted and nothing is recorded.
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
} from '@tollgate/sidecar/engine';
import { createNumbers, redactorFor } from '@tollgate/sidecar/engine/redact';

export interface RunPolicy {
  /** Whether a call of that tool could be allowed. A model is not offered tools that policy denies to this caller. */
  offers(tool: string): boolean;
  /**
   * Why the run must stop, in words: the workspace is frozen, the agent is suspended or deleted, or the key is revoked.
   * Null: it need not stop.
   */
  halted(): string | null;
  /** Returns a text of the conversation in the form that policy allows to be stored. */
  kept(text: string): string;
  /** Whether redaction finds nothing in the text, regardless of what policy says about stored data. */
  isHarmless(text: string): boolean;
  mayDelegateTo(agentId: string): boolean;
  /**
   * Why the chain cannot be extended to that agent, in words: for example, the agent is already in the chain, or the
   * chain would be too deep. Null: it can be extended.
   */
  chainProblem(agentId: string): string | null;
}

/**
 * The rules for this tool name decide how texts of people and models are stored. A policy has no rule for this name
 * unless its author writes one. So normally the defaults of every layer apply.
 */
const conversationTool = 'tollgate.conversation';

/** `childClaim` returns the claim for a run of the agent `agentId` below this run. */
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

/** This must always be the same object, because redactors are cached by the identity of the list. */
const noKinds: readonly string[] = [];
