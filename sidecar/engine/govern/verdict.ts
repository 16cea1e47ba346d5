// Defines the verdict that a door receives for a call: a permit or a denial. Only `judge` creates a `Permit`, and only
// the input of a permit may be forwarded.
import type { DenyKind, Finding, ReasonCode, TraceIds } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import type { Remedy } from '../decide/remedies.ts';
import type { DecidedBy } from './run.ts';

interface Judgement {
  /** Unique to the call. It links the entries of the call. */
  readonly requestId: string;
  readonly tool: string;
  readonly decision: Decision;
  readonly findings: readonly Finding[];
}

export interface Permit extends Judgement {
  readonly allowed: true;
  /** The input that the tool must be called with, redacted if policy says so. */
  readonly input: unknown;
  readonly decidedAt: number;
  /**
   * The data about caller and snapshot in the entries of this call. It stays the same if later decisions use another
   * snapshot.
   */
  readonly decidedBy: DecidedBy;
  readonly inputDigest: string;
  /** The trace ids in the entries of this call. Null: there are none. */
  readonly trace: TraceIds | null;
}

/** The data that is needed to report the outcome of a call: from a permit, or from a call that was not decided here. */
export type DecidedCall = Pick<Permit, 'tool' | 'requestId' | 'decision' | 'decidedBy' | 'inputDigest' | 'trace'>;

/**
 * The part of a permit that is kept until the outcome of the call is reported. The input is not kept, because it may be
 * large.
 */
export type AwaitedCall = DecidedCall & Pick<Permit, 'decidedAt'>;

export const awaitedCall = ({ tool, requestId, decision, decidedBy, inputDigest, trace, decidedAt }: Permit): AwaitedCall => ({
  tool,
  requestId,
  decision,
  decidedBy,
  inputDigest,
  trace,
  decidedAt,
});

export interface Denial extends Judgement {
  readonly allowed: false;
  readonly code: ReasonCode;
  readonly reason: string;
  /** `retry`: the same call may pass later. `terminal`: it cannot pass until something is changed. */
  readonly kind: DenyKind;
  readonly retryAfterMs: number | null;
  /** What would be allowed instead: at most 5 remedies, and 1 kB as JSON. Empty: nothing, or it is not known. */
  readonly remedies: readonly Remedy[];
  /** Present if the call waits for a person, and the program may wait for the answer: see `AskedQuestion`. */
  readonly asked?: AskedQuestion;
}

/** The question to a person about a call that was not held. */
export interface AskedQuestion {
  /** The id of the approval. */
  readonly id: string;
  /**
   * Resolves with the verdict after the person has answered, or after the time for which the rule holds a call. The call
   * continues with a copy of its input as it was asked for. Reading the property begins to wait, and each read returns the same promise.
   */
  readonly decided: Promise<Verdict>;
}

export type Verdict = Permit | Denial;

export function denialOf(
  tool: string,
  requestId: string,
  decision: Decision,
  findings: readonly Finding[],
  remedies: readonly Remedy[] = [],
): Denial {
  const { code, reason, kind, retryAfterMs } = decision;
  return { allowed: false, requestId, tool, decision, findings, code, reason, kind: kind ?? 'terminal', retryAfterMs, remedies };
}

/** Returns the field `remedies` of an answer. It is absent if there are none. */
export const remediesField = ({ remedies }: Pick<Denial, 'remedies'>): { readonly remedies?: readonly Remedy[] } =>
  remedies.length === 0 ? {} : { remedies };

/** Returns a text that tells a model about a denial, so that the model continues in another way. */
export function denialText(denial: Denial): string {
  const { tool, code, reason } = denial;
  const name = JSON.stringify(tool);
  if (code === 'call_malformed') return `The call of ${name} was not made: ${reason}. Correct that and call again, or continue without it.`;
  const asked = askedAdvice.get(code);
  if (asked !== undefined) return `The call of ${name} was not made: ${reason}. ${asked}`;
  return `The call of ${name} was not permitted: ${reason}. ${adviceOn(denial)}`;
}

/** What a model does with a call that a person is asked for. It must not look for another way to the same effect. */
const askedAdvice: ReadonlyMap<ReasonCode, string> = new Map([
  [
    'approval_pending',
    'A person must approve this call first. Do not try another way to the same effect. When the person has answered, make exactly the same call again.',
  ],
  ['approval_denied', 'Do not make the call again, and do not try another way to the same effect; continue without it or tell the user.'],
  [
    'approval_expired',
    'Do not try another way to the same effect. If the call is still needed, tell the user; exactly the same call asks a person again.',
  ],
  ['approvals_full', 'Too many calls wait for a person. Do not try another way to the same effect; wait, or tell the user.'],
  ['approval_unanswerable', 'No one may approve it. Trying again will not help; continue without it or tell the user.'],
  ['approval_unavailable', 'A person must approve this call, and could not be asked. Do not try another way; try the same call later.'],
]);

function adviceOn({ kind, retryAfterMs, remedies }: Denial): string {
  // The reason says already that the call waits for a person.
  const others = remedies
    .filter(({ kind: of }) => of !== 'approval')
    .slice(0, toldMax)
    .map(remedyWords);
  if (kind === 'terminal')
    return others.length === 0
      ? 'Trying again will not help; continue without it or tell the user.'
      : `The same call will not be allowed. ${others.join(' ')} Otherwise continue without it or tell the user.`;
  const later = retryAfterMs === null ? 'It may be allowed later.' : `It may be allowed again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return [later, ...others].join(' ');
}

/** The remedies that a text tells. */
const toldMax = 3;

function remedyWords(remedy: Remedy): string {
  switch (remedy.kind) {
    case 'case':
      return `A call of ${remedy.path} would be ${remedy.asks === true ? 'asked for' : 'allowed'}.`;
    case 'no_case': {
      const places = [remedy, ...(remedy.and ?? [])].map(({ path }) => path).join(' and ');
      return `A call of no case of ${places} would be ${remedy.asks === true ? 'asked for' : 'allowed'}.`;
    }
    case 'approval':
      return `A person must approve what ${remedy.path} asks.`;
    case 'input':
      return `${remedy.at} could not be evaluated (${remedy.reason}).`;
  }
}

/** A guarded tool throws this instead of running. Its message is for the model. */
export class ToolDenied extends Error {
  override readonly name = 'ToolDenied';
  readonly denial: Denial;

  constructor(denial: Denial) {
    super(denialText(denial));
    this.denial = denial;
  }
}
