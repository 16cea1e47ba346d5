// Starts runs and tracks the active runs of this process. A run that has begun always gets an end in the records.
//
// States: open, then draining (no new runs; active runs may finish), then closed (the remaining runs are cancelled).
import { AppError } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { untilAborted } from '../base/until-aborted.ts';
import { type AgentAsk, type BeginDeps, createBeginRun, type RunBeginning, type RunNode } from './begin-run.ts';
import { type ConductDeps, type ConductedRun, conduct } from './conduct.ts';
import type { Task } from './delegation.ts';
import type { RunEvent, RunResult } from './events.ts';
import type { Governor } from './governance/governor.ts';
import type { Models } from './model.ts';
import { type RunRef, runKey } from './rules/run.ts';
import { RunStopped } from './stopped.ts';
import type { ToolResult } from './tools/tool.ts';
import type { ResumedRun, RunWaits } from './waiting.ts';

/**
 * `each`: how many runs may be active below one root run. `all`: how many runs may be active below all root runs of
 * this process. The root runs themselves are limited where they are started.
 */
export const belowBounds = { each: 64, all: 1_000 } as const;

export interface RunnerDeps extends Omit<ConductDeps, 'models'>, Omit<BeginDeps, 'models' | 'records'> {
  readonly governor: Pick<Governor, 'open'>;
  readonly models: Models;
  /** Called with each run that continues in this process. */
  readonly resumed?: (taken: Pick<TakenRun, 'run' | 'stored'>) => void;
  /** The places for runs below other runs. `take` reserves one for a conversation. `belowBounds` gives their number. */
  readonly seatsBelow: {
    take(conversationId: string): { readonly leave: () => void } | { readonly taken: 'by the key' | 'by all' };
  };
}

interface EventSink {
  /** Receives each event in order; the last one is `done` or `error`. Resolves when the next event can be emitted. */
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Aborted when the client has disconnected: the run is cancelled, unless it has waited for a person. */
  readonly signal: AbortSignal;
  /** Whether the client reads the events, also while the run waits. */
  readonly isStream: boolean;
}

interface StartedRun {
  readonly id: string;
  /** The result of the run, or that it waits for a person. Rejects with `AppError`, after the `error` event was emitted. */
  readonly finished: Promise<RunResult | RunWaits>;
}

export interface Runner {
  /** Resolves when the run has begun. Rejects with `AppError` when the run is refused. */
  start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun>;
  /**
   * Continues a run that has waited. Resolves when the run has ended or waits again. Rejects with `AppError`: of the run, or
   * because it could not continue. In the second case, `notResumed` is called with the reason. It says whether the run has
   * ended or waits again.
   */
  resume(taken: TakenRun, notResumed: (error: unknown) => Promise<'ended' | 'waits'>): Promise<RunResult | RunWaits>;
  /** The runs that wait and whose events a client of this process reads. */
  followed(): readonly RunRef[];
  /** Ends the stream of a client whose run waits: it must read the run instead. `why`: in words. */
  unfollow(run: RunRef, why: string): void;
  /** Whether this process is stopping. It must then resume no run. */
  readonly isDraining: boolean;
  /** Whether this process executes the run now. */
  isActive(run: RunRef): boolean;
  /** How many runs are active, including runs below other runs. */
  readonly running: number;
  /** Lets runs finish until the deadline, then cancels them. */
  close(deadlineMs: number): Promise<void>;
}

export interface TakenRun extends ResumedRun {
  readonly run: RunRef;
  /** Of the workspace. */
  readonly slug: string;
  /** The revision of the workspace when the run was taken. */
  readonly revision: number;
}

/** When this process stops, the remaining runs are cancelled. This is how long, in ms, they may take to end. */
const cancelledMs = 600;

/** The last event of a client whose run waits and continues without it. */
export const waitsElsewhere = 'the run waits for a person and continues without this connection; read it at /api/v1/runs/';

const fullBelow = `The task was not started: ${belowBounds.each} agents already work for this run. Delegate it again when one of them has answered.`;
const fullInAll = 'The task was not started: too many agents work in this control plane. Delegate it again later.';

export const createRunner = (deps: RunnerDeps): Runner => new ProcessRunner(deps);

class ProcessRunner implements Runner {
  readonly #deps: RunnerDeps;
  readonly #going = new Map<AbortController, Promise<unknown>>();
  readonly #beginRun: ReturnType<typeof createBeginRun>;
  readonly #active = new Set<string>();
  /** The clients that read the events of runs that wait. */
  readonly #followers = new Map<string, { readonly run: RunRef; readonly emit: EventSink['emit'] }>();
  #draining = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#beginRun = createBeginRun(deps, (above, task, signal) => this.#runTask(above, task, signal));
  }

  get running(): number {
    return this.#going.size;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  isActive(run: RunRef): boolean {
    return this.#active.has(runKey(run));
  }

  async start(actor: Actor, ask: AgentAsk, sink: EventSink): Promise<StartedRun> {
    if (this.#draining) throw stopping();
    const opened = await this.#deps.governor.open(actor);
    try {
      const begun = await this.#beginRun.root(actor, ask, opened.sidecar);
      const finished = this.#track(
        begun.node,
        this.#playRoot(begun, ask, sink).finally(() => opened.release()),
      );
      // The caller may handle a rejection later. Until then, this handler prevents that Node reports an unhandled
      // rejection.
      finished.catch(() => undefined);
      return { id: begun.node.run.id, finished };
    } catch (error) {
      opened.release();
      throw error;
    }
  }

  async resume(taken: TakenRun, notResumed: (error: unknown) => Promise<'ended' | 'waits'>): Promise<RunResult | RunWaits> {
    const { run, slug, revision, ...resumed } = taken;
    const key = runKey(run);
    const follower = this.#followers.get(key);
    const emit = follower?.emit ?? (() => Promise.resolve());
    this.#active.add(key);
    let begun: RunBeginning;
    let opened: Awaited<ReturnType<RunnerDeps['governor']['open']>> | null = null;
    try {
      if (this.#draining) throw stopping();
      opened = await this.#deps.governor.open({ workspaceId: run.workspaceId, slug, revision });
      begun = await this.#beginRun.resumed(run, resumed.stored, opened.sidecar);
      // From the next step on, `close` waits for the run. Before, it does not.
      if (this.#draining) {
        await begun.workbench.close();
        throw stopping();
      }
    } catch (error) {
      opened?.release();
      const failure = AppError.from(error);
      const outcome = await notResumed(error).finally(() => this.#active.delete(key));
      if (outcome === 'ended') this.unfollow(run, failure.publicMessage);
      throw failure;
    }
    this.#deps.resumed?.(taken);
    const used = opened;
    const said = { input: '', context: {}, emit, isRead: follower !== undefined };
    const playing = this.#track(begun.node, conduct(this.#deps, { ...begun, ...said }, resumed)).finally(() => used.release());
    await this.#tellLast(playing, emit, (last) => {
      if (last) this.#followers.delete(key);
    });
    return playing;
  }

  followed(): readonly RunRef[] {
    return [...this.#followers.values()].map(({ run }) => run);
  }

  unfollow(run: RunRef, why: string): void {
    const follower = this.#followers.get(runKey(run));
    this.#followers.delete(runKey(run));
    follower?.emit({ kind: 'error', data: { error: why } }).catch(() => undefined);
  }

  async close(deadlineMs: number): Promise<void> {
    this.#draining = true;
    for (const run of this.followed()) this.unfollow(run, `${waitsElsewhere}${run.id}`);
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

  async #playRoot(begun: RunBeginning, { input, context }: AgentAsk, sink: EventSink): Promise<RunResult | RunWaits> {
    const { emit, signal, isStream } = sink;
    const { run } = begun.node;
    const playing = this.#play(begun, { input, context, emit, signal, isRead: isStream });
    const toClient = (event: RunEvent): Promise<void> => untilAborted(emit(event), signal).catch(() => undefined);
    await this.#tellLast(playing, toClient, (isLast) => {
      if (isLast || !isStream || signal.aborted) return;
      const key = runKey(run);
      this.#followers.set(key, { run, emit: toClient });
      signal.addEventListener('abort', () => this.#followers.delete(key), { once: true });
      if (this.#draining) this.unfollow(run, `${waitsElsewhere}${run.id}`);
    });
    return playing;
  }

  /** Emits the last event of a run. A run that waits has no last event yet. */
  async #tellLast(playing: Promise<RunResult | RunWaits>, emit: EventSink['emit'], ended: (isLast: boolean) => void): Promise<void> {
    const last = await playing.then(
      (data): RunEvent | null => (data.status === 'waiting' ? null : { kind: 'done', data }),
      (error: unknown): RunEvent => ({ kind: 'error', data: { error: AppError.from(error).publicMessage } }),
    );
    ended(last !== null);
    // If the client does not receive the event, this is ignored, because the run has ended anyway.
    if (last !== null) await emit(last).catch(() => undefined);
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
    const playing = this.#play(begun, { input: task, context: {}, emit: () => Promise.resolve(), signal, isRead: false });
    return this.#track(node, playing).then(
      (result) => {
        // Only a root run waits.
        if (result.status === 'waiting') return failed('The agent waits for a person.');
        const { output, stopReason } = result;
        return { output: { output, stopReason, runId: node.run.id }, isError: false };
      },
      (error: unknown) => failed(`The agent failed: ${AppError.from(error).publicMessage}`),
    );
  }

  /** Conducts the run. `signal` cancels it. */
  async #play(
    begun: RunBeginning,
    { signal, ...said }: Pick<EventSink, 'emit' | 'signal'> & Pick<ConductedRun, 'input' | 'context' | 'isRead'>,
  ): Promise<RunResult | RunWaits> {
    const cancel = (): void => begun.node.stop.abort(new RunStopped('cancelled'));
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await conduct(this.#deps, { ...begun, ...said });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #track<T>({ stop, run }: RunNode, playing: Promise<T>): Promise<T> {
    const key = runKey(run);
    const tracked = playing.finally(() => {
      this.#going.delete(stop);
      this.#active.delete(key);
    });
    this.#going.set(stop, tracked);
    this.#active.add(key);
    return tracked;
  }
}

const stopping = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'this control plane is stopping', retryAfterSeconds: 5 });

const failed = (words: string): ToolResult => ({ output: words, isError: true });
