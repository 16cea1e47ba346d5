// Limits the memory, in bytes, for request bodies and tool-server messages that are being read and processed. All
// callers share one budget. Normally, when a caller takes memory, the free part of the budget must afterwards be at
// least as large as everything that this caller holds. A parsed text can need thirty times its size on the wire.
// Therefore a text counts as the larger of two sizes: its bytes, or `valueBytes` for each value in it. Values are
// counted before parsing.
//
// A text that is larger than a caller's part, or than the whole budget, is admitted while the budget is almost empty.
// So every text within the size limits can be read at some time. A caller that holds no message may have one message
// beyond its part while the budget is not full. Without this exception, requests that wait for such a message could
// fill the caller's part, and they would wait forever.
//
// States of a waiting message (`hold`): waiting → held until released, or waiting → refused. Messages of one caller
// wait in order, and callers take turns. A message is refused in three cases: after `waitMs`; when its request has
// ended; immediately, if the waiting texts already exceed twice the budget. A body that was read waits in the same way
// for the memory of its values (`waitForMore`). Messages get memory before bodies, so that requests that are already
// running finish first.
import { countFields, countValues, FairMemory } from '@tollgate/proto/contract';

interface MemorySizes {
  readonly bytes?: number;
  readonly valueBytes?: number;
  readonly waitMs?: number;
}

/**
 * The most expensive values need 210 bytes each, and `valueBytes` is about a third of that. So a full budget of a
 * sidecar is at most about 110 MB of heap.
 */
const standard = { bytes: 32 * 1_048_576, valueBytes: 64, waitMs: 10_000 };
/**
 * A body waits at most `waitMs` divided by this factor. This is shorter than for a message, because agents wait for a
 * decision.
 */
const bodiesWaitLess = 10;

interface Waiting {
  /** Takes the memory. Returns false if there is not enough memory yet. */
  readonly take: () => boolean;
  readonly enter: () => void;
}

/** The waiting texts of each caller. A caller that had its turn moves to the end. */
type Line = Map<string, Waiting[]>;

interface Stay {
  readonly line: Line;
  readonly take: () => boolean;
  readonly waitMs: number;
  /** The size of the waiting text. 0 if the text is already counted elsewhere. */
  readonly textBytes: number;
  readonly signal: AbortSignal | undefined;
}

interface Parsing {
  /** The maximum number of values that are counted. A text with more values is not parsed. */
  readonly most?: number;
  readonly type?: string;
}

interface Holding extends Parsing {
  /** Aborted when the request has ended. */
  readonly signal?: AbortSignal;
  /** Bytes that the caller already holds for the same work, and keeps until it receives this text too. */
  readonly held?: number;
}

const form = /^\s*application\/x-www-form-urlencoded\b/i;

/** The memory budget did not have enough free space in time. */
export class MemoryIsFull extends Error {
  override readonly name = 'MemoryIsFull';
}

export class BodyMemory {
  readonly #memory: FairMemory<string>;
  readonly #bytes: number;
  readonly #valueBytes: number;
  readonly #waitMs: number;
  readonly #messages: Line = new Map();
  readonly #bodies: Line = new Map();
  /** Limits the total size of the texts that wait. */
  readonly #texts: FairMemory<string>;
  /** Number of messages that each caller holds. */
  readonly #holding = new Map<string, number>();

  constructor({ bytes = standard.bytes, valueBytes = standard.valueBytes, waitMs = standard.waitMs }: MemorySizes = {}) {
    this.#memory = new FairMemory(bytes);
    this.#texts = new FairMemory(2 * bytes);
    this.#bytes = bytes;
    this.#valueBytes = valueBytes;
    this.#waitMs = waitMs;
  }

  /** Reserves memory for bytes that will be read. False: the budget has no space. */
  take(caller: string, bytes: number): boolean {
    return this.#memory.take(caller, bytes);
  }

  /** Reserves more memory for a body that has already reserved `held` bytes. False: the budget has no space yet. */
  takeMore(caller: string, bytes: number, held: number): boolean {
    return !this.#bodies.has(caller) && this.#takeMore(caller, bytes, held);
  }

  /** Waits until the memory of `takeMore` can be reserved. Resolves with false if there is no space in time. */
  waitForMore(caller: string, bytes: number, { held, signal }: { readonly held: number; readonly signal: AbortSignal }): Promise<boolean> {
    const take = (): boolean => this.#takeMore(caller, bytes, held);
    return this.#wait(caller, { line: this.#bodies, take, waitMs: this.#waitMs / bodiesWaitLess, textBytes: 0, signal });
  }

  give(caller: string, bytes: number): void {
    this.#memory.give(caller, bytes);
    this.#letIn();
  }

  /**
   * Returns the number of bytes with which a text is counted when it is parsed. The text is parsed as a form if its
   * content type says so, otherwise as JSON.
   */
  parsedBytes(text: Uint8Array, { most = Number.POSITIVE_INFINITY, type = '' }: Parsing = {}): number {
    const values = form.test(type) ? countFields(text) : countValues(text);
    return Math.max(text.length, this.#valueBytes * Math.min(most, values));
  }

  /**
   * Waits for memory for a text and its parsed values. Resolves with a function that releases the memory. Further calls
   * of this function have no effect. Rejects with `MemoryIsFull`.
   */
  async hold(caller: string, text: Uint8Array, { signal, held = 0, ...parsing }: Holding = {}): Promise<() => void> {
    const bytes = this.parsedBytes(text, parsing);
    const take = (): boolean => this.#holdNow(caller, bytes, held);
    if (this.#messages.has(caller) || !take()) {
      const stay = { line: this.#messages, take, waitMs: this.#waitMs, textBytes: text.length, signal };
      if (!(await this.#wait(caller, stay))) throw new MemoryIsFull('too many bytes are being read at the same time');
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#countHeld(caller, -1);
      this.give(caller, bytes);
    };
  }

  #takeMore(caller: string, bytes: number, held: number): boolean {
    return this.#memory.take(caller, bytes) || this.#memory.takeAlone(caller, bytes, held + this.#bytes / 8);
  }

  #holdNow(caller: string, bytes: number, held: number): boolean {
    if (!this.#takeMore(caller, bytes, held) && !this.#takeBeyondPart(caller, bytes)) return false;
    this.#countHeld(caller, 1);
    return true;
  }

  /**
   * Takes memory beyond the caller's part. This is for a caller that holds no message, but has requests that may wait
   * for the message for which this memory is taken.
   */
  #takeBeyondPart(caller: string, bytes: number): boolean {
    if (this.#holding.has(caller) || !this.#memory.owns(caller)) return false;
    return this.#memory.takeAlone(caller, bytes, this.#bytes - bytes);
  }

  #countHeld(caller: string, more: 1 | -1): void {
    const count = (this.#holding.get(caller) ?? 0) + more;
    if (count > 0) this.#holding.set(caller, count);
    else this.#holding.delete(caller);
  }

  /** Waits until `take` succeeds. Resolves with false if there was no space in time, or if `signal` was aborted. */
  #wait(caller: string, { line, take, waitMs, textBytes, signal }: Stay): Promise<boolean> {
    if (signal?.aborted === true || !this.#standInLine(caller, textBytes)) return Promise.resolve(false);
    return new Promise((done) => {
      const end = (isHeld: boolean): void => {
        clearTimeout(timer);
        this.#texts.give(caller, textBytes);
        signal?.removeEventListener('abort', leave);
        done(isHeld);
      };
      const waiting: Waiting = { take, enter: () => end(true) };
      const leave = (): void => {
        removeFrom(line, caller, waiting);
        end(false);
        // The next text in the queue may be smaller and fit.
        this.#letIn();
      };
      const timer = setTimeout(leave, waitMs).unref();
      signal?.addEventListener('abort', leave);
      line.set(caller, [...(line.get(caller) ?? []), waiting]);
    });
  }

  /** Returns false if the waiting texts are too large together. If no other text waits, a text may have any size. */
  #standInLine(caller: string, bytes: number): boolean {
    return bytes === 0 || this.#texts.take(caller, bytes) || this.#texts.takeAlone(caller, bytes, 0);
  }

  #letIn(): void {
    letInFrom(this.#messages);
    letInFrom(this.#bodies);
  }
}

function removeFrom(line: Line, caller: string, waiting: Waiting): void {
  const others = (line.get(caller) ?? []).filter((one) => one !== waiting);
  if (others.length > 0) line.set(caller, others);
  else line.delete(caller);
}

function letInFrom(line: Line): void {
  // A caller that moves to the end of the map is visited again by this loop.
  for (const [caller, [first, ...others]] of line) {
    if (first === undefined || !first.take()) continue;
    line.delete(caller);
    if (others.length > 0) line.set(caller, others);
    first.enter();
  }
}
