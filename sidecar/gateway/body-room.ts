// Room for what is being read and worked on: bodies of requests and messages of tool servers, in bytes, shared by callers: one may take as
// much as it leaves to all others. Parsed, a text may take thirty times as much as it was sent as; so it counts as its bytes, or as `valueBytes`
// for each value that it holds, whichever is more. Values are counted before anything is made of them.
//
// One that is larger than a caller's part, or than all of the room, is let in while hardly anything else is there: what may be sent at all
// can be read at some time. And of messages, a caller that holds none may have one beyond its part, as long as the room is not full: its part
// may be full of requests that wait for just such messages, and would wait for ever.
//
// States of a message that waits (`hold`): waiting, in line with those of its caller, callers in turn → held, until it is given back; refused,
// after `waitMs`, once its request has ended, or at once where the texts that wait already are twice the room. Bodies that were read wait in
// the same way for what their values count (`waitForMore`), behind the messages: requests that go on are ended first.
import { countFields, countValues, FairRoom } from '@tollgate/proto/contract';

interface RoomSizes {
  readonly bytes?: number;
  readonly valueBytes?: number;
  readonly waitMs?: number;
}

/** Of values a third of the 210 bytes that the dearest take: a full room of a sidecar is at most some 110 MB of heap. */
const standard = { bytes: 32 * 1_048_576, valueBytes: 64, waitMs: 10_000 };
/** Bodies wait so much less than messages do: agents wait for a decision. */
const bodiesWaitLess = 10;

interface Waiting {
  /** False: there is no room yet. */
  readonly take: () => boolean;
  readonly enter: () => void;
}

/** By caller; one that has had a turn goes behind the others. */
type Line = Map<string, Waiting[]>;

interface Stay {
  readonly line: Line;
  readonly take: () => boolean;
  readonly waitMs: number;
  /** Of texts that nothing else counts. */
  readonly textBytes: number;
  readonly signal: AbortSignal | undefined;
}

interface Parsing {
  /** With more values it is not parsed. */
  readonly most?: number;
  readonly type?: string;
}

interface Holding extends Parsing {
  /** Aborted once its request has ended. */
  readonly signal?: AbortSignal;
  /** Bytes that its holder has already, and keeps until it has this too. */
  readonly held?: number;
}

const form = /^\s*application\/x-www-form-urlencoded\b/i;

/** What was to be read found no room in time. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

export class BodyRoom {
  readonly #room: FairRoom<string>;
  readonly #bytes: number;
  readonly #valueBytes: number;
  readonly #waitMs: number;
  readonly #messages: Line = new Map();
  readonly #bodies: Line = new Map();
  /** For the texts that wait. */
  readonly #texts: FairRoom<string>;
  /** How many messages each caller holds. */
  readonly #holding = new Map<string, number>();

  constructor({ bytes = standard.bytes, valueBytes = standard.valueBytes, waitMs = standard.waitMs }: RoomSizes = {}) {
    this.#room = new FairRoom(bytes);
    this.#texts = new FairRoom(2 * bytes);
    this.#bytes = bytes;
    this.#valueBytes = valueBytes;
    this.#waitMs = waitMs;
  }

  /** For bytes that are not read yet. False: there is no room. */
  take(caller: string, bytes: number): boolean {
    return this.#room.take(caller, bytes);
  }

  /** For more of a body that has taken `held` already. False: there is no room yet. */
  takeMore(caller: string, bytes: number, held: number): boolean {
    return !this.#bodies.has(caller) && this.#takeMore(caller, bytes, held);
  }

  /** Waits for the same; resolves with false where there is none in time. */
  waitForMore(caller: string, bytes: number, { held, signal }: { readonly held: number; readonly signal: AbortSignal }): Promise<boolean> {
    const take = (): boolean => this.#takeMore(caller, bytes, held);
    return this.#wait(caller, { line: this.#bodies, take, waitMs: this.#waitMs / bodiesWaitLess, textBytes: 0, signal });
  }

  give(caller: string, bytes: number): void {
    this.#room.give(caller, bytes);
    this.#letIn();
  }

  /** What a text counts once it is parsed: a form as one where its content type says so, all else as JSON. */
  parsedBytes(text: Uint8Array, { most = Number.POSITIVE_INFINITY, type = '' }: Parsing = {}): number {
    const values = form.test(type) ? countFields(text) : countValues(text);
    return Math.max(text.length, this.#valueBytes * Math.min(most, values));
  }

  /** Waits for room for a text and what is made of it; resolves with what gives it back, once. Rejects with `NoRoom`. */
  async hold(caller: string, text: Uint8Array, { signal, held = 0, ...parsing }: Holding = {}): Promise<() => void> {
    const bytes = this.parsedBytes(text, parsing);
    const take = (): boolean => this.#holdNow(caller, bytes, held);
    if (this.#messages.has(caller) || !take()) {
      const stay = { line: this.#messages, take, waitMs: this.#waitMs, textBytes: text.length, signal };
      if (!(await this.#wait(caller, stay))) throw new NoRoom('too much is being read at one time');
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
    return this.#room.take(caller, bytes) || this.#room.takeAlone(caller, bytes, held + this.#bytes / 8);
  }

  #holdNow(caller: string, bytes: number, held: number): boolean {
    if (!this.#takeMore(caller, bytes, held) && !this.#takeBeyondPart(caller, bytes)) return false;
    this.#countHeld(caller, 1);
    return true;
  }

  /** For who holds no message, and has requests that may wait for this one. */
  #takeBeyondPart(caller: string, bytes: number): boolean {
    if (this.#holding.has(caller) || !this.#room.owns(caller)) return false;
    return this.#room.takeAlone(caller, bytes, this.#bytes - bytes);
  }

  #countHeld(caller: string, more: 1 | -1): void {
    const count = (this.#holding.get(caller) ?? 0) + more;
    if (count > 0) this.#holding.set(caller, count);
    else this.#holding.delete(caller);
  }

  /** Resolves with false where there was no room in time, or `signal` was aborted. */
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
        // What stood behind it may be small enough.
        this.#letIn();
      };
      const timer = setTimeout(leave, waitMs).unref();
      signal?.addEventListener('abort', leave);
      line.set(caller, [...(line.get(caller) ?? []), waiting]);
    });
  }

  /** False: the texts that wait are too many. One alone may be of any size. */
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
  // A caller that goes behind the others is reached again.
  for (const [caller, [first, ...others]] of line) {
    if (first === undefined || !first.take()) continue;
    line.delete(caller);
    if (others.length > 0) line.set(caller, others);
    first.enter();
  }
}
