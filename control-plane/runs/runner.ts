// Starts runs and tracks the active runs of this process. A run that has begun always gets an end in the records.
//
// States: open, then draining (no new runs; active runs may finish), then closed (the remaining runs are cancelled).
import { AppError } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { untilAborted } from '../base/until-aborted.ts';
import { type AgentAsk, type BeginDeps, type Begun, createBeginRun, type RunNode } from './begin-run.ts';
import { type ConductDeps, conduct } from './conduct.ts';
import type { Task } from './delegation.ts';
import type { RunEvent, RunResult } from './events.ts';
import type { Governor } from './governance/governor.ts';
import type { Models } from './model.ts';
import { RunStopped } from './stopped.ts';
import type { ToolResult } from './tools/tool.ts';

/**
 * How many runs may be active below one root, and below all roots of this process. Roots are counted where they are
 * started.
 */
export const belowBounds = { each: 64, all: 1_000 } as const;

export interface RunnerDeps extends Omit<ConductDeps, 'models'>, Omit<BeginDeps, 'models' | 'records'> {
  readonly governor: Pick<Governor, 'lease'>;
  readonly models: Models;
  /** Places for runs below others, by conversation. `belowBounds` gives their number. */
  readonly seatsBelow: {
    take(conversationId: string): { readonly leave: () => void } | { readonly taken: 'by the key' | 'by all' };
  };
}

interface EventSink {
  /** Receives each event in order; the last one is `done` or `error`. Resolves when the next event can be emitted. */
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Aborted when the client has disconnected: the run is cancelled. */
  readonly signal: AbortSignal;
}

interface StartedRun {
  readonly id: string;
  /** Rejects with `AppError`, after the `error` event was emitted. */
  readonly finished: Promise<RunResult>;
}

export interface Runner {
  /** Resolves when the run has begun. Rejects with `AppError` when the run is refused. */
  start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun>;
  /** How many runs are active, including those below others. */
  readonly running: number;
  /** Lets runs finish until the deadline, then cancels them. */
  close(deadlineMs: number): Promise<void>;
}

/** How long, in ms, runs that were cancelled at a stop may take to end. */
const cancelledMs = 600;

export function createRunner(deps: RunnerDeps): Runner {
  const going = new Map<AbortController, Promise<unknown>>();
  const beginRun = createBeginRun(deps, runTask);
  let draining = false;

  async function start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun> {
    if (draining) throw new AppError({ code: 'unavailable', publicMessage: 'this control plane is stopping', retryAfterSeconds: 5 });
    const lease = await deps.governor.lease(actor);
    try {
      const begun = await beginRun.root(actor, ask, lease.sidecar);
      const finished = track(
        begun.node,
        playRoot(begun, ask, sink).finally(() => lease.release()),
      );
      // The caller may handle a rejection later.
      finished.catch(() => undefined);
      return { id: begun.node.run.id, finished };
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  async function playRoot(begun: Begun, { input, context }: AgentAsk, { emit, signal }: EventSink): Promise<RunResult> {
    const playing = play(begun, { input, context, emit, signal });
    const last = await playing.then(
      (data): RunEvent => ({ kind: 'done', data }),
      (error: unknown): RunEvent => ({ kind: 'error', data: { error: AppError.from(error).publicMessage } }),
    );
    // The run has ended, whether or not a client receives the event.
    await untilAborted(emit(last), signal).catch(() => undefined);
    return playing;
  }

  async function play(begun: Begun, { signal, ...said }: EventSink & Pick<AgentAsk, 'input' | 'context'>): Promise<RunResult> {
    const cancel = (): void => begun.node.stop.abort(new RunStopped('cancelled'));
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await conduct(deps, { ...begun, ...said });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Returns the outcome of another agent below `above`, as the result of a tool. */
  async function runTask(above: RunNode, task: Task, signal: AbortSignal): Promise<ToolResult> {
    const seat = deps.seatsBelow.take(above.conversationId);
    if ('taken' in seat) return failed(seat.taken === 'by the key' ? fullBelow : fullInAll);
    try {
      const begun = await beginRun.below(above, task);
      return typeof begun === 'string' ? failed(begun) : await playTask(begun, task, signal);
    } finally {
      seat.leave();
    }
  }

  function playTask(begun: Begun, { task }: Task, signal: AbortSignal): Promise<ToolResult> {
    const { node } = begun;
    const playing = play(begun, { input: task, context: {}, emit: () => Promise.resolve(), signal });
    return track(node, playing).then(
      ({ output, stopReason }) => ({ output: { output, stopReason, runId: node.run.id }, isError: false }),
      (error: unknown) => failed(`The agent failed: ${AppError.from(error).publicMessage}`),
    );
  }

  function track<T>({ stop }: RunNode, playing: Promise<T>): Promise<T> {
    const tracked = playing.finally(() => going.delete(stop));
    going.set(stop, tracked);
    return tracked;
  }

  async function close(deadlineMs: number): Promise<void> {
    draining = true;
    const expired = new AbortController();
    const timer = deps.clock.after(deadlineMs, () => expired.abort());
    await untilAborted(Promise.allSettled(going.values()), expired.signal).catch(() => undefined);
    timer.cancel();
    for (const stop of going.keys()) stop.abort(new RunStopped('cancelled'));
    // A tool server or a database that does not respond must not delay the stop.
    const cut = new AbortController();
    const last = deps.clock.after(cancelledMs, () => cut.abort());
    await untilAborted(Promise.allSettled(going.values()), cut.signal).catch(() => undefined);
    last.cancel();
  }

  return {
    start,
    get running() {
      return going.size;
    },
    close,
  };
}

const fullBelow = `The task was not started: ${belowBounds.each} agents already work for this run. Delegate it again when one of them has answered.`;
const fullInAll = 'The task was not started: too many agents work in this control plane. Delegate it again later.';

const failed = (words: string): ToolResult => ({ output: words, isError: true });
