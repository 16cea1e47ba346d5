// A queue of a program's messages to one reader. A slow reader makes the writer wait. A writer with many readers does
// not wait: a reader with too many unread messages is dropped with its messages. A message counts as held until the
// reader asks for the next one, so a message that is still being written to a client is counted too.
import type { SseEvent } from '../wire/sse.ts';
import { UpstreamDown } from '../upstream.ts';

export interface Mailbox {
  /** Resolves when there is capacity for more. */
  put(text: string): Promise<void>;
  /** Ends the queue after the messages in it. A problem is thrown to the reader. */
  end(problem?: string): void;
  /** Ends the queue with a problem immediately. Unread messages are dropped. */
  drop(problem: string): void;
  readonly isFull: boolean;
  /** Characters of unread messages. */
  readonly unread: number;
  /** May be read once. `left` is called when the reader stops. */
  events(signal: AbortSignal | null, left: () => void): AsyncGenerator<SseEvent>;
}

/** The load of all mailboxes that share it. */
export interface Load {
  readonly max: number;
  held: number;
  /** Waiting writers. Each returns whether it continued. */
  waiting: (() => boolean)[];
}

const countMax = 256;

/** `max` is in characters. A message is accepted whole while less than `max` is held. */
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
