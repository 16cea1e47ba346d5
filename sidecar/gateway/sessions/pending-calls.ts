// Permitted calls of a session whose outcome is awaited, for doors that are told of it by another request.
//
// States: a permitted call waits for its outcome under its id, or else under its input, also as it was before redaction:
// among `pendingMax` calls, of which `pendingEqualMax` may be equal. Over either the oldest gives way, and an outcome that finds
// none is recorded as a call of its own.
import { canonicalJson, digestText } from '@tollgate/proto/contract';
import type { DecidedBy } from '../../govern/run.ts';
import { type AwaitedCall, awaitedCall, type Permit } from '../../govern/verdict.ts';

type PendingCall = AwaitedCall & {
  /** All that it waits under. */
  readonly keys: readonly string[];
};

/** A call as its outcome is joined to it. */
export interface ClaimedCall {
  /** The client's own id for it. */
  readonly callId: string | null;
  readonly tool: string;
  readonly input: unknown;
}

const pendingMax = 1_000;
const pendingEqualMax = 100;
/** Of a call under one key, beside the key: its parts, and its places. */
const callBytes = 500;
/** Of what calls were decided by, without its text. */
const decidedByBytes = 200;

export class PendingCalls {
  /** By call id, or by tool and input where the client names none; of each the oldest first. */
  #calls: Map<string, PendingCall[]> | null = null;
  /** Each once, the oldest first. */
  #all: Set<PendingCall> | null = null;
  /** What they were decided by, with how many of them: one object for all of a revision, and its bytes count once. */
  #decidedBy: Map<DecidedBy, number> | null = null;
  #onGrown: (bytes: number) => void;
  #bytes = 0;

  /** `onGrown` hears how many bytes more or less are kept. */
  constructor(onGrown: (bytes: number) => void = () => undefined) {
    this.#onGrown = onGrown;
  }

  get isEmpty(): boolean {
    return this.#all === null || this.#all.size === 0;
  }

  /** Keeps nothing any more that counts; answers how many bytes that was. */
  giveUp(): number {
    this.#onGrown = () => undefined;
    return this.#bytes;
  }

  /** A permitted call waits for its outcome. Equal calls wait in line. */
  add(request: ClaimedCall, permit: Permit): void {
    // Its outcome may be told with the input that was asked about, or with the one that the tool got.
    const asked = pendingKey(request);
    const got = request.callId !== null || permit.input === request.input ? asked : pendingKey({ ...request, input: permit.input });
    const call = { ...awaitedCall(permit), keys: asked === got ? [asked] : [asked, got] };
    this.#all ??= new Set();
    this.#all.add(call);
    this.#hold(call.decidedBy, 1);
    for (const key of call.keys) {
      const line = this.#lineUp(key, call);
      const [equal] = line;
      if (equal !== undefined && line.length > pendingEqualMax) this.#drop(equal);
    }
    const [oldest] = this.#all;
    if (oldest !== undefined && this.#all.size > pendingMax) this.#drop(oldest);
  }

  /** The call that an outcome belongs to; null where none waits for it. `isTool`: whether it is told of a call of this tool. */
  take(request: ClaimedCall, isTool = (tool: string): boolean => tool === request.tool): PendingCall | null {
    const call = this.#calls?.get(pendingKey(request))?.[0];
    if (call === undefined || !isTool(call.tool)) return null;
    this.#drop(call);
    return call;
  }

  #drop(call: PendingCall): void {
    if (this.#all?.delete(call) !== true) return;
    this.#hold(call.decidedBy, -1);
    for (const key of call.keys) this.#leave(key, call);
  }

  #hold(decidedBy: DecidedBy, more: 1 | -1): void {
    this.#decidedBy ??= new Map();
    const before = this.#decidedBy.get(decidedBy) ?? 0;
    if (before + more === 0) this.#decidedBy.delete(decidedBy);
    else this.#decidedBy.set(decidedBy, before + more);
    if (before === 0 || before + more === 0) this.#grow(more * (decidedByBytes + 2 * decidedBy.callerText.length));
  }

  #lineUp(key: string, call: PendingCall): readonly PendingCall[] {
    this.#calls ??= new Map();
    const line = this.#calls.get(key) ?? [];
    if (line.push(call) === 1) this.#calls.set(key, line);
    this.#grow(callBytes + 2 * key.length);
    return line;
  }

  #leave(key: string, call: PendingCall): void {
    const line = this.#calls?.get(key) ?? [];
    const at = line.indexOf(call);
    if (at < 0) return;
    if (at === 0) line.shift();
    else line.splice(at, 1);
    if (line.length === 0) this.#calls?.delete(key);
    this.#grow(-(callBytes + 2 * key.length));
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.#onGrown(bytes);
  }
}

/** Under what a permit waits for its outcome: the client's id for the call, or what was called with what. */
const pendingKey = ({ callId, tool, input }: ClaimedCall): string =>
  callId === null ? `input ${tool} ${digestText(canonicalJson(input))}` : `call ${callId}`;
