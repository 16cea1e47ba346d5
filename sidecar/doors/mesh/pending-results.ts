// Stores requests that agentgateway asked about and whose results have not arrived, by their ids. Their memory is
// counted in bytes for each key. If the total exceeds the limit, the key with the most memory loses its oldest request,
// and the result of that request is then refused. So a key that never reports results evicts only its own requests.
import type { GovernedRun } from '../../engine/govern/run.ts';
import type { AwaitedCall } from '../../engine/govern/verdict.ts';
import { Budget, type Share } from '../entrance/budget.ts';

/** A request that was forwarded. */
export interface Waiting {
  readonly run: GovernedRun;
  /**
   * The permits of the servers whose results may be returned, by the name of the server. Null: the request is for a
   * list of tools, whose result is filtered.
   */
  readonly permits: ReadonlyMap<string, AwaitedCall> | null;
}

export interface PendingResults {
  put(id: string, waiting: Waiting): void;
  /** Returns the request with that id and removes it. Null: no request waits under that id, or it was evicted. */
  take(id: string): Waiting | null;
}

/** Memory limit for all keys together, in bytes. */
const pendingBytes = 16 * 1_048_576;
/**
 * Estimates of the bytes that V8 needs. The run and its usage are counted too, because their session may no longer be
 * in memory.
 */
const bytesOf = { waiting: 5_000, permit: 1_500 };

interface KeptResult {
  readonly waiting: Waiting;
  readonly share: KeyShare;
  readonly bytes: number;
}

export function createPendingResults(bytesMax = pendingBytes): PendingResults {
  const all = new Map<string, KeptResult>();
  const shares = new Map<string, KeyShare>();
  const budget = new Budget(bytesMax);

  const take = (id: string): Waiting | null => {
    const kept = all.get(id);
    if (kept === undefined) return null;
    const { share, bytes, waiting } = kept;
    all.delete(id);
    share.ids.delete(id);
    share.bytes -= bytes;
    budget.changed(-bytes);
    if (share.ids.size === 0) {
      budget.remove(share);
      shares.delete(keyOf(waiting));
    }
    return waiting;
  };
  const shareOf = (keyId: string): KeyShare => {
    const known = shares.get(keyId);
    if (known !== undefined) return known;
    const share = new KeyShare(take);
    shares.set(keyId, share);
    budget.add(share);
    return share;
  };

  return {
    put: (id, waiting) => {
      take(id);
      const share = shareOf(keyOf(waiting));
      const bytes = bytesKept(waiting);
      all.set(id, { waiting, share, bytes });
      share.ids.add(id);
      share.bytes += bytes;
      budget.changed(bytes);
    },
    take,
  };
}

const keyOf = ({ run }: Waiting): string => run.claim.identity.keyId;

function bytesKept({ run, permits }: Waiting): number {
  // `callerText` contains the names that the caller chose. Other objects of the request contain these names too, so the
  // length is counted several times.
  let bytes = bytesOf.waiting + 6 * run.decidedBy.callerText.length;
  for (const [server, { tool, decision }] of permits ?? [])
    bytes += bytesOf.permit + 2 * (server.length + tool.length + decision.reason.length);
  return bytes;
}

/** The requests of one key, oldest first. */
class KeyShare implements Share {
  bytes = 0;
  readonly ids = new Set<string>();
  readonly #forget: (id: string) => unknown;

  constructor(forget: (id: string) => unknown) {
    this.#forget = forget;
  }

  /** False: only the latest request is left, and it is kept. */
  get canForget(): boolean {
    return this.ids.size > 1;
  }

  forgetOldest(): void {
    const [oldest] = this.ids;
    if (oldest !== undefined) this.#forget(oldest);
  }
}
