// Handles a call that policy asks a person for. The call is decided, asked for and made with one plain-JSON copy of its
// input, so what the caller changes in its object meanwhile changes nothing.
//
// Steps of `askOnce`:
// 1. The call is decided as if it were approved. If that denies it, or policy no longer asks, no one is asked.
// 2. `#askPerson`: the control plane notes the question, and the call is held until it is answered, or until its time is
//    over (`approval-keeper.ts`). Without an approval the call is denied: `#denyUnapproved`.
// 3. `#continueApproved`: a use of the approval is claimed. Then the call is decided again and counted, in one synchronous
//    step. Approved is not allowed: policy, limits and caps decide as they are then. If a rule asks for more, or the tool
//    would receive something that was not shown, `askOnce` is called again.
// A use whose call is not made is given back.
import { type ApprovalAsk, type ApprovalStatus, type DenyCode, reasons } from '@tollgate/proto/contract';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import type { Approvals, AskedAnswer, Holding } from '../approvals/approval-keeper.ts';
import { askFor } from '../approvals/ask-for.ts';
import type { Decision } from '../decide/decision.ts';
import { waitingWords } from '../decide/plan.ts';
import { refuse } from '../decide/refusal.ts';
import type { CallInput } from './call-input.ts';
import { payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import { callerOf, type GovernedRun } from './run.ts';

/** A call that was decided, and may be answered or asked for. */
interface Weighed {
  readonly decision: Decision;
}

/** The call that is asked for: the part of `Judging` (govern.ts) that is used here. */
export interface AskedJudging extends Pick<CallInput, 'input' | 'approved' | 'isFurtherUse' | 'becomeJson' | 'renew'> {
  readonly run: GovernedRun;
  readonly call: { readonly tool: string; readonly alsoForwarded?: unknown; readonly besides?: Readonly<Record<string, unknown>> };
  readonly options: {
    readonly until?: number;
    readonly holdMs?: number;
    readonly gone?: DisconnectSignal;
    readonly waiter?: DisconnectSignal;
    readonly onHeld?: (approvalId: string) => void;
  };
  readonly startedAt: number;
  claimed: ClaimedUse | null;
}

/**
 * The steps of `judge` that are used here. They are passed in, because govern.ts imports this module. `WeighedCall`: a
 * decided call. `JudgedCall`: a call with its answer and its entry, which was counted.
 */
export interface AskedSteps<WeighedCall extends Weighed, JudgedCall> {
  newId(): string;
  readonly approvals: Approvals | undefined;
  /** Returns a denial of which nothing is stored. */
  unkept(decision: Decision): WeighedCall;
  /** Adds to the answer that the call waits for this approval. */
  pending(judged: JudgedCall, approvalId: string): JudgedCall;
  /** Decides the call with the policy and the counts as they are now. */
  weigh(): WeighedCall;
  /** Answers and counts the call as it was weighed in this step. */
  conclude(weighed: WeighedCall): JudgedCall;
  /** Counts an attempt of the run. Returns a function that removes it. */
  countAttempt(): () => void;
  /** Weighs the call, again if a limit may have calls soon. `end` gets the result in the step that weighed it. */
  weighUntilSettled<T>(end: (weighed: WeighedCall) => T): Promise<T>;
}

/** The use of an approval that a call was made with. */
export interface ClaimedUse {
  readonly approvalId: string;
  readonly requestId: string;
  readonly approvals: Pick<Approvals, 'returnUse'>;
}

/** One call asks again if its approval is used up, or if policy changes. This is how often it asks at most. */
const asksMax = 4;
/** A call with such an answer is an attempt, unless it was counted when it was asked for: otherwise a run that repeats it never ends. */
const countedCodes: ReadonlySet<DenyCode> = new Set(['approval_denied', 'approval_unanswerable', 'approvals_full']);
/** When a caller may ask again for the answer, in ms. */
const askAgainMs = 5_000;

/**
 * Asks for the call, and continues with it. `isCapped`: its run has made its calls, so that only an approval that the run has
 * asked for before lets it continue.
 */
export async function judgeAsked<W extends Weighed, J>(judging: AskedJudging, steps: AskedSteps<W, J>, isCapped: boolean): Promise<J> {
  const problem = judging.becomeJson() ?? unshownProblem(judging);
  if (problem !== null) return steps.conclude(steps.unkept(malformed(problem)));
  const call = new AskedCallFlow(judging, steps, isCapped);
  for (let asks = 0; asks < asksMax; asks++) {
    const judged = await call.askOnce();
    if (judged !== null) return judged;
  }
  return call.deny('approval_pending', 'the call was asked for several times, and each time something had changed', null);
}

const malformed = (problem: string): Decision => refuse('call_malformed', `the input ${problem}, so the call cannot be asked for`);

/** Why the tool would receive what the person is not shown. Null: it would not. */
function unshownProblem({ call, input }: AskedJudging): string | null {
  if (call.besides === undefined && call.alsoForwarded !== undefined) return 'is forwarded together with data that is not shown';
  if (!isWithOthers(call, input)) return null;
  const payload = payloadOf(shownInput(call, input), false);
  return 'problem' in payload ? `${payload.problem}, together with what is forwarded besides it` : null;
}

class AskedCallFlow<W extends Weighed, J> {
  readonly #judging: AskedJudging;
  readonly #steps: AskedSteps<W, J>;
  readonly #isCapped: boolean;
  /** True: this call was counted as an attempt, because it made an approval, or an earlier call that made it was. */
  #isCounted: boolean;

  constructor(judging: AskedJudging, steps: AskedSteps<W, J>, isCapped: boolean) {
    this.#judging = judging;
    this.#steps = steps;
    this.#isCapped = isCapped;
    this.#isCounted = isCapped;
  }

  /** Asks, waits and continues. Null: something has changed, and the call must be asked for again. */
  async askOnce(): Promise<J | null> {
    const { approvals } = this.#steps;
    const weighed = this.#weigh([]);
    const { asks } = weighed.decision;
    if (asks === null) return this.#conclude(weighed, null);
    if (approvals === undefined) return this.deny('approval_unavailable', 'no one can be asked by this process', null);
    const rules = asks.map(({ digest }) => digest);
    // What would deny the approved call denies it now, so that no one is asked for nothing.
    const approved = this.#weigh(rules);
    if (approved.decision.decision === 'deny') return this.#conclude(approved, null);
    const ask = { ...askOf(this.#judging, asks, approved.decision.transform === 'redact'), mayCreate: !this.#isCapped };
    const answer = await this.#askPerson(approvals, ask, this.#holding(asks));
    this.#judging.renew();
    if (answer.kind !== 'approval' || answer.approval.state !== 'approved') return this.#denyUnapproved(answer);
    return this.#continueApproved(approvals, { ask, rules, approval: answer.approval });
  }

  /** Asking is an attempt, if it makes the approval. It is counted before, because other calls are decided meanwhile. */
  async #askPerson(approvals: Approvals, ask: ApprovalAsk, holding: Holding): Promise<AskedAnswer> {
    if (this.#isCounted) return approvals.ask(ask, holding);
    const uncount = this.#steps.countAttempt();
    return approvals.ask(ask, {
      ...holding,
      onAsked: (isNew) => {
        this.#isCounted = isNew;
        if (!isNew) uncount();
      },
    });
  }

  async #continueApproved(approvals: Approvals, { ask, rules, approval }: Approved): Promise<J | null> {
    const judging = this.#judging;
    const { approvalId } = approval;
    if (this.#waiter?.aborted === true)
      return this.deny('approval_pending', `the caller no longer waited when approval ${approvalId} was answered`, approval);
    const requestId = this.#steps.newId();
    const claim = await approvals.claim(approvalId, requestId, ask.call);
    judging.renew();
    if (claim === null) {
      // The use may be claimed, but the call is not made.
      approvals.returnUse(approvalId, requestId);
      return this.deny('approval_unavailable', 'the control plane did not answer, so the approval could not be used', approval);
    }
    if (!claim.granted)
      return claim.approval.state === 'approved' || claim.approval.state === 'used' ? null : this.#denyForState(claim.approval);
    const isFurtherUse = !claim.isFirstUse;
    judging.approved = rules;
    judging.isFurtherUse = isFurtherUse;
    return this.#steps.weighUntilSettled((weighed) => {
      judging.approved = null;
      judging.isFurtherUse = false;
      const { decision } = weighed;
      const isAllowed = decision.decision === 'allow';
      const isChanged = isAllowed && !isAsShown(ask, judging, decision);
      if (isAllowed && !isChanged) judging.claimed = { approvalId, requestId, approvals };
      else approvals.returnUse(approvalId, requestId);
      return decision.asks === null && !isChanged ? this.#conclude(weighed, claim.approval, isFurtherUse) : null;
    });
  }

  #denyUnapproved(answer: AskedAnswer): J {
    switch (answer.kind) {
      case 'unavailable':
        return this.deny('approval_unavailable', 'the control plane did not answer, so no one could be asked', null);
      case 'crowded':
        return this.deny('approval_pending', 'this process asks for too many calls at this time, so no one was asked', null);
      case 'refused':
        // There is no approval of this call, so its cap denies it.
        if (answer.code === null && this.#isCapped) return this.#steps.conclude(this.#steps.weigh());
        return this.deny(answer.code ?? 'approval_unavailable', answer.words, null, answer.retryAfterMs);
      case 'approval':
        return this.#denyForState(answer.approval);
    }
  }

  #denyForState(approval: ApprovalStatus): J {
    const { approvalId, state, note, remainingMs } = approval;
    switch (state) {
      case 'denied':
        return this.deny('approval_denied', `a person has denied this call${note === null ? '' : `: ${note}`}`, approval);
      case 'expired':
        return this.deny('approval_expired', `approval ${approvalId} was not answered or not used in time`, approval);
      case 'cancelled':
        return this.deny('approval_expired', `approval ${approvalId} was cancelled`, approval);
      default:
        return this.deny('approval_pending', `approval ${approvalId} has no answer yet`, approval, Math.min(askAgainMs, remainingMs));
    }
  }

  /** Denies the call because of its approval, unless policy no longer asks for the call. */
  deny(code: DenyCode, words: string, approval: ApprovalStatus | null, retryAfterMs: number | null = null): J {
    const weighed = this.#weigh([]);
    if (weighed.decision.asks === null) return this.#conclude(weighed, approval);
    const decision: Decision = {
      ...weighed.decision,
      code,
      kind: reasons[code],
      reason: reasonOf(weighed.decision, code, words),
      retryAfterMs: retryAfterMs ?? (reasons[code] === 'retry' ? askAgainMs : null),
      asks: code === 'approval_pending' ? weighed.decision.asks : null,
      attempt: !this.#isCounted && countedCodes.has(code),
      approval: approval === null ? null : whoAnswered(approval),
    };
    const { run, call } = this.#judging;
    const judged = this.#steps.conclude({ ...weighed, decision: withRedactedWords(run, call.tool, decision) });
    return code === 'approval_pending' && approval !== null ? this.#steps.pending(judged, approval.approvalId) : judged;
  }

  /** `isFurtherUse`: the asked call was counted for another use, so this one is an attempt of its own. */
  #conclude(weighed: W, approval: ApprovalStatus | null, isFurtherUse = false): J {
    // The call was weighed without its cap, and is allowed only with an approval.
    if (this.#isCapped && this.#judging.claimed === null) return this.#steps.conclude(this.#steps.weigh());
    if (approval === null && !this.#isCounted) return this.#steps.conclude(weighed);
    const attempt = isFurtherUse && weighed.decision.attempt;
    const decision = { ...weighed.decision, attempt, approval: approval === null ? null : whoAnswered(approval) };
    return this.#steps.conclude({ ...weighed, decision });
  }

  /**
   * Decides the call as if an approval covered these rules. A call that was counted as an attempt is not tested again for
   * `maxToolCalls`: then the list is never null.
   */
  #weigh(rules: readonly string[]): W {
    this.#judging.approved = rules.length > 0 || this.#isCounted ? rules : null;
    try {
      return this.#steps.weigh();
    } finally {
      this.#judging.approved = null;
    }
  }

  #holding(asks: NonNullable<Decision['asks']>): Holding {
    const { options, startedAt } = this.#judging;
    const waitMs = Math.min(...asks.map(({ terms }) => terms.waitSeconds * 1_000));
    const answeredBy = options.until ?? Number.POSITIVE_INFINITY;
    const until = Math.min(startedAt + Math.min(waitMs, options.holdMs ?? 0), answeredBy);
    return { until, answeredBy, gone: this.#waiter, onHeld: options.onHeld };
  }

  get #waiter(): DisconnectSignal | undefined {
    const { waiter, gone } = this.#judging.options;
    return waiter ?? gone;
  }
}

const whoAnswered = ({ approvalId, by, at }: ApprovalStatus): NonNullable<Decision['approval']> => ({ approvalId, by, at });

interface Approved {
  readonly ask: ApprovalAsk;
  /** The digests of the rules that the approval covers. */
  readonly rules: readonly string[];
  readonly approval: ApprovalStatus;
}

/** Returns the reason with another code and with more words. What audit mode says stays before it. */
function reasonOf({ code: before, reason }: Decision, code: DenyCode, words: string): string {
  const at = reason.indexOf(`${before}: `);
  if (at < 0) return `${code}: ${words}`;
  const ofRule = reason.slice(at + before.length + 2);
  // The words of this answer say more exactly how it stands.
  return `${reason.slice(0, at)}${code}: ${words}; ${ofRule.replace(waitingWords, '')}`;
}

/**
 * The input of the call as people are asked for it: with the data that the tool receives besides it. An input that has a field
 * of that name is written in this way too, so that the same text never stands for two calls.
 */
const shownInput = (call: AskedJudging['call'], input: unknown): unknown =>
  isWithOthers(call, input) ? { input, alsoForwarded: call.besides ?? {} } : input;

const isWithOthers = ({ besides = {} }: AskedJudging['call'], input: unknown): boolean =>
  Object.keys(besides).length > 0 || (typeof input === 'object' && input !== null && Object.hasOwn(input, 'alsoForwarded'));

/** Whether the tool receives what the person was shown. Policy or redaction may have changed while the call waited. */
const isAsShown = ({ call: { rules, inputSha256 } }: ApprovalAsk, judging: AskedJudging, { transform }: Decision): boolean =>
  askOf(judging, rules, transform === 'redact').call.inputSha256 === inputSha256;

function askOf({ run, call, input }: AskedJudging, rules: NonNullable<Decision['asks']>, isRedacted: boolean): ApprovalAsk {
  const payload = payloadOf(shownInput(call, input), false);
  if ('problem' in payload) throw new Error(`the input was copied as JSON before, but now it ${payload.problem}`);
  const { text } = payload;
  const { json = text, findings } = redactPayload(run, call.tool, { ...payload, json: text });
  const { sessionId, client } = run.facts;
  return askFor(callerOf(run), { sessionId, client, tool: call.tool, rules, text, shown: json, findings, isRedacted });
}
