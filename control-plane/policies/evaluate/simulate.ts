// Compares what a draft would decide for replayed calls with what the present documents decide. Both sides use the
// sidecars' evaluator and count separate limits over the recorded times, so all differences are due to the draft. Pure;
// the caller controls the clock and the time limit. Calls must come oldest first.
//
// State: `before` and `after` are the two sides. Each side has the callers that it has bound and the windows that it
// has counted. `groups` collects the differences, and `totals` counts them. The numbers of callers and groups are
// bounded. Callers above the bound are forgotten and bound again later. Groups above the bound are counted in the
// totals only, and the result says that groups were cut.
import type { ReasonCode, RulePermission, Tier } from '@tollgate/proto/contract';
import {
  type Caller,
  type CallFacts,
  createCounters,
  createReplayedBinder,
  createRunUsage,
  type Decision,
  decide,
  permissionStanding,
  type ReplayedCaller,
  type ReplayedPolicy,
  type Standing,
  transformStanding,
} from '@tollgate/sidecar/engine/compile';
import { createKept } from './kept.ts';
import type { ReplayedCall } from './replayed-call.ts';

export const changes = ['denied', 'asked', 'allowed', 'throttled', 'redacted', 'unredacted'] as const;
type Change = (typeof changes)[number];

interface Example {
  readonly id: string;
  readonly ts: string;
  readonly sub: string;
  /**
   * `recorded`: the reason that the entry contains. `before`: the reason by the present documents. `after`: the reason
   * by the draft.
   */
  readonly recorded: string;
  readonly before: string;
  readonly after: string;
}

export interface Group extends Standing {
  readonly change: Change;
  readonly agent: string;
  readonly tool: string;
  readonly tier: Tier;
  /** Present if all calls of the group have the same subject. */
  readonly sub?: string;
  readonly count: number;
  readonly examples: readonly Example[];
}

export interface Comparison {
  readonly entries: number;
  /** Calls that were refused before policy was evaluated. Any draft would refuse them too. */
  readonly notPolicy: number;
  readonly approximate: number;
  /**
   * Calls of which a condition read what the entry does not show, because it was redacted, cut or not recorded. They are
   * decided as strictly as they may turn out.
   */
  readonly uncertain: number;
  /** Calls that the draft asks a person about, whether the present documents ask or not. */
  readonly asked: number;
  /** Calls whose recorded decision differs from that of the present documents, if that one is certain. */
  readonly drift: number;
  readonly newly: Readonly<Record<Change, number>>;
  readonly groups: readonly Group[];
  readonly groupsCut: boolean;
}

export interface Simulation {
  /** Counts the call in the limits of both sides, but does not compare it. */
  warmUp(call: ReplayedCall): void;
  take(call: ReplayedCall): void;
  compare(): Comparison;
}

/** `characters`: the total length of the stored keys. Keys are as long as the names in the log. */
const groupsMax = { entries: 10_000, characters: 8 * 1_048_576 };
const groupsShown = 500;
const examplesMax = 3;
const callersMax = { entries: 10_000, characters: 8 * 1_048_576 };

/** After this number of calls, windows without charges are removed. */
const sweepEvery = 10_000;

/** Codes of calls for which the documents were evaluated. Every other refusal is independent of the documents. */
const byDocuments: readonly (ReasonCode | null)[] = [
  'allowed',
  'policy_denied',
  'rate_limited',
  'redaction_unsupported',
  'agent_unknown',
  'outage',
  'approval_pending',
  'approval_denied',
  'approval_expired',
  'approvals_full',
  'approval_unanswerable',
  'approval_unavailable',
];

interface OpenGroup extends Omit<Group, 'sub' | 'count' | 'examples'> {
  /** Null if there were several subjects. */
  sub: string | null;
  count: number;
  readonly examples: Example[];
}

export function createSimulation(today: ReplayedPolicy, draft: ReplayedPolicy): Simulation {
  const before = createSide(today);
  const after = createSide(draft);
  const groups = new Map<string, OpenGroup>();
  let groupCharacters = 0;
  const totals = { entries: 0, notPolicy: 0, approximate: 0, uncertain: 0, asked: 0, drift: 0, groupsCut: false };
  const newly: Record<Change, number> = { denied: 0, asked: 0, allowed: 0, throttled: 0, redacted: 0, unredacted: 0 };

  const add = (change: Change, call: ReplayedCall, was: ReplayResult, is: ReplayResult): void => {
    newly[change] += 1;
    const { reason: from, place: fromPlace } = wordsOf(change, was);
    const { reason: to, place: toPlace } = wordsOf(change, is);
    // If a denial disappears, the group is identified by the rule that denies at present.
    const { layer, part, document, path } = change === 'allowed' ? fromPlace : toPlace;
    const { agent, tool, tier, sub } = call;
    const key = JSON.stringify([change, agent, tool, tier, document, path]);
    let group = groups.get(key);
    if (group === undefined) {
      if (groups.size >= groupsMax.entries || groupCharacters + key.length > groupsMax.characters) {
        totals.groupsCut = true;
        return;
      }
      groupCharacters += key.length;
      group = { change, agent, tool, tier, layer, ...(part === undefined ? {} : { part }), document, path, sub, count: 0, examples: [] };
      groups.set(key, group);
    }
    group.count += 1;
    if (group.sub !== sub) group.sub = null;
    if (group.examples.length < examplesMax)
      group.examples.push({ id: call.id, ts: new Date(call.at).toISOString(), sub, recorded: call.reason, before: from, after: to });
  };

  return {
    warmUp: (call) => {
      const { caller } = call;
      if (caller === null || !byDocuments.includes(call.code)) return;
      before.weigh(call, caller);
      after.weigh(call, caller);
    },
    take: (call) => {
      totals.entries += 1;
      if (!byDocuments.includes(call.code)) {
        totals.notPolicy += 1;
        return;
      }
      if (call.approximate) totals.approximate += 1;
      const { caller } = call;
      if (caller === null) return;
      const was = before.weigh(call, caller);
      const is = after.weigh(call, caller);
      if (isUncertain(call, was) || isUncertain(call, is)) totals.uncertain += 1;
      if (effectOf(is.decision) === 'ask') totals.asked += 1;
      const isSame = effectOf(was.decision) === (call.wasAsked ? 'ask' : call.decision);
      if (!isSame && !isUncertain(call, was)) totals.drift += 1;
      const change = changeOf(was.decision, is.decision);
      if (change !== null) add(change, call, was, is);
    },
    compare: () => {
      const sorted = [...groups.values()].toSorted((a, b) => b.count - a.count);
      return {
        ...totals,
        newly: { ...newly },
        groups: sorted.slice(0, groupsShown).map(({ sub, ...group }) => ({ ...group, ...(sub === null ? {} : { sub }) })),
        groupsCut: totals.groupsCut || sorted.length > groupsShown,
      };
    },
  };
}

/** Whether a condition read a part of the call that the entry does not show. */
function isUncertain({ facts }: ReplayedCall, { decision: { undecided } }: ReplayResult): boolean {
  if (undecided === null) return false;
  // A decision names only the first undecided cases.
  return undecided.some(({ reason }) => reason === 'hidden') || (facts?.hides === true && undecided.length >= namedMax);
}

/** The undecided cases that a decision names at most. */
const namedMax = 16;

/** What policy does with a call. */
const effectOf = ({ decision, asks }: Decision): RulePermission => (asks === null ? decision : 'ask');

function changeOf(was: Decision, is: Decision): Change | null {
  if (effectOf(was) !== effectOf(is)) {
    if (is.decision === 'allow') return 'allowed';
    if (is.asks !== null) return 'asked';
    return is.code === 'rate_limited' ? 'throttled' : 'denied';
  }
  if (effectOf(is) === 'deny' || was.transform === is.transform) return null;
  return is.transform === 'redact' ? 'redacted' : 'unredacted';
}

interface ReplayResult extends Pick<ReplayedCall, 'facts'> {
  readonly caller: Caller;
  readonly tool: string;
  readonly decision: Decision;
}

interface Side {
  weigh(call: ReplayedCall, caller: ReplayedCaller): ReplayResult;
}

function createSide(policy: ReplayedPolicy): Side {
  const bind = createReplayedBinder(policy);
  const counters = createCounters(policy.settings.windowSeconds);
  const callers = createKept<Caller>(callersMax);
  let weighed = 0;
  return {
    weigh: ({ tool, at, code, decision: recorded, policyAgeMs, outage, facts }, replayed) => {
      const caller = callers.getOr(JSON.stringify(replayed), () => bind(replayed));
      const usage = createRunUsage(counters, { originSub: replayed.sub, startedAt: at });
      const decideBy = (known: CallFacts | undefined): Decision =>
        decide(caller, tool, usage, { connected: !outage, heardAt: at - policyAgeMs }, at, undefined, known);
      const decided = decideBy(facts ?? undefined);
      const decision = code === 'redaction_unsupported' ? unredactable(decided) : decided;
      // A call that was made, and that these documents ask about, counts as one that a person would have approved.
      const counted =
        decision.asks === null || recorded === 'deny'
          ? decision
          : decideBy({ ...(facts ?? noFacts), approved: decision.asks.map(({ digest }) => digest) });
      usage.record(counted, at);
      if (++weighed % sweepEvery === 0) counters.sweep(at);
      return { caller, tool, facts, decision };
    },
  };
}

/**
 * Changes the decision for a call whose caller could not use a changed input. If documents require redaction, the call
 * is denied.
 */
function unredactable(decision: Decision): Decision {
  if (decision.decision === 'deny' || decision.transform === 'log') return decision;
  return {
    ...decision,
    decision: 'deny',
    code: 'redaction_unsupported',
    limits: noneOf(decision.limits),
    shadowLimits: noneOf(decision.shadowLimits),
  };
}

/** Of a call whose input was not read, because no rule has cases. */
const noFacts: CallFacts = { args: {}, wallTime: 0, caseAnswers: null, approved: null };

const noneOf = (set: Decision['limits']): Decision['limits'] => ({ ...set, limits: [], found: null });

/** Returns the rule that identifies a change, and its description. */
function wordsOf(change: Change, { caller, tool, facts, decision }: ReplayResult): { readonly reason: string; readonly place: Standing } {
  if (change === 'redacted' || change === 'unredacted') {
    const { reason, ...place } = transformStanding(caller, tool, facts);
    return { reason: `${decision.code}: ${reason}`, place };
  }
  if (decision.code === 'redaction_unsupported') {
    const { reason, ...place } = transformStanding(caller, tool, facts);
    return { reason: `redaction_unsupported: ${reason}, and the caller could not take a changed input`, place };
  }
  return { reason: decision.reason, place: permissionStanding(caller, tool, facts, decision) };
}
