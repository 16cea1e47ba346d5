// What policy makes of an ask, before the ledger hears of it.
import { digestText, type QuotaAsk, quotaCounterKey, type QuotaResult } from '@tollgate/proto/contract';
import type { CounterSettings } from '../../domain/quota/ledger.ts';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';

export interface PlannedAsk {
  readonly ask: QuotaAsk;
  /** Of the row: its counter's, as a digest. */
  readonly key: string;
  readonly settings: CounterSettings;
  /** What is answered whatever the ledger says; null: what the ledger says. */
  readonly instead: QuotaResult | null;
  /** Whether the ledger is asked; where something is answered instead, it only settles. */
  readonly counts: boolean;
}

/** A sidecar of another epoch will be given another policy soon. */
const otherEpochMs = 200;
/** The policy that it holds comes to this control plane as well. */
const unheardMs = 30;

export function planAsk(policy: QuotaPolicy, ask: QuotaAsk): PlannedAsk {
  const { counter, revision } = ask;
  const max = counter.kind === 'limit' ? policy.limitMax(counter.id) : policy.capOf(counter.agentId);
  const settings: CounterSettings =
    counter.kind === 'limit' ? { kind: 'window', windowSeconds: policy.windowSeconds, max: max ?? 0 } : { kind: 'total', max: max ?? 0 };
  const key = digestText(quotaCounterKey(counter));
  // Its grants are another database's, or of a time that a restored backup knows nothing of.
  if (revision.epoch !== policy.revision.epoch)
    return { ask, key, settings, instead: { kind: 'later', askAfterMs: otherEpochMs }, counts: false };
  const instead = insteadOf(policy, ask, max);
  return { ask, key, settings, instead, counts: instead === null || ask.settled.length > 0 };
}

function insteadOf(policy: QuotaPolicy, { revision, onlySettles }: QuotaAsk, max: number | null): QuotaResult | null {
  if (onlySettles) return { kind: 'taken' };
  if (revision.number > policy.revision.number) return { kind: 'later', askAfterMs: unheardMs };
  return max === null ? { kind: 'none' } : null;
}
