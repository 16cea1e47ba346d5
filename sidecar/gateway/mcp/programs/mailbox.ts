// Messages of a program on their way to one reader. A reader that is slow makes the writer wait; where one writer has many
// readers it does not wait, and a reader that has let too much pile up loses its place and what it has not read. What a reader has
// in hand counts until it comes for the next, so that what is still being written to a client is not forgotten.
import type { SseEvent } from '../wire/sse.ts';
import { UpstreamDown } from '../upstream.ts';

export interface Mailbox {
  /** Resolves once there is room for more. */
  put(text: string): Promise<void>;
  /** After what was put, nothing comes; with a problem, that is thrown. */
  end(problem?: string): void;
  /** Ends it with a problem at once: what was put and not read is dropped. */
  drop(problem: string): void;
  readonly isFull: boolean;
  /** Characters that were put and not read. */
  readonly unread: number;
  /** Read once. `left`: whoever read goes. */
  events(signal: AbortSignal | null, left: () => void): AsyncGenerator<SseEvent>;
}

/** How much is on its way through all the mailboxes that share it. */
export interface Load {
  readonly max: number;
  held: number;
  /** Writers; each tells whether it went on. */
  waiting: (() => boolean)[];
}

const countMax = 256;

/** `max`: characters; what is put while less is held goes in whole. */
export const createLoad = (max: number): Load => ({ max, held: 0, waiting: [] });

export function createMailbox(load: Load): Mailbox {
  const texts: string[] = [];
  let unread = 0;
  let ended: { readonly problem: string | null } | null = null;
  let wake: (() => void) | null = null;
  const isFull = (): boolean => texts.length >= countMax || load.held >= load.max;
  const makeRoom = (): void => {
    load.waiting = load.waiting.filter((goOn) => !goOn());
  };
  const release = (length: number): void => {
    load.held -= length;
    makeRoom();
  };
  const dropUnread = (): void => {
    const length = unread;
    texts.length = 0;
    unread = 0;
    release(length);
  };
  const room = (): Promise<void> =>
    new Promise((resolve) =>
      load.waiting.push(() => {
        if (ended === null && isFull()) return false;
        resolve();
        return true;
      }),
    );
  const next = (signal: AbortSignal | null): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done);
        resolve();
      };
      wake = done;
      signal?.addEventListener('abort', done, { once: true });
    });
  return {
    put: (text) => {
      if (ended !== null) return Promise.resolve();
      texts.push(text);
      unread += text.length;
      load.held += text.length;
      wake?.();
      return isFull() ? room() : Promise.resolve();
    },
    end: (problem) => {
      ended ??= { problem: problem ?? null };
      wake?.();
      makeRoom();
    },
    drop: (problem) => {
      ended = { problem };
      dropUnread();
      wake?.();
    },
    get isFull() {
      return isFull();
    },
    get unread() {
      return unread;
    },
    events: async function* (signal, left) {
      try {
        for (;;) {
          const text = texts.shift();
          if (text !== undefined) {
            unread -= text.length;
            try {
              yield { id: null, event: 'message', data: text, retry: null };
            } finally {
              release(text.length);
            }
          } else if (signal?.aborted === true) return;
          else if (ended === null) await next(signal);
          else if (ended.problem === null) return;
          else throw new UpstreamDown(`the tool server ${ended.problem}`);
        }
      } finally {
        ended ??= { problem: null };
        dropUnread();
        left();
      }
    },
  };
}
