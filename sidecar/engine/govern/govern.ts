// Handles one governed call, in the same way for every door: from the parsed call to a verdict and the text of its
// entry. Deciding and counting are one synchronous step: nothing can change between reading the snapshot and counting
// the call. `recorded.ts` writes the entry right after it.
//
// If a call is denied only because a limit has no calls left in this process, the call waits for a short time, because
// the limit may have calls again. Then the call is decided again. Nothing is counted before that.
//
// A caller may disconnect before it receives the answer. Then the caller does not make the call. If the call is decided
// after the disconnect, nothing is counted. If a permitted call was counted, but its caller does not receive the
// permit, the count is given back once. This happens if the caller has disconnected, or if the entry could not be
// recorded.
import { digestText, type Finding, type TraceIds } from '@tollgate/proto/contract';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import { decide } from '../decide/decide.ts';
import type { Decision, Undo } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { remediesFor } from '../decide/remedies.ts';
import { type AskedSteps, type ClaimedUse, judgeAsked } from './asked.ts';
import { entryText } from './audit-entry.ts';
import { type CalledWith, CallInput } from './call-input.ts';
import type { GovernDeps } from './governing.ts';
import { withdrawnEntry } from './outcome-entry.ts';
import { payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import { callerOf, decided, type GovernedRun, rebind } from './run.ts';
import { type Denial, denialOf, type Permit, type Verdict } from './verdict.ts';

/** Why a door denies a call before policy is read. */
export interface Flaw {
  readonly code: 'call_malformed' | 'input_too_large' | 'tool_ambiguous' | 'delegation_denied' | 'tool_definition_changed';
  readonly words: string;
}

export interface ToolCall extends CalledWith {
  readonly tool: string;
  /** A fault that the door found in the call. The call is denied because of it. */
  readonly flaw?: Flaw;
  /** Another name of the tool in this call. Policy for both names applies. */
  readonly also?: string;
  /**
   * True: the door will not see the output of the call. If policy redacts, the call is denied, because its output would
   * pass unchanged.
   */
  readonly hidesOutput?: boolean;
  /**
   * Other data that the tool receives and that the door cannot replace. If policy redacts the call and finds something
   * in this data, the call is denied. The data is not stored.
   */
  readonly alsoForwarded?: unknown;
  /**
   * Data that the tool receives besides the input, as JSON that the door has parsed. If policy asks a person, the person is
   * shown this data together with the input, and the approval is for both. A call with `alsoForwarded` and without
   * `besides` cannot be asked for. Absent or empty: the tool receives only the input.
   */
  readonly besides?: Readonly<Record<string, unknown>>;
  /** The trace that the call is part of. The entries of the call contain the ids of this trace. */
  readonly trace?: TraceIds | null;
}

export interface JudgedResult<T> {
  readonly result: T;
  /** The text of the entry about the result. */
  readonly entry: string;
  /**
   * Returns the answer for the case that the entry was not recorded, or not in time. `why` is the denial for this case.
   */
  unrecorded(why: Decision): T;
  /**
   * Returns the text of a second entry, for the case that the first entry was written but the caller did not receive
   * `result`. Absent: the first entry already denies.
   */
  withdrawn?(why: Decision): string;
  /**
   * Gives back what was counted, for the case that the caller did not receive `result`. Calling this again does
   * nothing. Absent: nothing was counted.
   */
  giveBack?(): void;
}

export interface JudgedCall extends JudgedResult<Verdict> {
  /** Gives back what a permitted call has counted, because its caller will not make the call. `why`: the reason. */
  notMade?(why: Decision): NotMade;
  /** JSON text of the input in the form that policy allows to be stored. Null: the input has no such text. */
  readonly kept: string | null;
  /** Present if the call waits for its approval: the id of the approval, and the call with the copy that was asked for. */
  readonly pending?: { readonly id: string; readonly call: ToolCall };
}

export interface NotMade {
  readonly denial: Denial;
  /** The text of a second entry, which says that the permit was not delivered. */
  readonly entry: string;
}

/**
 * Whether a door can replace the original value with a redacted one. True: always. False: never. A function decides
 * this for each redacted value.
 */
export type Takes = boolean | ((changed: unknown) => boolean);

export const takesValue = (takes: Takes, changed: unknown): boolean => (typeof takes === 'boolean' ? takes : takes(changed));

/** What a door says about how a call is judged. */
export interface JudgeOptions {
  /** Whether the door can replace the input with a redacted one. */
  readonly forwards: Takes;
  /**
   * The call must be decided by this time of `GovernDeps.clock.now`. After this time the call is denied and is not
   * counted. Absent: the caller waits as long as needed.
   */
  readonly until?: number;
  /**
   * Signals that the caller has disconnected and will not make the call. Absent: the door cannot detect that, or the
   * call is made in either case.
   */
  readonly gone?: DisconnectSignal;
  /**
   * How long the caller waits for the answer of a person, in ms from the start of the call. Absent or 0: the call is not
   * held. A rule that asks may hold it for a shorter time.
   */
  readonly holdMs?: number;
  /**
   * Signals that the caller no longer waits for a person, although the call may be made without an answer. The call is
   * not held any longer, and it claims no approval. Absent: `gone` is used.
   */
  readonly waiter?: DisconnectSignal;
  /** Called once when the call begins to wait for the answer of a person. `approvalId`: the approval that it waits for. */
  readonly onHeld?: (approvalId: string) => void;
}

/** The call that is judged, and the circumstances of it. */
class Judging extends CallInput {
  readonly run: GovernedRun;
  readonly call: ToolCall;
  readonly options: JudgeOptions;
  readonly startedAt: number;
  /** The use of an approval that the call is made with. */
  claimed: ClaimedUse | null = null;

  constructor(deps: GovernDeps, run: GovernedRun, call: ToolCall, options: JudgeOptions) {
    super(deps, call);
    this.run = run;
    this.call = call;
    this.options = options;
    this.startedAt = deps.clock.now();
  }
}

/**
 * Decides and counts one call, at once if possible. If a wait for calls of a limit may help, it returns a promise. The
 * promise resolves within the time that calls wait for limits, and before `until`. If policy asks a person for the call,
 * the promise resolves after `holdMs` at the latest, and after the control plane has answered.
 */
export function judge(deps: GovernDeps, run: GovernedRun, call: ToolCall, options: JudgeOptions): JudgedCall | Promise<JudgedCall> {
  const judging = new Judging(deps, run, call, options);
  const weighed = weighInTime(deps, judging, judging.startedAt, false);
  const { awaits } = weighed.decision;
  if (awaits === null) return concludeOrAsk(deps, judging, weighed, judging.startedAt);
  return judgeLater(deps, judging, awaits, (settled, now) => concludeOrAsk(deps, judging, settled, now));
}

function concludeOrAsk(deps: GovernDeps, judging: Judging, weighed: WeighedCall, now: number): JudgedCall | Promise<JudgedCall> {
  const { asks, stop } = weighed.decision;
  if (asks === null && (stop !== 'max_tool_calls' || !isAskedBesidesItsCap(deps, judging, now)))
    return conclude(deps, judging, weighed, now);
  return judgeAsked(judging, askedSteps(deps, judging), asks === null);
}

/**
 * Whether a call of a run that has made its calls is asked for. It may be the call that was counted when it was asked for,
 * which now continues.
 */
function isAskedBesidesItsCap(deps: GovernDeps, judging: Judging, now: number): boolean {
  if (deps.approvals === undefined) return false;
  judging.approved = [];
  const { asks } = weighInTime(deps, judging, now, false).decision;
  judging.approved = null;
  return asks !== null;
}

const attempted = refuse('approval_pending', 'a person is asked', { attempt: true });

function askedSteps(deps: GovernDeps, judging: Judging): AskedSteps<WeighedCall, JudgedCall> {
  const { approvals, clock, newId } = deps;
  return {
    unkept,
    // The same call with the same copy, for a caller that waits on its own.
    pending: (judged, id) => ({ ...judged, pending: { id, call: { ...judging.call, input: judging.input, isOwnInput: true } } }),
    newId,
    approvals,
    weigh: () => weighInTime(deps, judging, clock.now(), true),
    conclude: (weighed) => conclude(deps, judging, weighed, clock.now()),
    countAttempt: () => {
      const now = clock.now();
      judging.run.usage.record(attempted, now);
      const undo = judging.run.usage.undoOf(attempted, now);
      return () => undo(clock.now());
    },
    weighUntilSettled: async (end) => {
      const weighed = weighInTime(deps, judging, clock.now(), false);
      const { awaits } = weighed.decision;
      return awaits === null ? end(weighed) : judgeLater(deps, judging, awaits, end);
    },
  };
}

/** `isLast`: the call does not wait any more, so the result is final. */
function weighInTime(deps: GovernDeps, judging: Judging, now: number, isLast: boolean): WeighedCall {
  const { options } = judging;
  if (options.gone?.aborted === true) return unkept(goneBefore);
  const weighed = weighSafely(deps, judging, now, isLast);
  // The deadline is checked again, because the decision itself may have taken too long.
  return options.until === undefined || deps.clock.now() < options.until ? weighed : unkept(late);
}

/**
 * Tries to decide the call again whenever the limits that it waits for may have calls available. `end` gets the last
 * decision, in the step that made it.
 */
function judgeLater<T>(
  deps: GovernDeps,
  judging: Judging,
  awaits: NonNullable<Decision['awaits']>,
  end: (weighed: WeighedCall, now: number) => T | Promise<T>,
): Promise<T> {
  const { run, options } = judging;
  const startedAt = deps.clock.now();
  return new Promise((done, fail) => {
    let isDecided = false;
    const tryAt = (isLast: boolean, now: number): Decision['awaits'] => {
      if (isDecided) return null;
      try {
        const weighed = weighInTime(deps, judging, now, isLast);
        isDecided = isLast || weighed.decision.awaits === null;
        if (isDecided) done(end(weighed, now));
        return weighed.decision.awaits;
      } catch (error) {
        isDecided = true;
        fail(error);
        return null;
      }
    };
    options.gone?.addEventListener('abort', () => tryAt(true, deps.clock.now()), { once: true });
    run.usage.wait(awaits, startedAt, options.until ?? Number.POSITIVE_INFINITY, tryAt);
  });
}

const goneBefore = refuse('caller_gone', 'the caller disconnected before the call was decided');
const late = refuse('internal_error', 'the call could not be decided before the deadline of the answer');

/**
 * Builds the verdict and the entry of a call, and then counts the call with the time `decidedAt`. Counting is the last
 * step: everything that can fail has been done before.
 */
function conclude(deps: GovernDeps, judging: Judging, weighed: WeighedCall, decidedAt: number): JudgedCall {
  const { run, call, startedAt } = judging;
  const requestId = judging.claimed?.requestId ?? deps.newId();
  const { decision, digest, kept, findings } = weighed;
  const { trace = null } = call;
  const { decidedBy } = run;
  const verdict = verdictOf(judging, requestId, weighed, { decidedAt, decidedBy });
  const entry = entryText(decidedBy.callerText, {
    hookEvent: 'PreToolUse',
    tool: call.tool,
    decision,
    requestId,
    trace,
    at: deps.clock.wallTime(),
    policyAgeMs: decidedAt - deps.cell.freshness.heardAt,
    inputDigest: digest,
    input: deps.keepInput ? kept : null,
    findings,
    latencyUs: Math.round((deps.clock.now() - startedAt) * 1000),
  });
  run.usage.record(decision, decidedAt);
  decided(run);
  if (decision.outage) deps.onOutage?.();
  const judged = { entry, kept };
  return verdict.allowed
    ? new PermittedCall(deps, verdict, judged, undoOf(judging, decision, decidedAt))
    : { result: verdict, ...judged, unrecorded: (why) => (decidedBy.mayGoUnrecorded ? verdict : denialFor(verdict, why)) };
}

/** Gives back what the call has counted, and the use of its approval. */
function undoOf({ run, claimed }: Judging, decision: Decision, decidedAt: number): Undo {
  const undo = run.usage.undoOf(decision, decidedAt);
  if (claimed === null) return undo;
  return (now) => {
    undo(now);
    claimed.approvals.returnUse(claimed.approvalId, claimed.requestId);
  };
}

const denialFor = ({ tool, requestId }: Verdict, why: Decision): Denial => denialOf(tool, requestId, why, []);

// This is a class, so that all objects share its methods: one object is created for each permitted call, and its
// methods are rarely called.
class PermittedCall implements JudgedCall {
  readonly result: Permit;
  readonly entry: string;
  readonly kept: string | null;
  readonly #deps: GovernDeps;
  #undo: Undo | null;

  constructor(deps: GovernDeps, result: Permit, { entry, kept }: Pick<JudgedCall, 'entry' | 'kept'>, undo: Undo) {
    this.result = result;
    this.entry = entry;
    this.kept = kept;
    this.#deps = deps;
    this.#undo = undo;
  }

  unrecorded(why: Decision): Verdict {
    return this.result.decidedBy.mayGoUnrecorded ? this.result : denialFor(this.result, why);
  }

  withdrawn(why: Decision): string {
    const durationMs = this.#deps.clock.now() - this.result.decidedAt;
    return withdrawnEntry(this.#deps, this.result, { isError: true, durationMs, why });
  }

  giveBack(): void {
    this.#undo?.(this.#deps.clock.now());
    this.#undo = null;
  }

  notMade(why: Decision): NotMade {
    this.giveBack();
    return { denial: denialFor(this.result, why), entry: this.withdrawn(why) };
  }
}

/** A decided call, with what its tool receives and what its entry stores. */
interface WeighedCall {
  readonly decision: Decision;
  /** The input that the tool receives. */
  readonly input: unknown;
  /** The input that the entry stores, as JSON text. Null: nothing is stored. */
  readonly kept: string | null;
  /** The digest of `kept`. */
  readonly digest: string;
  readonly findings: readonly Finding[];
}

function weighSafely(deps: GovernDeps, judging: Judging, now: number, isLast: boolean): WeighedCall {
  try {
    return weigh(deps, judging, now, isLast);
  } catch {
    // This is a bug anywhere in Tollgate. Nothing passes, and the entry says so.
    return unkept(refuse('internal_error', 'the decision could not be made'));
  }
}

const unkept = (decision: Decision): WeighedCall => ({ decision, input: null, kept: null, digest: '', findings: [] });

function weigh(deps: GovernDeps, judging: Judging, now: number, isLast: boolean): WeighedCall {
  const { run, call, options } = judging;
  const { tool, also, flaw, hidesOutput = false, alsoForwarded } = call;
  const bound = rebind(deps, run);
  const reached =
    'barred' in bound
      ? bound.barred
      : flaw === undefined
        ? decide(bound.caller, tool, run.usage, deps.cell.freshness, now, also, judging)
        : (bound.caller.halted ?? refuse(flaw.code, flaw.words));
  // The call is decided again after its wait, so this decision needs no text of the input.
  if (reached.awaits !== null && !isLast && judging.problem === null) return unkept(reached);
  const decision = withRedactedWords(run, tool, reached);
  if (judging.problem !== null) return unkept(refuse('call_malformed', `the input ${judging.problem}`));
  const { input } = judging;
  const replaces = decision.decision === 'allow' && decision.transform === 'redact';
  const payload = payloadOf(input, replaces);
  if ('problem' in payload)
    return unkept('barred' in bound || decision === bound.caller.halted ? decision : unreadable(payload.problem, input, replaces));
  const { text } = payload;
  if (decision.transform === 'log' && decision.storedTransform === 'log')
    return { decision, input, kept: text, digest: digestText(text), findings: [] };
  const redacted = redactPayload(run, tool, payload);
  const { findings } = redacted;
  // The digest is of the redacted text. With a digest of the original text, redacted values could be found by trying
  // possible values.
  const kept = { kept: redacted.text, digest: digestText(redacted.text), findings };
  if (replaces && hidesOutput) {
    const words = 'policy redacts the output, and this caller does not send outputs here';
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  if (replaces && findings.length > 0 && !takesValue(options.forwards, redacted.value)) {
    const kinds = findings.map(({ kind }) => kind).join(', ');
    const words = `policy redacts the input (${kinds}), and this caller cannot take a changed one`;
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  const found = replaces && alsoForwarded !== undefined ? kindsIn(run, tool, alsoForwarded) : '';
  if (found !== '') {
    const words = `policy redacts the input, and what is forwarded with it holds what cannot be replaced (${found})`;
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  return { decision, input: replaces ? redacted.value : input, ...kept };
}

/** Returns the kinds that redaction finds in a value, separated by commas. Empty: it finds nothing. */
function kindsIn(run: GovernedRun, tool: string, value: unknown): string {
  const payload = payloadOf(value, true);
  if ('problem' in payload) return 'what cannot be read';
  return redactPayload(run, tool, payload)
    .findings.map(({ kind }) => kind)
    .join(', ');
}

/**
 * Returns the denial for an input that cannot be read. If the input has a JSON form but contains more than JSON can
 * carry, the call is not malformed. It only cannot be redacted.
 */
function unreadable(problem: string, input: unknown, replaces: boolean): Decision {
  if (replaces && !('problem' in payloadOf(input, false)))
    return refuse('redaction_unsupported', `policy redacts the input, but the input ${problem}`, { attempt: true });
  return refuse('call_malformed', `the input ${problem}`);
}

function verdictOf(
  { run, call, caseAnswers }: Judging,
  requestId: string,
  weighed: WeighedCall,
  decided: Pick<Permit, 'decidedAt' | 'decidedBy'>,
): Verdict {
  const { tool, trace = null } = call;
  const { decision, input, digest, findings } = weighed;
  if (decision.decision === 'deny') {
    const remedies = caseAnswers === null && decision.asks === null ? [] : remediesFor(callerOf(run), call, caseAnswers, decision);
    return denialOf(tool, requestId, decision, findings, remedies);
  }
  const permit: Permit = { allowed: true, requestId, tool, decision, findings, input, ...decided, inputDigest: digest, trace };
  return permit;
}
