// Delivers the events of one run to its client, in order. The run waits until the client has taken the previous event.
// Therefore a slow reader delays the run, and events do not accumulate. A client that has disconnected delays nothing.
// If there is no event for a while, the client gets a null event.
import type { RunEvent } from './events.ts';

/** Null: there was no event for `quietMs`. */
export type QueuedEvent = RunEvent | null;

export interface EventQueue {
  /** Resolves when the next event can be emitted. */
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Ends after `done` or `error`, and when the client has disconnected. It can be read only once. */
  readonly events: AsyncGenerator<QueuedEvent>;
}

interface WaitingEvent {
  readonly event: RunEvent;
  readonly taken: () => void;
}

const standardQuietMs = 15_000;

/**
 * `gone`: aborted when the client has disconnected. `quietMs`: the time without events after which a null event is
 * sent.
 */
export function createEventQueue(gone: AbortSignal, quietMs = standardQuietMs): EventQueue {
  const waiting: WaitingEvent[] = [];
  let wake = (): void => {};
  const leave = (): void => {
    for (const { taken } of waiting.splice(0)) taken();
    wake();
  };
  gone.addEventListener('abort', leave, { once: true });

  /** Waits for a change. Resolves with false when nothing has changed for `quietMs`. */
  const wait = (): Promise<boolean> =>
    new Promise((done) => {
      const timer = setTimeout(() => done(false), quietMs);
      wake = () => {
        clearTimeout(timer);
        done(true);
      };
    });

  async function* events(): AsyncGenerator<QueuedEvent> {
    try {
      while (!gone.aborted) {
        const [next] = waiting;
        if (next !== undefined) {
          yield next.event;
          // If the client disconnected meanwhile, `leave` has already emptied the list.
          if (waiting[0] === next) waiting.shift();
          next.taken();
          if (isLast(next.event)) return;
        } else if (!(await wait())) {
          yield null;
        }
      }
    } finally {
      leave();
    }
  }

  return {
    emit: (event) =>
      new Promise((taken) => {
        if (gone.aborted) return taken();
        waiting.push({ event, taken });
        wake();
      }),
    events: events(),
  };
}

const isLast = ({ kind }: RunEvent): boolean => kind === 'done' || kind === 'error';
