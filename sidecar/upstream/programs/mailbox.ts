// Implements a queue of a program's messages to one reader. A slow reader makes the writer wait. A writer with many
// readers does not wait. Instead, it drops a reader that has too many unread messages, together with these messages. A
// message counts as held until the reader asks for the next one. So a message that is still being written to a client
// is counted too.
import type { SseEvent } from '../wire/sse.ts';
import { UpstreamDown } from '../upstream.ts';

export interface Mailbox {
  /** Adds a message. Resolves when there is capacity for more. */
  put(text: string): Promise<void>;
  /**
   * Ends the queue after the messages that are already in it. If `problem` is given, the reader then gets it as an
   * error.
   */
  end(problem?: string): void;
  /** Ends the queue with a problem immediately. Unread messages are dropped. */
  drop(problem: string): void;
  readonly isFull: boolean;
  /** Characters of unread messages. */
  readonly unread: number;
  /** Yields the messages. May be called only once. `left` is called when the reader stops. */
  events(signal: AbortSignal | null, left: () => void): AsyncGenerator<SseEvent>;
}

/** The size of the messages in all mailboxes that share this object. */
export interface Load {
  readonly max: number;
  held: number;
  /**
   * Waiting writers. Each function lets its writer continue if there is capacity, and returns whether the writer
   * continues.
   */
  waiting: (() => boolean)[];
}

const countMax = 256;

/**
 * `max` is in characters. While less than `max` is held, the next message is accepted as a whole, even if it exceeds
 * `max`.
 */
export const createLoad = (max: number): Load => ({ max, held: 0, waiting: [] });

export function createMailbox(load: Load): Mailbox {
  return new MessageQueue(load);
}

class MessageQueue implements Mailbox {
  readonly #texts: string[] = [];
  #unread = 0;
  #ended: { readonly problem: string | null } | null = null;
  #wake: (() => void) | null = null;
  readonly #load: Load;

  constructor(load: Load) {
    this.#load = load;
  }

  put(text: string): Promise<void> {
    if (this.#ended !== null) return Promise.resolve();
    this.#texts.push(text);
    this.#unread += text.length;
    this.#load.held += text.length;
    this.#wake?.();
    return this.#isFull() ? this.#space() : Promise.resolve();
  }

  end(problem?: string): void {
    this.#ended ??= { problem: problem ?? null };
    this.#wake?.();
    this.#freePlaces();
  }

  drop(problem: string): void {
    this.#ended = { problem };
    this.#dropUnread();
    this.#wake?.();
  }

  get isFull(): boolean {
    return this.#isFull();
  }

  get unread(): number {
    return this.#unread;
  }

  async *events(signal: AbortSignal | null, left: () => void): AsyncGenerator<SseEvent> {
    try {
      for (;;) {
        const text = this.#texts.shift();
        if (text !== undefined) {
          this.#unread -= text.length;
          try {
            yield { id: null, event: 'message', data: text, retry: null };
          } finally {
            this.#release(text.length);
          }
        } else if (signal?.aborted === true) return;
        else if (this.#ended === null) await this.#next(signal);
        else if (this.#ended.problem === null) return;
        else throw new UpstreamDown(`the tool server ${this.#ended.problem}`);
      }
    } finally {
      this.#ended ??= { problem: null };
      this.#dropUnread();
      left();
    }
  }

  #isFull(): boolean {
    return this.#texts.length >= countMax || this.#load.held >= this.#load.max;
  }

  #freePlaces(): void {
    this.#load.waiting = this.#load.waiting.filter((proceed) => !proceed());
  }

  #release(length: number): void {
    this.#load.held -= length;
    this.#freePlaces();
  }

  #dropUnread(): void {
    const length = this.#unread;
    this.#texts.length = 0;
    this.#unread = 0;
    this.#release(length);
  }

  #space(): Promise<void> {
    return new Promise((resolve) =>
      this.#load.waiting.push(() => {
        if (this.#ended === null && this.#isFull()) return false;
        resolve();
        return true;
      }),
    );
  }

  #next(signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}
