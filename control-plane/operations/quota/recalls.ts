// Brings recalls to the holders of grants: at once to those whose streams are here, and by NOTIFY to those of the other
// control planes. All of it is a hint: a recall that is lost costs what is left of a grant's life, and nothing else.
import type { OnRecall, QuotaCounter } from '@tollgate/proto/contract';
import { quotaCounterKey } from '@tollgate/proto/contract';
import { loggable } from '../../loggable.ts';
import { notifyRecalls, recallBytesMax } from '../../store/quota.ts';
import type { Deps } from '../operation.ts';
import type { Recalled } from './answer-asks.ts';

interface RecallDeps extends Pick<Deps, 'pool'> {
  /** Ms, from any beginning. */
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

export interface Recalls {
  /** `onRecall` hears what is wanted back of a holder, until the returned function is called. */
  attach(workspaceId: number, holder: string, onRecall: OnRecall): () => void;
  send(workspaceId: number, recalls: readonly Recalled[]): void;
  /** What another control plane has told the channel. */
  heard(payload: string): void;
}

/** Whoever waits asks every 30 ms; the holder needs to hear it once. */
const againMs = 100;
/** Of what was sent lately, and of what waits to be told the others. More is forgotten. */
const sentMax = 10_000;
const tellingMax = 1_000;

export function createRecalls({ pool, now, log }: RecallDeps): Recalls {
  const attached = new Map<string, Set<OnRecall>>();
  let sent = new Map<string, number>();
  let telling: string[] = [];
  let isTelling = false;
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
    if (isTelling) return;
    isTelling = true;
    // Those that come meanwhile go together.
    while (telling.length > 0) {
      const payloads = telling;
      telling = [];
      await notifyRecalls(pool, payloads).catch((error: unknown) => log.warn({ err: loggable(error) }, 'grants were not called back'));
    }
    isTelling = false;
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
      for (const { holder, counter } of recalls) {
        if (!isFresh(`${workspaceId} ${holder} ${quotaCounterKey(counter)}`) || deliver(workspaceId, holder, counter)) continue;
        const payload = JSON.stringify([workspaceId, holder, counter.kind === 'run' ? { ...counter, of: null } : counter]);
        if (telling.length < tellingMax && Buffer.byteLength(payload) <= recallBytesMax) telling.push(payload);
      }
      void tell();
    },
    heard: (payload) => {
      const recall = parseRecall(payload);
      if (recall !== null) deliver(recall.workspaceId, recall.holder, recall.counter);
    },
  };
}

/** Null for what no control plane of this version has written. */
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
