// Permitted calls of a session whose outcome is awaited, for doors that are told of it by another request.
//
// States: a permitted call waits for its outcome under its id, or else under its input, also as it was before redaction:
// among `pendingMax` such that differ and `pendingEqualMax` calls that are equal. An outcome that finds none is recorded as a
// call of its own.
import { canonicalJson, digestText } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import type { DecidedCall, Permit } from '../govern/verdict.ts';

/** What is remembered of a permitted call: not its input, which may be large. */
type PendingCall = DecidedCall &
  Pick<Permit, 'decidedAt'> & {
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

/** Oldest first, by call id, or by tool and input where the client names none. */
export type PendingCalls = LRUCache<string, readonly PendingCall[]>;

const pendingMax = 1_000;
const pendingEqualMax = 100;

// Grows as needed: by `max` it would take the memory of all of them for every session.
export const createPendingCalls = (): PendingCalls => new LRUCache({ maxSize: pendingMax, sizeCalculation: () => 1 });

/** A permitted call waits for its outcome. Equal calls wait in line. */
export function addPending(
  pending: PendingCalls,
  request: ClaimedCall,
  { tool, requestId, decision, inputDigest, trace, decidedAt, input }: Permit,
): void {
  // Its outcome may be told with the input that was asked about, or with the one that the tool got.
  const keys = [...new Set([request, { ...request, input }].map(pendingKey))];
  const call = { tool, requestId, decision, inputDigest, trace, decidedAt, keys };
  for (const key of keys) pending.set(key, [...(pending.get(key) ?? []), call].slice(-pendingEqualMax));
}

/** The call that an outcome belongs to; null where none waits for it. */
export function takePending(pending: PendingCalls, request: ClaimedCall): PendingCall | null {
  const call = pending.get(pendingKey(request))?.[0];
  if (call === undefined || call.tool !== request.tool) return null;
  for (const key of call.keys) {
    const others = (pending.get(key) ?? []).filter((other) => other !== call);
    if (others.length === 0) pending.delete(key);
    else pending.set(key, others);
  }
  return call;
}

/** Under what a permit waits for its outcome: the client's id for the call, or what was called with what. */
const pendingKey = ({ callId, tool, input }: ClaimedCall): string =>
  callId === null ? `input ${tool} ${digestText(canonicalJson(input))}` : `call ${callId}`;
