// What policy makes of an ask, before the ledger hears of it.
import { digestText, type QuotaAsk, type QuotaCounter, quotaCounterKey, type QuotaResult } from '@tollgate/proto/contract';
import type { CounterSettings } from '../../domain/quota/ledger.ts';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';

export interface PlannedAsk {
  readonly ask: QuotaAsk;
  /** Of the row: its counter's, as a digest. */
  readonly key: string;
  readonly settings: CounterSettings;
  /** What is answered whatever the ledger says; null: what the ledger says. */
  readonly instead: QuotaResult | null;
  /** It is for what who asks may not ask for. */
  readonly isBeyond: boolean;
  /** Whether the ledger is asked; where something is answered instead, it only settles. */
  readonly counts: boolean;
}

/** Who asks, as far as it bounds what may be asked. */
export interface Asker {
  readonly keyId: string;
  /** The only subject that it may ask for; null: any that there is. */
  readonly onlySub: string | null;
}

/** A sidecar of another epoch will be given another policy soon. */
const otherEpochMs = 200;
/** The policy that it holds comes to this control plane as well. */
const unheardMs = 30;
/** What may not be asked now may be later, as for a member who is new. */
const notYoursMs = 1_000;

export function planAsk(policy: QuotaPolicy, given: QuotaAsk, asker: Asker): PlannedAsk {
  const { counter, revision } = given;
  const ours = counter.kind === 'limit' ? policy.limitMax(counter.id) : policy.capOf(counter.agentId);
  // Who has not heard yet that it was raised would make more calls than the policy that its entries name lets pass.
  const max = ours === null ? null : Math.min(ours, given.max ?? ours);
  // More than the limit is never granted: whoever says that more wait would only take it from others.
  const ask = { ...given, waiting: Math.min(given.waiting, max ?? 0) };
  const settings: CounterSettings =
    counter.kind === 'limit' ? { kind: 'window', windowSeconds: policy.windowSeconds, max: max ?? 0 } : { kind: 'total', max: max ?? 0 };
  const key = digestText(quotaCounterKey(counter));
  // Its grants are another database's, or of a time that a restored backup knows nothing of.
  if (revision.epoch !== policy.revision.epoch)
    return { ask, key, settings, instead: { kind: 'later', askAfterMs: otherEpochMs }, isBeyond: false, counts: false };
  const answered = insteadOf(policy, ask, max);
  const isBeyond = answered === null && !mayAsk(policy, counter, asker);
  const instead: QuotaResult | null = isBeyond ? { kind: 'later', askAfterMs: notYoursMs } : answered;
  return { ask, key, settings, instead, isBeyond, counts: instead === null || ask.settled.length > 0 };
}

/** A library asks for its own subject; a process for whom there is, or each name that it makes up would be a row. */
function mayAsk(policy: QuotaPolicy, counter: QuotaCounter, { onlySub }: Asker): boolean {
  const sub = counter.kind === 'limit' ? counter.originSub : (counter.of?.sub ?? '');
  if (onlySub !== null && sub !== onlySub) return false;
  return policy.hasSubject(sub) && (counter.kind === 'limit' || policy.hasKey(counter.of?.keyId ?? ''));
}

function insteadOf(policy: QuotaPolicy, { revision, onlySettles }: QuotaAsk, max: number | null): QuotaResult | null {
  if (onlySettles) return { kind: 'taken' };
  if (revision.number > policy.revision.number) return { kind: 'later', askAfterMs: unheardMs };
  return max === null ? { kind: 'none' } : null;
}
