// Sends recalls to the holders of grants: immediately to holders whose streams are in this process, and by NOTIFY to
// holders that are connected to other control planes. All recalls are hints. A lost recall only delays the return until
// the grant expires.
import type { OnRecall, QuotaCounter } from '@tollgate/proto/contract';
import { quotaCounterKey } from '@tollgate/proto/contract';
import { loggable } from '../../base/loggable.ts';
import { notifyRecalls, recallBytesMax } from '../store.ts';
import type { OperationDeps } from '../../access/operation.ts';
import type { GrantRecall } from './lease-message.ts';

interface RecallDeps extends Pick<OperationDeps, 'pool'> {
  /** The time in ms since an arbitrary start. */
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

export interface Recalls {
  /** `onRecall` receives the recalls for a holder until the returned function is called. */
  attach(workspaceId: number, holder: string, onRecall: OnRecall): () => void;
  send(workspaceId: number, recalls: readonly GrantRecall[]): void;
  /** Handles a message that another control plane sent on the channel. */
  heard(payload: string): void;
}

/**
 * The minimum time in ms between two recalls of the same grants of one holder. A waiting sidecar asks every 30 ms, but the
 * holder needs only one recall in this time.
 */
const againMs = 100;
/**
 * `sentMax`: how many sent recalls are remembered; when there are more, all of them are forgotten. `outgoingMax`: how
 * many recalls can wait for NOTIFY; further recalls are dropped.
 */
const sentMax = 10_000;
const outgoingMax = 1_000;

export function createRecalls({ pool, now, log }: RecallDeps): Recalls {
  const attached = new Map<string, Set<OnRecall>>();
  let sent = new Map<string, number>();
  let outgoing: string[] = [];
  let isSendingOut = false;
  const keyOf = (workspaceId: number, holder: string): string => `${workspaceId} ${holder}`;

  const isFresh = (key: string): boolean => {
    const at = now();
    if (at - (sent.get(key) ?? Number.NEGATIVE_INFINITY) < againMs) return false;
    if (sent.size >= sentMax) sent = new Map();
    sent.set(key, at);
    return true;
  };
  const deliver = (workspaceId: number, holder: string, counter: QuotaCounter): boolean => {
    const listeners = attached.get(keyOf(workspaceId, holder));
    for (const listener of listeners ?? []) listener([counter]);
    return listeners !== undefined;
  };
  const tell = async (): Promise<void> => {
    if (isSendingOut) return;
    isSendingOut = true;
    // Recalls that arrive during a NOTIFY are sent together with the next one.
    while (outgoing.length > 0) {
      const payloads = outgoing;
      outgoing = [];
      await notifyRecalls(pool, payloads).catch((error: unknown) =>
        log.warn({ err: loggable(error) }, 'recalls of granted calls could not be sent to other control planes'),
      );
    }
    isSendingOut = false;
  };

  return {
    attach: (workspaceId, holder, onRecall) => {
      const key = keyOf(workspaceId, holder);
      const listeners = attached.get(key) ?? new Set();
      attached.set(key, listeners.add(onRecall));
      return () => {
        listeners.delete(onRecall);
        if (listeners.size === 0) attached.delete(key);
      };
    },
    send: (workspaceId, recalls) => {
      for (const { holder, grantId, counter } of recalls) {
        if (!isFresh(`${workspaceId} ${holder} ${grantId} ${quotaCounterKey(counter)}`) || deliver(workspaceId, holder, counter)) continue;
        const payload = JSON.stringify([workspaceId, holder, counter.kind === 'run' ? { ...counter, of: null } : counter]);
        if (outgoing.length < outgoingMax && Buffer.byteLength(payload) <= recallBytesMax) outgoing.push(payload);
      }
      void tell();
    },
    heard: (payload) => {
      const recall = parseRecall(payload);
      if (recall !== null) deliver(recall.workspaceId, recall.holder, recall.counter);
    },
  };
}

/** Null if the payload was not written by a control plane of this version. */
function parseRecall(payload: string): { readonly workspaceId: number; readonly holder: string; readonly counter: QuotaCounter } | null {
  try {
    const [workspaceId, holder, counter]: unknown[] = JSON.parse(payload);
    if (typeof workspaceId !== 'number' || typeof holder !== 'string') return null;
    const { kind, originSub, id, agentId } = Object(counter);
    if (kind === 'limit' && typeof originSub === 'string' && typeof id === 'string')
      return { workspaceId, holder, counter: { kind, originSub, id } };
    return kind === 'run' && typeof id === 'string' && typeof agentId === 'string'
      ? { workspaceId, holder, counter: { kind, id, agentId, of: null } }
      : null;
  } catch {
    return null;
  }
}
