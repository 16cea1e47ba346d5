// Room for what is being read and worked on: bodies of requests and messages of tool servers, in bytes, shared by callers: one may take as
// much as it leaves to all others. Parsed, a text may take thirty times as much as it was sent as; so it counts as its bytes, or as `valueBytes`
// for each value that it holds, whichever is more. Values are counted before anything is made of them.
//
// One that is larger than a caller's part, or than all of the room, is let in while hardly anything else is there: what may be sent at all
// can be read at some time. And of messages, a caller that holds none may have one beyond its part, as long as the room is not full: its part
// may be full of requests that wait for just such messages, and would wait for ever.
//
// States of a message that waits (`hold`): waiting, in line with those of its caller, callers in turn → held, until it is given back; refused,
// after `waitMs`, once nobody wants it any more, or at once where the texts that wait already are twice the room.
import { countFields, countValues, FairRoom } from '@tollgate/proto/contract';

interface RoomSizes {
  readonly bytes?: number;
  readonly valueBytes?: number;
  readonly waitMs?: number;
}

/** Of values a third of the 210 bytes that the dearest take: a full room of a sidecar is at most some 110 MB of heap. */
const standard = { bytes: 32 * 1_048_576, valueBytes: 64, waitMs: 10_000 };

interface Waiting {
  readonly bytes: number;
  /** As it was sent. */
  readonly textBytes: number;
  readonly held: number;
  readonly enter: () => void;
}

interface Parsing {
  /** With more values it is not parsed. */
  readonly most?: number;
  readonly type?: string;
}

interface Holding extends Parsing {
  /** Aborted once nobody wants it any more. */
  readonly signal?: AbortSignal;
  /** Bytes that its holder has already, and keeps until it has this too. */
  readonly held?: number;
}

const form = /^\s*application\/x-www-form-urlencoded\b/i;
const crowded = 'too much is being read at one time';

/** What was to be read found no room in time. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

export class BodyRoom {
  readonly #room: FairRoom<string>;
  readonly #bytes: number;
  readonly #valueBytes: number;
  readonly #waitMs: number;
  /** By caller; who has had a turn goes behind the others. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** For the texts that wait. */
  readonly #line: FairRoom<string>;
  /** How many messages each caller holds. */
  readonly #holding = new Map<string, number>();

  constructor({ bytes = standard.bytes, valueBytes = standard.valueBytes, waitMs = standard.waitMs }: RoomSizes = {}) {
    this.#room = new FairRoom(bytes);
    this.#line = new FairRoom(2 * bytes);
    this.#bytes = bytes;
    this.#valueBytes = valueBytes;
    this.#waitMs = waitMs;
  }

  /** For bytes that are not read yet. False: there is no room. */
  take(caller: string, bytes: number): boolean {
    return this.#room.take(caller, bytes);
  }

  /** For more of what has taken `held` already. False: there is no room. */
  takeMore(caller: string, bytes: number, held: number): boolean {
    return this.#room.take(caller, bytes) || this.#room.takeAlone(caller, bytes, held + this.#bytes / 8);
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
    if (this.#waiting.has(caller) || !this.#holdNow(caller, bytes, held))
      await this.#wait(caller, { bytes, textBytes: text.length, held }, signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#countHeld(caller, -1);
      this.give(caller, bytes);
    };
  }

  /** False: there is no room. */
  #holdNow(caller: string, bytes: number, held: number): boolean {
    if (!this.takeMore(caller, bytes, held) && !this.#takeBeyondPart(caller, bytes)) return false;
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

  #wait(caller: string, asked: Omit<Waiting, 'enter'>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((done, fail) => {
      if (signal?.aborted === true || !this.#standInLine(caller, asked.textBytes)) {
        fail(new NoRoom(crowded));
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        this.#line.give(caller, asked.textBytes);
        signal?.removeEventListener('abort', leave);
      };
      const waiting: Waiting = {
        ...asked,
        enter: () => {
          end();
          done();
        },
      };
      const leave = (): void => {
        end();
        this.#remove(caller, waiting);
        fail(new NoRoom(crowded));
        // What stood behind it may be small enough.
        this.#letIn();
      };
      const timer = setTimeout(leave, this.#waitMs).unref();
      signal?.addEventListener('abort', leave);
      this.#waiting.set(caller, [...(this.#waiting.get(caller) ?? []), waiting]);
    });
  }

  /** False: the texts that wait are too many. One alone may be of any size. */
  #standInLine(caller: string, bytes: number): boolean {
    return this.#line.take(caller, bytes) || this.#line.takeAlone(caller, bytes, 0);
  }

  #remove(caller: string, waiting: Waiting): void {
    const others = (this.#waiting.get(caller) ?? []).filter((one) => one !== waiting);
    if (others.length > 0) this.#waiting.set(caller, others);
    else this.#waiting.delete(caller);
  }

  #letIn(): void {
    // Who goes behind the others is come to again.
    for (const [caller, [first, ...others]] of this.#waiting) {
      if (first === undefined || !this.#holdNow(caller, first.bytes, first.held)) continue;
      this.#waiting.delete(caller);
      if (others.length > 0) this.#waiting.set(caller, others);
      first.enter();
    }
  }
}
