// Makes the tool calls of one round. The calls are read, then decided in the order of the request, then made in
// parallel. Whatever the outcome of a call, it has one `governance` event, then one `tool_result` event, and an answer
// for the model. Calls that ask a person come last: when all others are made, the run is stored as waiting, and the round
// continues in the process that resumes the run.
import { type Denial, denialOf, denialText, type Permit } from '@tollgate/sidecar/engine';
import type { Span } from '@tollgate/sidecar/telemetry';
import { loggable } from '../base/loggable.ts';
import { outputText, shortValue } from './conversation.ts';
import type { GovernanceEvent } from './events.ts';
import { askDigestOf } from './governance/call-approvals.ts';
import { type AskingCall, type Deciding, type GovernedDecision, isAsking } from './governance/governed.ts';
import type { RequestedCall } from './model.ts';
import type { Reply } from './paid-reply.ts';
import type { RunParts } from './run-parts.ts';
import type { ToolResult } from './tools/tool.ts';
import type { Hint, ReadCall } from './tools/workbench.ts';
import { awaitedOf, type ResumedRun, type WaitingCall, type WaitingRound } from './waiting.ts';

type ReplyContent = Pick<Reply, 'text' | 'toolCalls' | 'finish' | 'offered'>;

interface AskedRead extends ReadCall {
  readonly asked: Pick<RequestedCall, 'callId' | 'alias'>;
}

interface DecidedCall extends GovernedDecision, AskedRead {
  readonly kind: 'decided';
}

/** A call that asks a person. */
interface AskingRoundCall extends AskedRead {
  readonly kind: 'asking';
  readonly asking: AskingCall;
  readonly kept: unknown;
}

type RoundCall = DecidedCall | AskingRoundCall;

interface Answer {
  readonly decided: DecidedCall;
  readonly isError: boolean;
  readonly output: unknown;
  readonly kept: unknown;
}

/**
 * The part of an answer that is kept after its event was emitted: the text for the model, and the value for the record.
 */
interface ToldAnswer extends Pick<Answer, 'decided' | 'isError'> {
  readonly text: string;
  readonly kept: unknown;
}

/**
 * Counts bytes of tool outputs of one round, as JSON. It counts the outputs that were emitted and that the reader has
 * not taken yet.
 */
interface PendingOutputs {
  bytes: number;
}

/**
 * The maximum number of bytes in `PendingOutputs`. Calls run in parallel, and a tool may output 1 MiB. Above this
 * maximum, the reader receives the same shortened text as the model.
 */
const untoldBytesMax = 32 * 1_048_576;

/** What the loop needs after the round, in this process or in the one that resumes the run. */
export type AfterRound = Pick<WaitingRound, 'round' | 'seen' | 'after'>;

/** `waits`: the run is stored as waiting, and this process must do nothing more for it. */
export type Played = 'played' | 'waits';

/** Plays the round of a reply. */
export async function playRound(parts: RunParts, { text, toolCalls, finish, offered }: ReplyContent, after: AfterRound): Promise<Played> {
  const { governed, conversation, emit } = parts;
  const calls: RoundCall[] = [];
  const hinted = new Set<Hint['kind']>();
  for (const [at, asked] of toolCalls.entries()) {
    const read = parts.workbench.read(asked, { governed, offered, cutOff: finish === 'length' && at === toolCalls.length - 1 });
    const hint = read.hint === null || hinted.has(read.hint.kind) ? null : read.hint;
    if (hint !== null) hinted.add(hint.kind);
    const decided = await governed.decide({ ...read.call, trace: parts.trace }, decidingOf(parts));
    calls.push(roundCallOf({ asked, call: read.call, hint }, decided));
  }
  conversation.keep({
    role: 'assistant',
    text: governed.kept(text),
    toolCalls: calls.map(({ asked, call, kept }) => ({ callId: asked.callId, tool: call.tool, input: kept })),
  });
  parts.note();
  await emit({ kind: 'tool_calls', data: { round: after.round, calls: calls.map(shownCall) } });
  return finishRound(parts, calls, after);
}

/**
 * Continues a round of which calls have waited. Each of them is decided again, by the current policy. A call whose
 * question has no answer yet waits again.
 */
export async function resumeRound(parts: RunParts, { stored, answers }: ResumedRun): Promise<Played> {
  const calls: RoundCall[] = [];
  for (const [at, { callId, alias, tool, input, askDigest }] of stored.calls.entries()) {
    const answered = answers[at] ?? null;
    if (answered !== null && answered.approval.state !== 'pending') {
      const { approvalId, state, by } = answered.approval;
      await parts.emit({ kind: 'approval_decided', data: { callId, tool, approvalId, state, by } });
    }
    const read = { asked: { callId, alias }, call: { tool, input, isOwnInput: true }, hint: null };
    const known = answered === null ? null : { askDigest, ...answered };
    const decided = await parts.governed.decide({ ...read.call, trace: parts.trace }, { ...decidingOf(parts), known });
    calls.push(roundCallOf(read, decided));
  }
  return finishRound(parts, calls, stored);
}

const decidingOf = ({ signal, markContinued }: RunParts): Deciding => ({ signal, beforeClaim: markContinued });

function roundCallOf(read: AskedRead, decided: GovernedDecision | AskingCall): RoundCall {
  return isAsking(decided)
    ? { ...read, kind: 'asking', asking: decided, kept: JSON.parse(decided.question.ask.shownInput) }
    : { ...read, kind: 'decided', ...decided };
}

/** Makes the calls that are decided. If others ask, the run then waits, or continues with their answers. */
async function finishRound(parts: RunParts, calls: readonly RoundCall[], after: AfterRound): Promise<Played> {
  const decided = calls.filter((one) => one.kind === 'decided');
  const asking = calls.filter((one) => one.kind === 'asking');
  if (decided.some(({ verdict }) => verdict.allowed)) await parts.markContinued();
  for (const one of decided) await parts.emit({ kind: 'governance', data: governanceOf(one) });
  const untold: PendingOutputs = { bytes: 0 };
  const answers = await Promise.all(decided.map((one) => answer(parts, one, untold)));
  for (const one of answers) take(parts, one);
  parts.note();
  parts.signal.throwIfAborted();
  return asking.length === 0 ? 'played' : waitForAnswers(parts, asking, after);
}

async function waitForAnswers(parts: RunParts, asking: readonly AskingRoundCall[], after: AfterRound): Promise<Played> {
  const { round, seen, after: text } = after;
  const asks = asking.map((one) => ({ ...one.asking.question.ask, roundId: `${parts.run.id}-${round}` }));
  const waiting = asking.map(waitingCallOf);
  const outcome = await parts.wait({ round, seen, after: text, calls: waiting }, asks);
  if (outcome.kind !== 'waits') {
    const continued: RoundCall[] = [];
    for (const [at, one] of asking.entries()) {
      const given = outcome.kind === 'answered' ? outcome.answers[at] : undefined;
      const why = outcome.kind === 'impossible' ? outcome.why : 'the question was not answered';
      continued.push(roundCallOf(one, await one.asking.answer(given ?? { kind: 'refused', code: null, words: why, retryAfterMs: null })));
    }
    return finishRound(parts, continued, after);
  }
  await parts.emit({ kind: 'approval_required', data: { round, calls: awaitedOf(waiting, outcome.answers) } });
  // The entry of a call that waits says so. A call without a new question has its entry, or gets one when it is resumed.
  for (const [at, one] of asking.entries()) {
    const given = outcome.answers[at];
    if (given?.kind === 'approval' && given.isNew && given.approval.state === 'pending') await one.asking.answer(given);
  }
  return 'waits';
}

const waitingCallOf = ({ asked: { callId, alias }, call: { tool, input }, asking }: AskingRoundCall): WaitingCall => ({
  callId,
  alias,
  tool,
  input,
  askDigest: askDigestOf(asking.question.ask),
  isCounted: asking.question.isCounted,
});

const shownCall = (one: RoundCall) => ({
  callId: one.asked.callId,
  tool: one.call.tool,
  input: one.kind === 'decided' && one.verdict.allowed ? one.verdict.input : one.kept,
});

function governanceOf({ asked, call, verdict: { decision } }: DecidedCall): GovernanceEvent {
  const { reason, transform, rule } = decision;
  return {
    callId: asked.callId,
    tool: call.tool,
    decision: decision.decision,
    reason,
    transform,
    ...(rule === null ? {} : { rule: { layer: rule.layer, path: rule.path, revision: rule.revision } }),
  };
}

function answer(parts: RunParts, decided: DecidedCall, untold: PendingOutputs): Promise<ToldAnswer> {
  const { asked, call, verdict } = decided;
  const attributes = {
    'gen_ai.tool.name': call.tool,
    'gen_ai.tool.call.id': asked.callId,
    'gen_ai.tool.type': 'function',
    'tollgate.decision': verdict.decision.decision,
    'tollgate.code': verdict.decision.code,
    'tollgate.request_id': verdict.requestId,
  };
  return parts.tracing
    .span('execute_tool', call.tool, attributes, (span) => traced(parts, decided, span))
    .then((answered) => tellAnswer(parts, answered, untold));
}

/**
 * This is not an async function, because an async function would keep the whole output in memory until the reader has
 * taken the event.
 */
function tellAnswer(parts: RunParts, { decided, isError, output, kept }: Answer, untold: PendingOutputs): Promise<ToldAnswer> {
  const told: ToldAnswer = { decided, isError, text: outputText(output), kept: shortValue(kept) };
  const bytes = Buffer.byteLength(JSON.stringify(output) ?? '');
  const fits = untold.bytes + bytes <= untoldBytesMax;
  const counted = fits ? bytes : 0;
  untold.bytes += counted;
  const { asked, call } = decided;
  const data = { callId: asked.callId, tool: call.tool, isError, output: fits ? output : told.text };
  return parts.emit({ kind: 'tool_result', data }).then(() => {
    untold.bytes -= counted;
    return told;
  });
}

/** A denied call has a span too, marked as failed, so that an operator can find what a run was not allowed to do. */
function traced(parts: RunParts, decided: DecidedCall, span: Span): Promise<Answer> {
  const { verdict } = decided;
  return verdict.allowed ? made(parts, decided, verdict, span) : Promise.resolve(refused(decided, verdict, span));
}

function refused(decided: DecidedCall, denial: Denial, span: Span): Answer {
  span.fail(denial.code);
  const { call, hint } = decided;
  const words = denialText(denial);
  const output = hint !== null && denial.code === call.flaw?.code ? `${words} ${hint.text}` : words;
  return { decided, isError: true, output, kept: output };
}

async function made(parts: RunParts, decided: DecidedCall, permit: Permit, span: Span): Promise<Answer> {
  const { governed, clock } = parts;
  const startedAt = clock.now();
  const { output, isError } = await called(parts, permit, span);
  if (isError) span.fail('tool_error');
  const traced = { ...permit, trace: span.trace ?? permit.trace };
  const { delivery, kept } = await governed.report(traced, { output, isError, durationMs: clock.now() - startedAt });
  if (delivery.action !== 'block' || delivery.decision === null) return { decided, isError, output: delivery.output, kept };
  return refused(decided, denialOf(permit.tool, permit.requestId, delivery.decision, permit.findings), span);
}

const called = (parts: RunParts, { tool, input }: Permit, span: Span): Promise<ToolResult> =>
  parts.workbench.call(tool, input, { signal: parts.signal, trace: span.headers() }).catch((error: unknown) => failed(parts, tool, error));

/**
 * Returns the result of a permitted call that was interrupted by the end of the run, or that failed because of a bug of
 * ours. The call was permitted, so its outcome is recorded too.
 */
function failed({ signal, log }: RunParts, tool: string, error: unknown): ToolResult {
  if (signal.aborted) return { output: 'The run ended before the tool answered.', isError: true };
  log.warn({ ...loggable(error), tool }, 'a tool call failed within the control plane');
  return { output: 'The tool could not be called.', isError: true };
}

function take({ conversation }: RunParts, { decided, isError, text, kept }: ToldAnswer): void {
  const { asked, call, verdict } = decided;
  const { decision, reason } = verdict.decision;
  conversation.say({ role: 'tool', callId: asked.callId, alias: asked.alias, output: text, isError });
  conversation.keep({ role: 'tool', callId: asked.callId, tool: call.tool, decision, reason, isError, output: kept });
}
