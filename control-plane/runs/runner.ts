// Starts runs and tracks the active runs of this process. A run that has begun always gets an end in the records.
//
// States: open, then draining (no new runs; active runs may finish), then closed (the remaining runs are cancelled).
import { AppError } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { untilAborted } from '../base/until-aborted.ts';
import { type AgentAsk, type BeginDeps, createBeginRun, type RunBeginning, type RunNode } from './begin-run.ts';
import { type ConductDeps, conduct } from './conduct.ts';
import type { Task } from './delegation.ts';
import type { RunEvent, RunResult } from './events.ts';
import type { Governor } from './governance/governor.ts';
import type { Models } from './model.ts';
import { RunStopped } from './stopped.ts';
import type { ToolResult } from './tools/tool.ts';

/**
 * `each`: how many runs may be active below one root run. `all`: how many runs may be active below all root runs of
 * this process. The root runs themselves are limited where they are started.
 */
export const belowBounds = { each: 64, all: 1_000 } as const;

export interface RunnerDeps extends Omit<ConductDeps, 'models'>, Omit<BeginDeps, 'models' | 'records'> {
  readonly governor: Pick<Governor, 'lease'>;
  readonly models: Models;
  /** The places for runs below other runs. `take` reserves one for a conversation. `belowBounds` gives their number. */
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
  /** The result of the run. Rejects with `AppError`, after the `error` event was emitted. */
  readonly finished: Promise<RunResult>;
}

export interface Runner {
  /** Resolves when the run has begun. Rejects with `AppError` when the run is refused. */
  start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun>;
  /** How many runs are active, including runs below other runs. */
  readonly running: number;
  /** Lets runs finish until the deadline, then cancels them. */
  close(deadlineMs: number): Promise<void>;
}

/** When this process stops, the remaining runs are cancelled. This is how long, in ms, they may take to end. */
const cancelledMs = 600;

const fullBelow = `The task was not started: ${belowBounds.each} agents already work for this run. Delegate it again when one of them has answered.`;
const fullInAll = 'The task was not started: too many agents work in this control plane. Delegate it again later.';

export const createRunner = (deps: RunnerDeps): Runner => new ProcessRunner(deps);

class ProcessRunner implements Runner {
  readonly #deps: RunnerDeps;
  readonly #going = new Map<AbortController, Promise<unknown>>();
  readonly #beginRun: ReturnType<typeof createBeginRun>;
  #draining = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#beginRun = createBeginRun(deps, (above, task, signal) => this.#runTask(above, task, signal));
  }

  get running(): number {
    return this.#going.size;
  }

  async start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun> {
    if (this.#draining) throw new AppError({ code: 'unavailable', publicMessage: 'this control plane is stopping', retryAfterSeconds: 5 });
    const lease = await this.#deps.governor.lease(actor);
    try {
      const begun = await this.#beginRun.root(actor, ask, lease.sidecar);
      const finished = this.#track(
        begun.node,
        this.#playRoot(begun, ask, sink).finally(() => lease.release()),
      );
      // The caller may handle a rejection later. Until then, this handler prevents that Node reports an unhandled
      // rejection.
      finished.catch(() => undefined);
      return { id: begun.node.run.id, finished };
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  async close(deadlineMs: number): Promise<void> {
    this.#draining = true;
    await this.#waitForRuns(deadlineMs);
    for (const stop of this.#going.keys()) stop.abort(new RunStopped('cancelled'));
    // This wait is limited, because a tool server or a database that does not respond must not delay the stop of this
    // process.
    await this.#waitForRuns(cancelledMs);
  }

  async #waitForRuns(ms: number): Promise<void> {
    const expired = new AbortController();
    const timer = this.#deps.clock.after(ms, () => expired.abort());
    await untilAborted(Promise.allSettled(this.#going.values()), expired.signal).catch(() => undefined);
    timer.cancel();
  }

  async #playRoot(begun: RunBeginning, { input, context }: AgentAsk, { emit, signal }: EventSink): Promise<RunResult> {
    const playing = this.#play(begun, { input, context, emit, signal });
    const last = await playing.then(
      (data): RunEvent => ({ kind: 'done', data }),
      (error: unknown): RunEvent => ({ kind: 'error', data: { error: AppError.from(error).publicMessage } }),
    );
    // If the client does not receive the event, this is ignored, because the run has ended anyway.
    await untilAborted(emit(last), signal).catch(() => undefined);
    return playing;
  }

  /** Runs the task with another agent below `above`. Returns the outcome as the result of a tool. */
  async #runTask(above: RunNode, task: Task, signal: AbortSignal): Promise<ToolResult> {
    const seat = this.#deps.seatsBelow.take(above.conversationId);
    if ('taken' in seat) return failed(seat.taken === 'by the key' ? fullBelow : fullInAll);
    try {
      const begun = await this.#beginRun.below(above, task);
      return typeof begun === 'string' ? failed(begun) : await this.#playTask(begun, task, signal);
    } finally {
      seat.leave();
    }
  }

  #playTask(begun: RunBeginning, { task }: Task, signal: AbortSignal): Promise<ToolResult> {
    const { node } = begun;
    const playing = this.#play(begun, { input: task, context: {}, emit: () => Promise.resolve(), signal });
    return this.#track(node, playing).then(
      ({ output, stopReason }) => ({ output: { output, stopReason, runId: node.run.id }, isError: false }),
      (error: unknown) => failed(`The agent failed: ${AppError.from(error).publicMessage}`),
    );
  }

  /** Conducts the run. `signal` cancels it. */
  async #play(begun: RunBeginning, { signal, ...said }: EventSink & Pick<AgentAsk, 'input' | 'context'>): Promise<RunResult> {
    const cancel = (): void => begun.node.stop.abort(new RunStopped('cancelled'));
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await conduct(this.#deps, { ...begun, ...said });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #track<T>({ stop }: RunNode, playing: Promise<T>): Promise<T> {
    const tracked = playing.finally(() => this.#going.delete(stop));
    this.#going.set(stop, tracked);
    return tracked;
  }
}

const failed = (words: string): ToolResult => ({ output: words, isError: true });
