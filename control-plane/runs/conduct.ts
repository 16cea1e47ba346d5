// Conducts one run from its beginning to its end. It can be a root run or a run below another run. This module enforces
// the time limit, emits the events and keeps the records. The run ends exactly once: with a result, or as failed.
import { setMaxListeners } from 'node:events';
import { centsFromMicrocents } from './rules/money.ts';
import type { RunHalt, RunProgress, RunRef } from './rules/run.ts';
import { loggable } from '../base/loggable.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { RunBeginning, RunNode } from './begin-run.ts';
import { createConversation } from './conversation.ts';
import type { RunEvent, RunResult, RunStopReason } from './events.ts';
import { runLoop } from './loop.ts';
import type { RunEnd, RunRecords } from './records.ts';
import type { RunParts } from './run-parts.ts';
import { RunStopped } from './stopped.ts';
import { systemPrompt } from './system-prompt.ts';
import { AppError, type ApprovalAsk } from '@tollgate/proto/contract';
import { ProviderFailed } from './model.ts';
import type { Clock } from '@tollgate/sidecar/engine';
import { awaitedOf, type ResumedRun, type RunWaits, type StoredRun, storedWriter } from './waiting.ts';

export interface ConductDeps extends Pick<RunParts, 'models' | 'rates' | 'money' | 'clock' | 'log' | 'tracing'> {
  readonly records: RunRecords;
  /** `halt` is called when the run must stop. Returns a function that ends the watching. */
  readonly watch: (run: RunRef, halt: (why: RunHalt) => void) => () => void;
}

export interface ConductedRun extends RunBeginning {
  readonly input: string;
  readonly context: Readonly<Record<string, string>>;
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Whether a client of this process reads the events. */
  readonly isRead: boolean;
}

/** A run that continues where it waited. `resumed` is null for a run that begins. */
interface ContinuedRun extends ConductedRun {
  readonly resumed: ResumedRun | null;
}

/**
 * Conducts a run whose beginning is already recorded, and records its end, or that it waits for a person. `resumed`: the
 * run continues where it waited. Rejects with `AppError`.
 */
export async function conduct(deps: ConductDeps, begun: ConductedRun, resumed: ResumedRun | null = null): Promise<RunResult | RunWaits> {
  const conducted = { ...begun, resumed };
  const { clock, watch, records } = deps;
  const { node, workbench } = conducted;
  const { run, governed, stop, agent, conversationId, sidecar } = node;
  const activeBefore = resumed?.stored.activeMs ?? 0;
  const startedAt = clock.now() - activeBefore;
  // Every call in progress adds a listener. Without a higher maximum, Node would print a warning.
  setMaxListeners(10_000, stop.signal);
  const conversation = createConversation(resumed?.stored.conversation ?? null);
  const timer = clock.after(Math.max(0, governed.caps.maxDurationMs - activeBefore), () => stop.abort(new RunStopped('max_duration')));
  timer.unref();
  const unwatch = watch(run, (why) => stop.abort(new RunStopped(why)));
  // A freeze of the workspace, a suspended agent or a revoked key stops the run immediately, without waiting for calls
  // in flight.
  const unfollow = sidecar.watch(() => {
    if (governed.halted() !== null) stop.abort(new RunStopped('cancelled'));
  });
  const waiting: { approvals: RunWaits['approvals'] } = { approvals: [] };
  const parts = partsOf(deps, conducted, { conversation, startedAt, waiting });
  let ended: RunOutcome;
  try {
    const outcome = await traced(parts, node, resumed);
    ended = outcome === 'waits' ? { waits: true } : { stopReason: outcome };
  } catch (error) {
    ended = { failure: failureOf(error) };
    if (ended.failure.code === 'internal') deps.log.warn({ ...loggable(error), run: run.id }, 'a run failed because of an internal error');
  } finally {
    await workbench
      .close()
      .catch((error: unknown) => deps.log.warn({ ...loggable(error), run: run.id }, 'the tools of a run could not be closed'));
  }
  if ('waits' in ended) {
    timer.cancel();
    unwatch();
    unfollow();
    return { id: run.id, status: 'waiting', conversationId, approvals: waiting.approvals };
  }
  const durationMs = Math.round(clock.now() - startedAt);
  const toolCalls = governed.toolCalls;
  const ending = records.end(run, endOf(ended, parts));
  // The caller may have stopped waiting by now. If the end of the run cannot be recorded,
  // `runs/operations/liveness/end-abandoned-runs.ts` soon marks the run as failed.
  ending.catch((error: unknown) => deps.log.warn({ ...loggable(error), run: run.id }, 'the end of a run could not be recorded'));
  const bill = await awaitEnd(ending, clock, stop.signal)
    .catch((error: unknown) => {
      throw 'failure' in ended ? ended.failure : error;
    })
    .finally(() => {
      timer.cancel();
      unwatch();
      unfollow();
    });
  if ('failure' in ended) throw ended.failure;
  if (bill === null) throw failureOf(new RunStopped('ended'));
  const { output, promptTokens, completionTokens } = conversation;
  return {
    id: run.id,
    status: 'completed',
    output,
    conversationId,
    usage: {
      promptTokens,
      completionTokens,
      toolCallCount: toolCalls,
      estimatedCostCents: centsFromMicrocents(bill.spent),
      model: agent.model,
      durationMs,
    },
    stopReason: ended.stopReason,
  };
}

interface Progressing {
  readonly conversation: RunParts['conversation'];
  /** A time of the clock: when the run would have started, if it had never waited. */
  readonly startedAt: number;
  /** The approvals that the run waits for. */
  readonly waiting: { approvals: RunWaits['approvals'] };
}

function partsOf(deps: ConductDeps, conducted: ContinuedRun, { conversation, startedAt, waiting }: Progressing): RunParts {
  const { models, rates, money, clock, log, tracing, records } = deps;
  const { node, workbench, emit, input, context, resumed, isRead } = conducted;
  const { run, governed, agent, stop } = node;
  const system = resumed?.stored.system ?? systemPrompt(agent.systemPrompt, context);
  if (resumed === null) {
    conversation.say({ role: 'user', text: input });
    conversation.keep({ role: 'user', text: governed.kept(input) });
  }
  const wait: RunParts['wait'] = async (round, asks) => {
    const { used, root } = governed;
    const stored: StoredRun = {
      ...round,
      ...root,
      used: { ...used, toolCalls: used.toolCalls - attemptsOf(asks) },
      system,
      agentId: agent.id,
      model: agent.model,
      activeMs: clock.now() - startedAt,
      conversation: conversation.save(),
    };
    const write = storedWriter(stored);
    const progress = progressOf({ governed, conversation });
    const outcome = await records.wait(run, { asks, write, isRead, progress, transcript: conversation.keptSoFar() });
    if (outcome.kind === 'waits') waiting.approvals = awaitedOf(round.calls, outcome.answers);
    return outcome;
  };
  return {
    models,
    rates,
    money,
    clock,
    log,
    tracing,
    trace: null,
    run,
    governed,
    workbench,
    conversation,
    model: agent.model,
    system,
    wait,
    markContinued: () => records.markContinued(run),
    emit: (event) => tell(event, emit, stop.signal),
    signal: stop.signal,
    note: () => deps.records.update(run, { ...progressOf({ governed, conversation }), transcript: conversation.keptSoFar() }),
  };
}

/**
 * How many of these questions are counted as attempts of the run now. A call of a run that has made its calls is not counted:
 * it may only meet an earlier approval.
 */
const attemptsOf = (asks: readonly Pick<ApprovalAsk, 'mayCreate'>[]): number => asks.filter(({ mayCreate }) => mayCreate).length;

/** Emits an event. A slow reader delays the run only until the run ends. */
async function tell(event: RunEvent, emit: ConductedRun['emit'], signal: AbortSignal): Promise<void> {
  try {
    await untilAborted(emit(event), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function traced(parts: RunParts, { agent, conversationId }: RunNode, resumed: ResumedRun | null): Promise<RunStopReason | 'waits'> {
  const attributes = {
    'gen_ai.agent.id': agent.id,
    'gen_ai.agent.name': agent.name,
    'gen_ai.conversation.id': conversationId,
    'gen_ai.request.model': agent.model,
  };
  return parts.tracing.span('invoke_agent', agent.name, attributes, async (span) => {
    const stopReason = await runLoop({ ...parts, trace: span.trace }, resumed);
    span.set({ 'tollgate.stop_reason': stopReason });
    return stopReason;
  });
}

// Builds the end of a run for the records and for the caller.

type RunOutcome = RunEnding | { readonly waits: true };
type RunEnding = { readonly stopReason: RunStopReason } | { readonly failure: AppError };

const progressOf = ({ governed, conversation }: Pick<RunParts, 'governed' | 'conversation'>): RunProgress => ({
  rounds: governed.rounds,
  toolCalls: governed.toolCalls,
  promptTokens: conversation.promptTokens,
  completionTokens: conversation.completionTokens,
});

function endOf(ended: RunEnding, { conversation, governed }: RunParts): RunEnd {
  const failed = 'failure' in ended;
  const { unfinished } = conversation;
  if (unfinished !== '') conversation.keep({ role: 'assistant', text: governed.kept(unfinished), toolCalls: [] });
  return {
    status: failed ? 'failed' : ended.stopReason === 'cancelled' ? 'cancelled' : 'completed',
    stopReason: failed ? null : ended.stopReason,
    output: governed.kept(conversation.output),
    error: failed ? ended.failure.publicMessage : null,
    ...progressOf({ governed, conversation }),
    transcript: conversation.kept,
  };
}

function failureOf(error: unknown): AppError {
  if (error instanceof ProviderFailed)
    return new AppError({ code: 'upstream_failed', publicMessage: `the model provider failed: ${error.message}`, cause: error });
  if (error instanceof RunStopped)
    return new AppError({
      code: 'unavailable',
      publicMessage: 'the run was ended: its control plane sent no heartbeat for a while',
    });
  return AppError.from(error);
}

// Waits until the end of a run is recorded. After the run's deadline or a cancel, the wait is short, because a caller
// waits for the result.

/**
 * How long to wait for the record after the run's deadline or a cancel, in ms. Recording continues after that, but the
 * caller no longer waits for it.
 */
const recordMs = 1_500;

/**
 * Returns the result of `ending`. Rejects when `ending` takes longer than `recordMs` after the run reached its deadline
 * or was cancelled.
 */
async function awaitEnd<T>(ending: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const late = new AbortController();
  const count = (): void => clock.after(recordMs, () => late.abort(unrecorded())).unref();
  if (signal.aborted) count();
  else signal.addEventListener('abort', count, { once: true });
  try {
    return await untilAborted(ending, late.signal);
  } finally {
    signal.removeEventListener('abort', count);
  }
}

const unrecorded = (): AppError =>
  new AppError({
    code: 'unavailable',
    publicMessage: 'the run has ended, but its end could not be recorded yet; read the run later to see its result',
    retryAfterSeconds: 5,
  });
