// The events of one run on their way to whoever asked for it, in their order. The run waits until the one before was taken, so that
// a slow reader holds it up and nothing piles up; who has gone holds up nobody. Where nothing happens for a while, that is said.
import type { RunEvent } from './events.ts';

/** Null: nothing happened for so long. */
export type ToldEvent = RunEvent | null;

export interface Told {
  /** Resolves when there is room for more. */
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Ends after `done` or `error`, and where whoever asked has gone. To be read once. */
  readonly events: AsyncGenerator<ToldEvent>;
}

interface Waiting {
  readonly event: RunEvent;
  readonly taken: () => void;
}

const standardQuietMs = 15_000;

/** `gone`: whoever asked has gone. */
export function createTold(gone: AbortSignal, quietMs = standardQuietMs): Told {
  const waiting: Waiting[] = [];
  let wake = (): void => {};
  const leave = (): void => {
    for (const { taken } of waiting.splice(0)) taken();
    wake();
  };
  gone.addEventListener('abort', leave, { once: true });

  /** False: nobody woke it for so long. */
  const wait = (): Promise<boolean> =>
    new Promise((done) => {
      const timer = setTimeout(() => done(false), quietMs);
      wake = () => {
        clearTimeout(timer);
        done(true);
      };
    });

  async function* events(): AsyncGenerator<ToldEvent> {
    try {
      while (!gone.aborted) {
        const [next] = waiting;
        if (next !== undefined) {
          yield next.event;
          // Whoever left meanwhile has taken all there were.
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
