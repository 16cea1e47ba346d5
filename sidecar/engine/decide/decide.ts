// Makes the decision about one tool call: docs/design/semantics.md, "The order". It is pure: it reads the caller's
// snapshot and the given usage and changes neither. Afterwards `limits/` counts the call as the decision says.
import {
  type AskingRule,
  bounds,
  nameProblem,
  reasons,
  type RulePermission,
  type ShadowMark,
  type UndecidedCase,
} from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Caller, PlannedOutcome, ShadowPlan } from './caller.ts';
import { answerCases, type CallFacts } from './cases.ts';
import {
  type Decision,
  type Dry,
  type Freshness,
  type Full,
  noLimits,
  type Shadow,
  type SharedCalls,
  type StopReason,
  type Usage,
} from './decision.ts';
import type { Fold } from './fold.ts';
import { codes, malformedTool, outcomeByCases, planFor, planKey, verbs } from './plan.ts';
import { refuse } from './refusal.ts';
import { limitWords, notKnownWords, ruleWords } from './words.ts';

/**
 * Decides one call. `now` and the times of `usage` and `freshness` are ms of one clock that never goes backwards.
 * `also`: the name that the caller itself uses for the tool, if rules for that name apply too. `facts`: what the cases
 * of rules read of the call. Absent: every case is undecided.
 */
export function decide(
  caller: Caller,
  tool: string,
  usage: Usage,
  freshness: Freshness,
  now: number,
  also?: string,
  facts?: CallFacts,
): Decision {
  if (caller.halted !== null) return caller.halted;
  const stale = isStale(caller.index, freshness, now);
  if (stale && caller.deniedInOutage !== null) return outageDenial(caller, freshness, now);
  const decision = decideFresh(caller, tool, usage, now, also, facts);
  return stale || (isCountedAlone(caller, usage) && decision.attempt) ? { ...decision, outage: true } : decision;
}

function decideFresh(
  caller: Caller,
  tool: string,
  usage: Usage,
  now: number,
  also: string | undefined,
  facts: CallFacts | undefined,
): Decision {
  const known = caller.plans.get(planKey(tool, also));
  if (known === undefined) {
    const problem = nameProblem(tool) ?? (also === undefined ? null : nameProblem(also));
    if (problem !== null) return malformedTool(problem);
  }
  if (caller.refused !== null) return caller.refused;
  const plan = known ?? planFor(caller, tool, also);
  if (plan.refused !== null) return plan.refused;
  const approved = facts?.approved ?? null;
  const capped = capDenial(caller, usage, now, approved !== null && facts?.isFurtherUse !== true);
  if (capped !== null && capped.awaits === null) return capped;
  if (plan.cases === null || facts === undefined) return decideOutcome(caller, tool, plan, capped, usage, now, approved);
  const answered = answerCases(caller.index, plan.cases, facts);
  const outcome = outcomeByCases(caller, tool, also, plan.cases, answered);
  const decision = decideOutcome(caller, tool, outcome, capped, usage, now, approved);
  return answered.undecided.length === 0 ? decision : withUndecided(decision, answered.undecided);
}

// By the decision without undecided cases: the last decision with them. Calls of which the same is undecided get the same
// object, so that its entry is serialized once.
const lastUndecided = new WeakMap<Decision, Decision>();
/** Lists with longer texts are not kept. In UTF-16 code units. */
const keptUndecidedMax = 2_048;

const lengthOf = (undecided: readonly UndecidedCase[]): number =>
  undecided.reduce((sum, { document, path, at }) => sum + document.length + path.length + at.length, 0);

function withUndecided(decision: Decision, undecided: readonly UndecidedCase[]): Decision {
  const last = lastUndecided.get(decision);
  if (last !== undefined && areSame(last.undecided ?? [], undecided)) return last;
  const made = Object.freeze({ ...decision, reason: `${decision.reason}${undecidedWords(decision, undecided)}`, undecided });
  if (lengthOf(undecided) <= keptUndecidedMax) lastUndecided.set(decision, made);
  return made;
}

/** A denial by a case that may not hold says so: otherwise the agent reads the reason of a case that it has not met. */
function undecidedWords({ code, rule }: Decision, undecided: readonly UndecidedCase[]): string {
  if ((code !== 'policy_denied' && code !== 'approval_pending') || rule === null) return '';
  const cause = undecided.find(({ document, path }) => path === rule.path && document.startsWith(rule.layer));
  return cause === undefined ? '' : notKnownWords(cause);
}

const areSame = (a: readonly UndecidedCase[], b: readonly UndecidedCase[]): boolean =>
  a.length === b.length &&
  a.every((one, at) => {
    const other = b[at];
    return other?.at === one.at && other.reason === one.reason && other.path === one.path && other.document === one.document;
  });

/** Steps 5 to 7. `capped`: the call waits for its cap. `approved`: see `CallFacts`. */
function decideOutcome(
  caller: Caller,
  tool: string,
  planned: PlannedOutcome,
  capped: Decision | null,
  usage: Usage,
  now: number,
  approved: readonly string[] | null,
): Decision {
  const { asked, shadow } = planned;
  // A person is asked only if the call could continue, so the limits of the approved call are tested first.
  const outcome = asked === null ? planned.outcome : asked.approved;
  const full = outcome.limits === noLimits ? null : usage.firstFull(outcome.limits, now);
  // A call that waits for its cap waits for its limits at the same time, so that one message asks for both.
  if (capped !== null) return { ...capped, awaits: [...(capped.awaits ?? []), ...(full?.awaits ?? [])] };
  const isWaiting = asked !== null && full === null && !isCovered(asked.rules, approved);
  const decision = isWaiting ? planned.outcome : full === null ? outcome : throttled(caller, outcome, full);
  return shadow === null ? decision : withShadow(caller, tool, decision, shadow, usage, now, approved);
}

/** Whether a claimed approval covers every rule that asks. A call without such a rule is not decided by an approval. */
const isCovered = (asks: readonly AskingRule[], approved: readonly string[] | null): boolean =>
  approved !== null && asks.length > 0 && asks.every(({ digest }) => approved.includes(digest));

const isCountedAlone = ({ profile }: Caller, { shared }: Usage): boolean => shared !== null && profile !== null && shared.isAlone;

/**
 * Returns whether the control plane has been silent for longer than the workspace allows. If the maximum is 0, returns
 * whether the stream to the control plane is lost.
 */
export function isStale({ settings }: Pick<Index, 'settings'>, { connected, heardAt }: Freshness, now: number): boolean {
  const { maxStalenessSeconds } = settings.outage;
  return maxStalenessSeconds === 0 ? !connected : now - heardAt > maxStalenessSeconds * 1000;
}

function outageDenial(caller: Caller, { heardAt }: Freshness, now: number): Decision {
  const seconds = Math.floor((now - heardAt) / 1000);
  const { maxStalenessSeconds } = caller.index.settings.outage;
  const words = `the control plane was last heard from ${seconds} s ago, and ${caller.deniedInOutage} calls are denied after ${maxStalenessSeconds} s`;
  return { ...refuse('outage', words), outage: true };
}

/** `isCounted`: the call was counted as an attempt before. */
function capDenial({ profile, index }: Caller, usage: Usage, now: number, isCounted: boolean): Decision | null {
  if (profile === null) return null;
  const { shared } = usage;
  const startedAt = shared === null ? usage.startedAt : Math.min(usage.startedAt, shared.beganAt);
  if (now - startedAt >= profile.maxDurationMs)
    return cap('cap_duration', 'max_duration', `the run has lasted its ${profile.maxDurationMs} ms (maxDurationMs)`);
  if (usage.toolRounds > profile.maxToolRounds)
    return cap('cap_tool_rounds', 'max_rounds', `the run has had its ${profile.maxToolRounds} rounds (maxToolRounds)`);
  if (!isCounted && usage.toolCalls >= profile.maxToolCalls) return callsCap(profile.maxToolCalls);
  if (!isCounted && shared !== null && !shared.hasCapacity(profile.maxToolCalls, now, index.settings.outage.caps !== 'deny'))
    return sharedCap(profile.maxToolCalls, shared, now);
  if (usage.spentCents > 0 && usage.spentCents >= profile.maxBudgetCents) {
    return cap('cap_budget', 'max_budget', `the run has spent its ${profile.maxBudgetCents} cents (maxBudgetCents)`);
  }
  return null;
}

const cap = (code: 'cap_duration' | 'cap_tool_rounds' | 'cap_tool_calls' | 'cap_budget', stop: StopReason, words: string): Decision =>
  refuse(code, words, { stop, attempt: true });

const callsCap = (max: number): Decision =>
  cap('cap_tool_calls', 'max_tool_calls', `the run has made its ${max} tool calls (maxToolCalls)`);

/**
 * Returns the denial because of `maxToolCalls` of a shared run. If the remaining calls are only unavailable now, the
 * run has not ended and can continue later.
 */
function sharedCap(max: number, shared: SharedCalls, now: number): Decision {
  if (shared.isSpent(now)) return callsCap(max);
  const awaits = shared.awaits(now);
  const words = `of the run's ${max} tool calls (maxToolCalls) ${dryWords[shared.dryAt(now)]}`;
  return { ...refuse('cap_tool_calls', words, { awaits }), kind: 'retry', retryAfterMs: bounds.leaseMs };
}

function throttled(caller: Caller, outcome: Decision, { limit, retryAfterMs, awaits, dry }: Full): Decision {
  const { layer, part, path, override } = limit;
  return {
    ...outcome,
    decision: 'deny',
    code: 'rate_limited',
    // A limit of 0 never has calls, so that a retry cannot help.
    kind: limit.max === 0 ? 'terminal' : reasons.rate_limited,
    reason: `rate_limited: ${limitWords(limit, caller.index.settings.windowSeconds)}${dry === null ? retryWords(retryAfterMs) : `; of it ${dryWords[dry]}`}`,
    retryAfterMs,
    rule: {
      layer,
      ...(part === undefined ? {} : { part }),
      path,
      revision: caller.index.revision,
      ...(override === true ? { override } : {}),
    },
    limits: noLimits,
    awaits,
    // If the limit may still have calls in another place, the denied call does not count as an attempt.
    attempt: dry === null,
  };
}

const dryWords: Readonly<Record<Dry, string>> = {
  held: 'other sidecars hold what is left, and returned none of it in time',
  slow: 'none is left here, and the control plane granted none in time',
  away: 'none is left here, and the control plane cannot be reached',
};

const retryWords = (retryAfterMs: number | null): string =>
  retryAfterMs === null ? '' : `; there is capacity again in ${Math.ceil(retryAfterMs / 1000)} s`;

/**
 * Returns the decision with its shadow: what the decision would be if all layers were enforced. The shadow is added
 * only if it differs from the decision.
 */
function withShadow(
  caller: Caller,
  tool: string,
  decision: Decision,
  { fold, limits }: ShadowPlan,
  usage: Usage,
  now: number,
  approved: readonly string[] | null,
): Decision {
  const full = fold.permission === 'deny' || limits === noLimits ? null : usage.firstFullShadow(limits, now);
  const would = fold.permission === 'ask' && isCovered(fold.asks, approved) ? 'allow' : fold.permission;
  const shadowLimits = would !== 'allow' || full !== null ? noLimits : limits;
  const shadow = shadowOf(caller, tool, fold, full, would);
  const mark = shadowMark(decision, shadow);
  if (mark === null) return { ...decision, shadowLimits };
  const verb = mark === 'would_redact' ? 'redacts' : mark === 'would_log' ? 'logs' : null;
  const words = verb === null ? shadow.reason.slice(shadow.code.length + 2) : ruleWords(verb, fold.transformBy, tool, caller.tier);
  return { ...decision, shadow, shadowLimits, reason: `${mark}: ${words}; ${decision.reason}` };
}

function shadowOf(caller: Caller, tool: string, fold: Fold, full: Full | null, would: RulePermission): Shadow {
  const { transform } = fold;
  if (full !== null) {
    const reason = `rate_limited: ${limitWords(full.limit, caller.index.settings.windowSeconds)}`;
    return { decision: 'deny', code: 'rate_limited', reason, transform, approximate: true };
  }
  const code = codes[would];
  const words = ruleWords(verbs[fold.permission], fold.permissionBy, tool, caller.tier);
  return { decision: would, code, reason: `${code}: ${words}`, transform, approximate: would !== 'deny' && fold.limits.length > 0 };
}

function shadowMark(decision: Decision, shadow: Shadow): ShadowMark | null {
  if (shadow.code !== decision.code) {
    if (shadow.code === 'rate_limited') return 'would_throttle';
    return shadow.decision === 'ask' ? 'would_ask' : shadow.decision === 'deny' ? 'would_deny' : 'would_allow';
  }
  if (decision.decision === 'deny' || shadow.transform === decision.transform) return null;
  return shadow.transform === 'redact' ? 'would_redact' : 'would_log';
}
