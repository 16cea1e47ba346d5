// Memory budget, in bytes, for request bodies and tool-server messages that are being read and processed. Callers share
// the budget. One caller may take at most as much as remains free for all others. A parsed text can need thirty times
// its size on the wire. Therefore a text counts as its bytes or as `valueBytes` for each value in it, whichever is
// larger. Values are counted before parsing.
//
// A text that is larger than a caller's part, or than the whole budget, is admitted while the budget is almost empty.
// So every text within the size limits can be read at some time. A caller that holds no message may have one message
// beyond its part while the budget is not full. Otherwise its part could be full of requests that wait for exactly such
// messages, and they would wait forever.
//
// States of a waiting message (`hold`): waiting → held until released, or waiting → refused. Messages of one caller
// wait in order, and callers take turns. A message is refused after `waitMs`, when its request has ended, or
// immediately if the waiting texts already exceed twice the budget. Bodies that were read wait in the same way for the
// size of their values (`waitForMore`), but after the messages: requests that are already running finish first.
import { countFields, countValues, FairMemory } from '@tollgate/proto/contract';

interface MemorySizes {
  readonly bytes?: number;
  readonly valueBytes?: number;
  readonly waitMs?: number;
}

/**
 * The value size is a third of the 210 bytes of the most expensive values: a full budget of a sidecar is at most about
 * 110 MB of heap.
 */
const standard = { bytes: 32 * 1_048_576, valueBytes: 64, waitMs: 10_000 };
/** The maximum wait of a body is shorter than that of a message by this factor, because agents wait for a decision. */
const bodiesWaitLess = 10;

interface Waiting {
  /** Returns false if there is no memory yet. */
  readonly take: () => boolean;
  readonly enter: () => void;
}

/** By caller. A caller that had its turn moves to the end. */
type Line = Map<string, Waiting[]>;

interface Stay {
  readonly line: Line;
  readonly take: () => boolean;
  readonly waitMs: number;
  /** Bytes of a text that is not counted elsewhere. */
  readonly textBytes: number;
  readonly signal: AbortSignal | undefined;
}

interface Parsing {
  /** Upper limit of values. A text with more values is not parsed. */
  readonly most?: number;
  readonly type?: string;
}

interface Holding extends Parsing {
  /** Aborted when the request has ended. */
  readonly signal?: AbortSignal;
  /** Bytes that the holder already has and keeps until it receives this text too. */
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
  /** Limits the texts that wait. */
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

  /** Reserves bytes that are not read yet. False: the budget has no space. */
  take(caller: string, bytes: number): boolean {
    return this.#memory.take(caller, bytes);
  }

  /** Reserves more bytes for a body that has reserved `held` already. False: the budget has no space yet. */
  takeMore(caller: string, bytes: number, held: number): boolean {
    return !this.#bodies.has(caller) && this.#takeMore(caller, bytes, held);
  }

  /** Waits for the reservation of `takeMore`. Resolves with false if there is no space in time. */
  waitForMore(caller: string, bytes: number, { held, signal }: { readonly held: number; readonly signal: AbortSignal }): Promise<boolean> {
    const take = (): boolean => this.#takeMore(caller, bytes, held);
    return this.#wait(caller, { line: this.#bodies, take, waitMs: this.#waitMs / bodiesWaitLess, textBytes: 0, signal });
  }

  give(caller: string, bytes: number): void {
    this.#memory.give(caller, bytes);
    this.#letIn();
  }

  /** The size of a text after parsing. The text is parsed as a form if its content type says so, otherwise as JSON. */
  parsedBytes(text: Uint8Array, { most = Number.POSITIVE_INFINITY, type = '' }: Parsing = {}): number {
    const values = form.test(type) ? countFields(text) : countValues(text);
    return Math.max(text.length, this.#valueBytes * Math.min(most, values));
  }

  /**
   * Waits for memory for a text and its parsed values. Resolves with a function that releases the memory once. Rejects
   * with `MemoryIsFull`.
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

  /** For a caller that holds no message and has requests that may wait for this one. */
  #takeBeyondPart(caller: string, bytes: number): boolean {
    if (this.#holding.has(caller) || !this.#memory.owns(caller)) return false;
    return this.#memory.takeAlone(caller, bytes, this.#bytes - bytes);
  }

  #countHeld(caller: string, more: 1 | -1): void {
    const count = (this.#holding.get(caller) ?? 0) + more;
    if (count > 0) this.#holding.set(caller, count);
    else this.#holding.delete(caller);
  }

  /** Resolves with false if there was no space in time, or if `signal` was aborted. */
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
        // The next text in the queue may be small enough.
        this.#letIn();
      };
      const timer = setTimeout(leave, waitMs).unref();
      signal?.addEventListener('abort', leave);
      line.set(caller, [...(line.get(caller) ?? []), waiting]);
    });
  }

  /** Returns false if too many texts wait. A single text may have any size. */
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
  // A caller that moves to the end is visited again by this loop.
  for (const [caller, [first, ...others]] of line) {
    if (first === undefined || !first.take()) continue;
    line.delete(caller);
    if (others.length > 0) line.set(caller, others);
    first.enter();
  }
}
