// Stores the permitted calls of a session that wait for their outcome, for endpoints that receive the outcome in
// another request.
//
// States: a permitted call waits for its outcome under its id. A call without an id waits under its input, and also
// under the redacted input if redaction changed it. At most `pendingMax` calls wait, and at most `pendingEqualMax`
// equal ones. Above either limit the oldest call is evicted. An outcome without a waiting call is recorded as a
// separate call.
import { canonicalJson, digestText } from '@tollgate/proto/contract';
import type { DecidedBy } from '../../engine/govern/run.ts';
import type { AwaitedCall, Permit } from '../../engine/govern/verdict.ts';

interface PendingCall extends AwaitedCall {
  /** The key under which the call waits. */
  readonly key: string;
  /** A second key, if the tool received an input that differs from the requested one. */
  readonly otherKey: string | null;
}

/** The fields that match an outcome to its call. */
export interface ClaimedCall {
  /** The client's own id for the call. */
  readonly callId: string | null;
  readonly tool: string;
  readonly input: unknown;
}

const pendingMax = 1_000;
const pendingEqualMax = 100;
/**
 * The estimated size of a call's parts and map entries, in bytes. It is counted once for each key of the call, without
 * the text of the key.
 */
const callBytes = 500;
/** Bytes of a `DecidedBy` object, without its text. */
const decidedByBytes = 200;

export class PendingCalls {
  /** The waiting call while there is only one. The collections below are then null. */
  #only: PendingCall | null = null;
  /**
   * The waiting calls, by call id, or by tool and input if the client gives no id. Each list has the oldest call first.
   */
  #calls: Map<string, PendingCall[]> | null = null;
  /** All waiting calls, each once, oldest first. */
  #all: Set<PendingCall> | null = null;
  /**
   * Each `DecidedBy` object with the number of its calls. All calls of a revision share one object, and its bytes count
   * once.
   */
  #decidedBy: Map<DecidedBy, number> | null = null;
  #onGrown: (bytes: number) => void;
  #bytes = 0;

  /** `onGrown` receives the change of the stored bytes. */
  constructor(onGrown: (bytes: number) => void = () => undefined) {
    this.#onGrown = onGrown;
  }

  get isEmpty(): boolean {
    return this.#only === null && this.#all === null;
  }

  /** Stops reporting changes to `onGrown`. Returns the bytes counted so far. */
  giveUp(): number {
    this.#onGrown = () => undefined;
    return this.#bytes;
  }

  /** Adds a permitted call that waits for its outcome. Among equal calls, the oldest one gets the next outcome. */
  add(request: ClaimedCall, permit: Permit): void {
    // The outcome may be reported with the original input, or with the input that the tool received.
    const asked = pendingKey(request);
    const got = request.callId !== null || permit.input === request.input ? asked : pendingKey({ ...request, input: permit.input });
    const { tool, requestId, decision, decidedBy, inputDigest, trace, decidedAt } = permit;
    const otherKey = asked === got ? null : got;
    // All fields are listed, because V8 would give each object that is made by a spread its own shape.
    const call = { tool, requestId, decision, decidedBy, inputDigest, trace, decidedAt, key: asked, otherKey };
    if (this.isEmpty) {
      this.#only = call;
      this.#grow(bytesOfOne(call));
      return;
    }
    const only = this.#takeOnly();
    if (only !== null) this.#keep(only);
    const all = this.#keep(call);
    const [oldest] = all;
    if (oldest !== undefined && all.size > pendingMax) this.#drop(oldest);
  }

  /** Removes and returns the only call. Null: there is none, or there are several. */
  #takeOnly(): PendingCall | null {
    const only = this.#only;
    if (only !== null) this.#grow(-bytesOfOne(only));
    this.#only = null;
    return only;
  }

  /** Adds the call to the collections. */
  #keep(call: PendingCall): ReadonlySet<PendingCall> {
    const all = (this.#all ??= new Set());
    all.add(call);
    this.#hold(call.decidedBy, 1);
    this.#lineUp(call.key, call);
    if (call.otherKey !== null) this.#lineUp(call.otherKey, call);
    return all;
  }

  /**
   * Returns the call that an outcome belongs to, and removes it. Null: no call waits for the outcome. `isTool` checks
   * the tool of the call.
   */
  take(request: ClaimedCall, isTool = (tool: string): boolean => tool === request.tool): PendingCall | null {
    if (this.isEmpty) return null;
    const key = pendingKey(request);
    if (this.#only !== null)
      return (this.#only.key === key || this.#only.otherKey === key) && isTool(this.#only.tool) ? this.#takeOnly() : null;
    const call = this.#calls?.get(key)?.[0];
    if (call === undefined || !isTool(call.tool)) return null;
    this.#drop(call);
    return call;
  }

  #drop(call: PendingCall): void {
    if (this.#all?.delete(call) !== true) return;
    this.#hold(call.decidedBy, -1);
    this.#leave(call.key, call);
    if (call.otherKey !== null) this.#leave(call.otherKey, call);
    if (this.#all.size === 0) this.#all = this.#calls = this.#decidedBy = null;
  }

  #hold(decidedBy: DecidedBy, more: 1 | -1): void {
    this.#decidedBy ??= new Map();
    const before = this.#decidedBy.get(decidedBy) ?? 0;
    if (before + more === 0) this.#decidedBy.delete(decidedBy);
    else this.#decidedBy.set(decidedBy, before + more);
    if (before === 0 || before + more === 0) this.#grow(more * bytesOfDecidedBy(decidedBy));
  }

  #lineUp(key: string, call: PendingCall): void {
    this.#calls ??= new Map();
    const line = this.#calls.get(key);
    if (line === undefined) this.#calls.set(key, [call]);
    else line.push(call);
    this.#grow(bytesOfKey(key));
    const equal = line?.[0];
    if (line !== undefined && equal !== undefined && line.length > pendingEqualMax) this.#drop(equal);
  }

  #leave(key: string, call: PendingCall): void {
    const line = this.#calls?.get(key) ?? [];
    const at = line.indexOf(call);
    if (at < 0) return;
    if (at === 0) line.shift();
    else line.splice(at, 1);
    if (line.length === 0) this.#calls?.delete(key);
    this.#grow(-bytesOfKey(key));
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.#onGrown(bytes);
  }
}

const bytesOfKey = (key: string): number => callBytes + 2 * key.length;

const bytesOfDecidedBy = ({ callerText }: DecidedBy): number => decidedByBytes + 2 * callerText.length;

const bytesOfOne = ({ key, otherKey, decidedBy }: PendingCall): number =>
  bytesOfDecidedBy(decidedBy) + bytesOfKey(key) + (otherKey === null ? 0 : bytesOfKey(otherKey));

/**
 * Returns the key under which a call waits for its outcome: the client's id for the call, or the tool and its input.
 */
const pendingKey = ({ callId, tool, input }: ClaimedCall): string =>
  callId === null ? `input ${tool} ${digestText(canonicalJson(input))}` : `call ${callId}`;
