// Requests that agentgateway asked about and whose results have not come, by the id that each left. What they take is counted in bytes, for
// each key: where all take too much, the key that has most forgets its oldest, whose result is refused then. So a key that asks and never
// tells what came of it takes the place of its own requests alone.
import type { GovernedRun } from '../../govern/run.ts';
import type { AwaitedCall } from '../../govern/verdict.ts';
import { Budget, type Share } from '../budget.ts';

/** A request that has gone on. */
export interface Waiting {
  readonly run: GovernedRun;
  /** Of the servers whose results may go back, by name. Null: a list of tools, of which only some may be seen. */
  readonly permits: ReadonlyMap<string, AwaitedCall> | null;
}

export interface PendingResults {
  put(id: string, waiting: Waiting): void;
  /** Null: none waits under that id, or not any more. */
  take(id: string): Waiting | null;
}

/** Of all keys. */
const pendingBytes = 16 * 1_048_576;
/** Estimates of what V8 takes: its session may be gone, so the run and what it has used of its caps count too. */
const bytesOf = { waiting: 5_000, permit: 1_500 };

interface Kept {
  readonly waiting: Waiting;
  readonly share: KeyShare;
  readonly bytes: number;
}

export function createPendingResults(bytesMax = pendingBytes): PendingResults {
  const all = new Map<string, Kept>();
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
  // The names that the caller chose are in this text, and a few times more in what it is made of.
  let bytes = bytesOf.waiting + 6 * run.decidedBy.callerText.length;
  for (const [server, { tool, decision }] of permits ?? [])
    bytes += bytesOf.permit + 2 * (server.length + tool.length + decision.reason.length);
  return bytes;
}

/** Of one key, the oldest first. */
class KeyShare implements Share {
  bytes = 0;
  readonly ids = new Set<string>();
  readonly #forget: (id: string) => unknown;

  constructor(forget: (id: string) => unknown) {
    this.#forget = forget;
  }

  /** The latest stays. */
  get canForget(): boolean {
    return this.ids.size > 1;
  }

  forgetOldest(): void {
    const [oldest] = this.ids;
    if (oldest !== undefined) this.#forget(oldest);
  }
}
