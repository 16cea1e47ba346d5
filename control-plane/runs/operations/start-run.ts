// Starts a run of an agent, and returns its result or its events. A run can be refused: no input, no such agent, a
// model without a provider, a suspended agent, a daily cap that is used up, or too many runs. This happens before any
// money is spent or any event is sent.
import { AppError } from '@tollgate/proto/contract';
import { accepted } from '../../base/refusal.ts';
import { parseRunAsk } from '../rules/run-ask.ts';
import type { RunResult } from '../events.ts';
import type { RunWaits } from '../waiting.ts';
import type { Runner } from '../runner.ts';
import { createEventQueue, type QueuedEvent } from '../event-queue.ts';
import { effectOperation, type Operation } from '../../access/operation.ts';
import type { Seats } from '../../base/turns.ts';

export { stopReasons } from '../events.ts';

interface RunInput {
  readonly agentId: string;
  readonly body: unknown;
}

export type RunAnswer =
  /** `result` rejects with the reason of the failure. */
  | { readonly kind: 'result'; readonly id: string; readonly result: Promise<RunResult | RunWaits> }
  /** `ended` rejects with the reason of the failure, which the last event also contains. */
  | { readonly kind: 'stream'; readonly id: string; readonly events: AsyncIterable<QueuedEvent>; readonly ended: Promise<unknown> };

export type StartRun = Operation<RunInput, RunAnswer>;

interface Config {
  /**
   * How many runs of a workspace can be active at the same time in this process. Runs below other runs are not counted.
   */
  readonly atOnce: number;
  /** The places for runs, by workspace: `atOnce` each. They are shared with the runs that are resumed. */
  readonly seats: Seats<number>;
  readonly quietMs?: number;
}

/**
 * Creates the operation that starts a run. The operation resolves when the run has begun. When the caller disconnects,
 * the `signal` of the operation is aborted, and this cancels the run, unless it waits or has waited for a person.
 */
export function createStartRun(runner: Pick<Runner, 'start'>, { atOnce, seats, quietMs }: Config): StartRun {
  return effectOperation('run.start', async (_deps, actor, { agentId, body }, { signal = new AbortController().signal }) => {
    const asked = accepted(parseRunAsk(body));
    const leave = takeSeat(seats, actor.workspaceId, atOnce);
    const queue = asked.stream ? createEventQueue(signal, quietMs) : null;
    const emit = queue?.emit ?? (() => Promise.resolve());
    const started = await runner.start(actor, { agentId, ...asked }, { emit, signal, isStream: asked.stream }).catch((error: unknown) => {
      leave();
      throw error;
    });
    const finished = started.finished.finally(leave);
    // The promise is awaited later. Until then, this handler prevents that Node reports an unhandled rejection.
    finished.catch(() => undefined);
    if (queue === null) return { kind: 'result', id: started.id, result: finished };
    return { kind: 'stream', id: started.id, events: queue.events, ended: finished };
  });
}

function takeSeat(seats: Seats<number>, workspaceId: number, atOnce: number): () => void {
  const seat = seats.take(workspaceId);
  if ('leave' in seat) return seat.leave;
  throw new AppError({
    code: 'rate_limited',
    publicMessage: `at most ${atOnce} runs of a workspace can be active at once in one control plane; try again when one has ended`,
    retryAfterSeconds: 5,
  });
}
