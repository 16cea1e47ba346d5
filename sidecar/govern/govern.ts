// One governed call: from what a door has parsed to a verdict and the text of its entry, the same for every door. Deciding and
// counting are one synchronous step: nothing can change between reading the snapshot and counting the call. `recorded.ts` writes
// the entry right after it.
//
// Where a call is denied only because what is held of a limit has run dry here, it waits a moment for more, and is decided
// again. Nothing is counted before.
//
// A caller may go before it is answered, and then it makes no call: a call that is decided after that counts nothing. What a permitted call
// has counted is given back, once, where its caller is not told of the permit: it has gone, or the entry could not be recorded.
import { digestText, type Finding, type TraceIds } from '@tollgate/proto/contract';
import { decide } from '../decide/decide.ts';
import type { Decision, Undo } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { entryText } from './audit-entry.ts';
import type { GovernDeps } from './governing.ts';
import { withdrawnEntry } from './outcome-entry.ts';
import { payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import { type GovernedRun, rebind } from './run.ts';
import { type Denial, denialOf, type Permit, type Verdict } from './verdict.ts';

/** Why a door denies a call before policy is read. */
export interface Flaw {
  readonly code: 'call_malformed' | 'input_too_large' | 'tool_ambiguous' | 'delegation_denied' | 'tool_definition_changed';
  readonly words: string;
}

export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
  /** What the door found wrong with it: it is denied by that. */
  readonly flaw?: Flaw;
  /** Another name of the same call: what policy says of either holds. */
  readonly also?: string;
  /** The door will not see what comes of it: an output that policy redacts would pass as it is. */
  readonly hidesOutput?: boolean;
  /** What else the tool gets, and the door cannot replace: where policy redacts, there may be nothing in it. It is not kept. */
  readonly besides?: unknown;
  /** The trace that it is part of, for its entries. */
  readonly trace?: TraceIds | null;
}

export interface Judged<T> {
  readonly result: T;
  /** The text of its entry. */
  readonly entry: string;
  /** What to answer if there is no entry, or not in time; `why` is the denial for that. */
  unrecorded(why: Decision): T;
  /** The text of a second entry, where the first is there and yet `result` is not what was answered. Absent: it denies already. */
  withdrawn?(why: Decision): string;
  /** Where `result` is not what was answered: takes back what was counted. What is called again does nothing. Absent: nothing was. */
  giveBack?(): void;
}

export interface JudgedCall extends Judged<Verdict> {
  /** Of a permitted call that its caller will not make after all, for this reason: gives back what it has counted. */
  notMade?(why: Decision): NotMade;
  /** JSON text of the input as policy lets it be stored; null where it is none. */
  readonly kept: string | null;
}

export interface NotMade {
  readonly denial: Denial;
  /** The text of a second entry, which says that the permit was not handed out. */
  readonly entry: string;
}

/** Whether a door can put a redacted value in the place of what was there: never, always, or as the value itself says. */
export type Takes = boolean | ((changed: unknown) => boolean);

export const takesValue = (takes: Takes, changed: unknown): boolean => (typeof takes === 'boolean' ? takes : takes(changed));

/** Whether a caller has gone; an `AbortSignal` is one. */
export interface Gone {
  readonly aborted: boolean;
  /** `listener` is called once it goes, and may be called again. */
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void;
}

/** How a door asks. */
export interface Asking {
  /** Whether it can replace the input by a redacted one. */
  readonly forwards: Takes;
  /** By `GovernDeps.clock.now`: what is not decided by then is denied, and nothing of it counts. Absent: whoever asked waits. */
  readonly until?: number;
  /** The caller has gone, and will not make the call. Absent: the door cannot tell, or the call is made whether it has gone or not. */
  readonly gone?: Gone;
}

/** What is judged, and by when. */
interface Judging {
  readonly run: GovernedRun;
  readonly call: ToolCall;
  readonly asking: Asking;
  readonly startedAt: number;
}

/** Decides and counts one call: at once, unless a wait may help, then within the time that calls wait for limits and within `until`. */
export function judge(deps: GovernDeps, run: GovernedRun, call: ToolCall, asking: Asking): JudgedCall | Promise<JudgedCall> {
  const startedAt = deps.clock.now();
  const judging = { run, call, asking, startedAt };
  const weighed = weighInTime(deps, judging, startedAt);
  const { awaits } = weighed.decision;
  return awaits === null ? conclude(deps, judging, weighed, startedAt) : judgeLater(deps, judging, awaits);
}

function weighInTime(deps: GovernDeps, { run, call, asking }: Judging, now: number): Weighed {
  if (asking.gone?.aborted === true) return unkept(goneBefore);
  const weighed = weighSafely(deps, run, call, { forwards: asking.forwards, now });
  // Also where it was weighed for too long.
  return asking.until === undefined || deps.clock.now() < asking.until ? weighed : unkept(late);
}

/** Again, as soon as what it awaits may be there. */
function judgeLater(deps: GovernDeps, judging: Judging, awaits: NonNullable<Decision['awaits']>): Promise<JudgedCall> {
  const { run, asking, startedAt } = judging;
  return new Promise((done, fail) => {
    let isDecided = false;
    const tryAt = (isLast: boolean, now: number): Decision['awaits'] => {
      if (isDecided) return null;
      try {
        const weighed = weighInTime(deps, judging, now);
        isDecided = isLast || weighed.decision.awaits === null;
        if (isDecided) done(conclude(deps, judging, weighed, now));
        return weighed.decision.awaits;
      } catch (error) {
        isDecided = true;
        fail(error);
        return null;
      }
    };
    asking.gone?.addEventListener('abort', () => tryAt(true, deps.clock.now()), { once: true });
    run.usage.wait(awaits, startedAt, asking.until ?? Number.POSITIVE_INFINITY, tryAt);
  });
}

const goneBefore = refuse('caller_gone', 'the caller had gone before the call was decided');
const late = refuse('internal_error', 'no answer in time: whoever asked must be answered before it could be decided');

/** Counts the call as it was weighed at `decidedAt`, at that same time, once nothing of it can fail any more. */
function conclude(deps: GovernDeps, { run, call, startedAt }: Judging, weighed: Weighed, decidedAt: number): JudgedCall {
  const requestId = deps.newId();
  const { decision, digest, kept, findings } = weighed;
  const { trace = null } = call;
  const { decidedBy } = run;
  const verdict = verdictOf(call, requestId, weighed, { decidedAt, decidedBy });
  const entry = entryText(decidedBy.callerText, {
    hookEvent: 'PreToolUse',
    tool: call.tool,
    decision,
    requestId,
    trace,
    at: deps.clock.wall(),
    policyAgeMs: decidedAt - deps.cell.freshness.heardAt,
    inputDigest: digest,
    input: deps.keepInput ? kept : null,
    findings,
    latencyUs: Math.round((deps.clock.now() - startedAt) * 1000),
  });
  run.usage.record(decision, decidedAt);
  if (decision.outage) deps.onOutage?.();
  const judged = { entry, kept };
  return verdict.allowed
    ? new PermittedCall(deps, verdict, judged, run.usage.undoOf(decision, decidedAt))
    : { result: verdict, ...judged, unrecorded: (why) => (decidedBy.mayGoUnrecorded ? verdict : denialFor(verdict, why)) };
}

const denialFor = ({ tool, requestId }: Verdict, why: Decision): Denial => denialOf(tool, requestId, why, []);

// A class, because there is one for each call that is permitted, and what it may be asked for seldom is.
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

/** A call as it was decided, with what its tool gets and what its entry keeps. */
interface Weighed {
  readonly decision: Decision;
  /** For the tool. */
  readonly input: unknown;
  /** For the entry, as JSON text; null: nothing. */
  readonly kept: string | null;
  /** Of what the entry keeps. */
  readonly digest: string;
  readonly findings: readonly Finding[];
}

function weighSafely(deps: GovernDeps, run: GovernedRun, call: ToolCall, how: { readonly forwards: Takes; readonly now: number }): Weighed {
  try {
    return weigh(deps, run, call, how);
  } catch {
    // A bug of ours, wherever it is: nothing passes, and the entry says so.
    return unkept(refuse('internal_error', 'the decision could not be made'));
  }
}

const unkept = (decision: Decision): Weighed => ({ decision, input: null, kept: null, digest: '', findings: [] });

function weigh(
  deps: GovernDeps,
  run: GovernedRun,
  { tool, also, input, flaw, hidesOutput = false, besides }: ToolCall,
  { forwards, now }: { readonly forwards: Takes; readonly now: number },
): Weighed {
  const bound = rebind(deps, run);
  const reached =
    'barred' in bound
      ? bound.barred
      : flaw === undefined
        ? decide(bound.caller, tool, run.usage, deps.cell.freshness, now, also)
        : (bound.caller.halted ?? refuse(flaw.code, flaw.words));
  const decision = withRedactedWords(run, tool, reached);
  const replaces = decision.decision === 'allow' && decision.transform === 'redact';
  const payload = payloadOf(input, replaces);
  if ('problem' in payload)
    return unkept('barred' in bound || decision === bound.caller.halted ? decision : unreadable(payload.problem, input, replaces));
  const { text } = payload;
  if (decision.transform === 'log' && decision.storedTransform === 'log')
    return { decision, input, kept: text, digest: digestText(text), findings: [] };
  const redacted = redactPayload(run, tool, payload);
  const { findings } = redacted;
  // What was redacted must not be found again by trying values against a digest.
  const kept = { kept: redacted.text, digest: digestText(redacted.text), findings };
  if (replaces && hidesOutput) {
    const words = 'policy redacts the output, and whoever asks here does not show it';
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  if (replaces && findings.length > 0 && !takesValue(forwards, redacted.value)) {
    const kinds = findings.map(({ kind }) => kind).join(', ');
    const words = `policy redacts the input (${kinds}), and this caller cannot take a changed one`;
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  const found = replaces && besides !== undefined ? kindsIn(run, tool, besides) : '';
  if (found !== '') {
    const words = `policy redacts the input, and what goes on with it holds what cannot be replaced (${found})`;
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  return { decision, input: replaces ? redacted.value : input, ...kept };
}

/** What redaction finds in a value; empty: nothing. */
function kindsIn(run: GovernedRun, tool: string, value: unknown): string {
  const payload = payloadOf(value, true);
  if ('problem' in payload) return 'what cannot be read';
  return redactPayload(run, tool, payload)
    .findings.map(({ kind }) => kind)
    .join(', ');
}

/** An input that has JSON, and is more than that, is no malformed call. */
function unreadable(problem: string, input: unknown, replaces: boolean): Decision {
  if (replaces && !('problem' in payloadOf(input, false)))
    return refuse('redaction_unsupported', `policy redacts the input, and it ${problem}`, { attempt: true });
  return refuse('call_malformed', `the input ${problem}`);
}

function verdictOf(
  { tool, trace = null }: ToolCall,
  requestId: string,
  weighed: Weighed,
  decided: Pick<Permit, 'decidedAt' | 'decidedBy'>,
): Verdict {
  const { decision, input, digest, findings } = weighed;
  if (decision.decision === 'deny') return denialOf(tool, requestId, decision, findings);
  const permit: Permit = { allowed: true, requestId, tool, decision, findings, input, ...decided, inputDigest: digest, trace };
  return permit;
}
