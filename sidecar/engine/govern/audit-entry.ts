// Builds audit entries as the text that is written to the spool. An entry is joined from the texts of its parts,
// because most parts are the same in many calls. The parts that are fixed for a run or for a decision are serialized
// only once.
import { type AuditEntry, bounds, type Finding, quoteJson, type TraceIds } from '@tollgate/proto/contract';
import type { Caller } from '../decide/caller.ts';
import type { Decision, Shadow } from '../decide/decision.ts';

/** The facts of an entry that are fixed for a run. */
export interface RunFacts {
  readonly sessionId: string;
  readonly client: { readonly name: string; readonly version?: string };
  /** The session ids of the runs from root to caller. A direct call has one. */
  readonly runChain: readonly string[];
  /** True: an authenticated caller claimed the chain. */
  readonly chainClaimed: boolean;
}

export interface EntryFacts {
  readonly hookEvent: AuditEntry['hookEvent'];
  readonly tool: string;
  readonly decision: Decision;
  readonly requestId: string;
  /** Null: the call is not part of a known trace. */
  readonly trace: TraceIds | null;
  /** Wall-clock time in ms. */
  readonly at: number;
  readonly policyAgeMs: number;
  readonly inputDigest: string;
  /** The input to store, as JSON text. Null: no input is stored. */
  readonly input: string | null;
  readonly findings: readonly Finding[];
  readonly latencyUs?: number;
  readonly outcome?: NonNullable<AuditEntry['outcome']>;
}

/**
 * Returns the text of an entry. `ofCaller`: the result of `callerText`. Numbers and values that Tollgate generates are
 * written unchanged. Values from outside are escaped by `quoteJson`.
 */
export function entryText(ofCaller: string, facts: EntryFacts): string {
  const { hookEvent, tool, decision, requestId, trace, at, policyAgeMs, inputDigest, input, findings, latencyUs, outcome } = facts;
  return (
    `{"hookEvent":"${hookEvent}","tool":${quoteJson(tool)},${decisionText(decision)},${ofCaller},` +
    `"requestId":"${requestId}","ts":"${isoTime(at)}","policyAgeMs":${wholeAge(policyAgeMs)},"inputDigest":"${inputDigest}"` +
    (trace === null ? '' : `,"traceId":${quoteJson(trace.traceId)},"spanId":${quoteJson(trace.spanId)}`) +
    (findings.length === 0 ? '' : `,"findings":${JSON.stringify(findings)}`) +
    (latencyUs === undefined ? '' : `,"latencyUs":${latencyUs}`) +
    (outcome === undefined ? '' : `,"outcome":${JSON.stringify(outcome)}`) +
    (input === null ? '' : inputText(input)) +
    '}'
  );
}

/** Returns the fields of an object as JSON, without the braces. */
const fieldsText = (fields: Partial<AuditEntry>): string => JSON.stringify(fields).slice(1, -1);

const decisionTexts = new WeakMap<Decision, string>();

function decisionText(decision: Decision): string {
  const known = decisionTexts.get(decision);
  if (known !== undefined) return known;
  const text = fieldsText({
    decision: decision.decision,
    code: decision.code,
    decisionReason: decision.reason,
    transform: decision.storedTransform,
    ...(decision.rule === null ? {} : { rule: decision.rule }),
    ...(decision.undecided === null ? {} : { undecided: decision.undecided }),
    ...(decision.shadow === null ? {} : { shadow: shadowFields(decision.shadow) }),
    ...(decision.outage ? { outage: true as const } : {}),
    ...(decision.approval === null ? {} : { approval: approvalFields(decision.approval) }),
  });
  decisionTexts.set(decision, text);
  return text;
}

/**
 * Returns the part of an entry about the caller. This text is the same in all entries of a run under one snapshot, so
 * it is built once. The text does not reference the snapshot. The parts that do not depend on the session are shared by
 * all runs of a caller: a process keeps thousands of runs.
 */
export function callerText(caller: Caller, run: RunFacts): string {
  const { before, after } = sharedTexts(caller, run);
  return `${before},"sessionId":${quoteJson(run.sessionId)},${after}`;
}

interface SharedTexts {
  readonly client: RunFacts['client'];
  readonly before: string;
  readonly after: string;
}

/** The texts for the last client of each caller. */
const textsOf = new WeakMap<Caller, SharedTexts>();

function sharedTexts(caller: Caller, run: RunFacts): SharedTexts {
  const { client } = run;
  const known = textsOf.get(caller);
  if (known !== undefined && known.client.name === client.name && known.client.version === client.version) return known;
  const texts = { client, before: compact(fieldsText(fieldsBefore(caller))), after: compact(fieldsText(fieldsAfter(caller, run))) };
  // The chain of a delegated call names sessions. A caller that nothing keeps is not found again.
  if (caller.isKept && caller.hops.length === 1) textsOf.set(caller, texts);
  return texts;
}

/**
 * Returns an equal text with one byte a character where that is possible. V8 stores the result of `JSON.stringify` with
 * two bytes a character if any part of it was once stored so.
 */
const compact = (text: string): string => Buffer.from(text).toString();

/** The fields before the session. */
function fieldsBefore({ hops, subject, claim, profile }: Caller): Partial<AuditEntry> {
  const last = hops.at(-1);
  return {
    agentName: last?.name ?? '',
    ...(profile === null ? {} : { agentId: profile.id }),
    agentTier: last?.tier ?? 'api',
    agentType: last?.agentType ?? '',
    role: subject?.role ?? '',
    sub: hops.length > 1 ? `agent:${profile?.id ?? last?.name ?? ''}` : claim.identity.sub,
    keyId: claim.identity.keyId,
    userEmail: subject?.email ?? '',
    ...(claim.identity.peerUid === undefined ? {} : { peerUid: claim.identity.peerUid }),
  };
}

/** The fields after the session. */
function fieldsAfter({ hops, claim, index }: Caller, run: RunFacts): Partial<AuditEntry> {
  const delegated = hops.length > 1;
  const parent = hops.at(-2)?.profile;
  return {
    client: run.client,
    depth: hops.length - 1,
    ...(delegated ? { originSub: claim.identity.sub, chain: hops.map(({ name }) => name), runChain: run.runChain } : {}),
    ...(delegated && parent != null ? { parentProfileId: parent.id } : {}),
    ...(delegated && run.chainClaimed ? { chainClaimed: true as const } : {}),
    epoch: index.epoch,
    revision: index.revision,
  };
}

const shadowFields = ({ decision, code, reason, transform, approximate }: Shadow): NonNullable<AuditEntry['shadow']> => ({
  decision,
  code,
  reason,
  transform,
  ...(approximate ? { approximate: true as const } : {}),
});

const approvalFields = ({ approvalId, by, at }: NonNullable<Decision['approval']>): NonNullable<AuditEntry['approval']> => ({
  id: approvalId,
  ...(by === null ? {} : { by }),
  ...(at === null ? {} : { at }),
});

let second = { at: Number.NaN, text: '' };

/** Returns the same text as `toISOString`. That function is slow, so it is called only once a second. */
function isoTime(ms: number): string {
  const whole = Math.trunc(ms);
  const start = whole - (whole % 1000);
  if (start !== second.at) second = { at: start, text: new Date(start).toISOString().slice(0, -4) };
  return `${second.text}${String(whole - start).padStart(3, '0')}Z`;
}

function inputText(input: string): string {
  // No character takes more than three bytes, so a short text needs no byte count.
  if (input.length * 3 <= bounds.auditInputBytes || Buffer.byteLength(input) <= bounds.auditInputBytes) return `,"input":${input}`;
  // The text is cut only between two characters, because a cut inside one would leave a replacement character.
  const cut = new TextDecoder().decode(Buffer.from(input).subarray(0, bounds.auditInputBytes), { stream: true });
  return `,"inputCut":true,"input":${JSON.stringify(cut)}`;
}

// Rounds up. So the age in an entry exceeds the workspace's maximum exactly when the outage rule treated the policy as
// too old.
const wholeAge = (ms: number): number => Math.ceil(Math.min(ms, Number.MAX_SAFE_INTEGER));
