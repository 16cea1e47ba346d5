// Applies the policy to an ask before the ledger processes it.
import { digestText, type QuotaAsk, type QuotaCounter, quotaCounterKey, type QuotaResult } from '@tollgate/proto/contract';
import type { CounterSettings } from '../rules/ledger.ts';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';

export interface PlannedAsk {
  readonly ask: QuotaAsk;
  /** Key of the row: a digest of the counter. */
  readonly key: string;
  readonly settings: CounterSettings;
  /** The answer that is given instead of the ledger's; null: the ledger answers. */
  readonly instead: QuotaResult | null;
  /** The ask is for a counter that the asker is not permitted to use. */
  readonly isBeyond: boolean;
  /** Whether the ledger processes the ask. If `instead` is set, the ledger only settles the returned grants. */
  readonly counts: boolean;
}

/** The sender of an ask, with the properties that limit what it may ask for. */
export interface Asker {
  readonly keyId: string;
  /** The only subject that the asker may ask for; null: any existing subject. */
  readonly onlySub: string | null;
}

/** The delay in ms before a sidecar of another epoch asks again. Such a sidecar will soon receive another policy. */
const otherEpochMs = 200;
/**
 * The delay in ms before a sidecar asks again if it holds a newer policy than this control plane. This control plane
 * will soon receive the newer policy as well.
 */
const unpublishedMs = 30;
/**
 * The delay in ms after an ask that is not permitted. The ask can become permitted later, for example for a new member.
 */
const notYoursMs = 1_000;

export function planAsk(policy: QuotaPolicy, given: QuotaAsk, asker: Asker): PlannedAsk {
  const { counter, revision } = given;
  const ours = counter.kind === 'limit' ? policy.limitMax(counter.id) : policy.capOf(counter.agentId);
  // A sidecar may still hold an older policy with a lower limit. It must not get more calls than that policy permits,
  // because its entries name that policy.
  const max = ours === null ? null : Math.min(ours, given.max ?? ours);
  // The ledger never grants more than the limit. If a sidecar reports more waiting calls than the limit, the excess
  // would only take grants from other sidecars.
  const ask = { ...given, waiting: Math.min(given.waiting, max ?? 0) };
  const settings: CounterSettings =
    counter.kind === 'limit' ? { kind: 'window', windowSeconds: policy.windowSeconds, max: max ?? 0 } : { kind: 'total', max: max ?? 0 };
  const key = digestText(quotaCounterKey(counter));
  // The grants of this sidecar belong to another database, or to a time after the backup that was restored. Therefore
  // the ledger does not process the ask.
  if (revision.epoch !== policy.revision.epoch)
    return { ask, key, settings, instead: { kind: 'later', askAfterMs: otherEpochMs, held: false }, isBeyond: false, counts: false };
  const answered = insteadOf(policy, ask, max);
  const isBeyond = answered === null && !mayAsk(policy, counter, asker);
  const instead: QuotaResult | null = isBeyond ? { kind: 'later', askAfterMs: notYoursMs, held: false } : answered;
  return { ask, key, settings, instead, isBeyond, counts: instead === null || ask.settled.length > 0 };
}

/**
 * Whether the asker may ask for this counter. A library may ask only for its own subject. A process may ask only for
 * existing subjects, because otherwise each invented name would create a row.
 */
function mayAsk(policy: QuotaPolicy, counter: QuotaCounter, { onlySub }: Asker): boolean {
  const sub = counter.kind === 'limit' ? counter.originSub : (counter.of?.sub ?? '');
  if (onlySub !== null && sub !== onlySub) return false;
  return policy.hasSubject(sub) && (counter.kind === 'limit' || policy.hasKey(counter.of?.keyId ?? ''));
}

function insteadOf(policy: QuotaPolicy, { revision, onlySettles }: QuotaAsk, max: number | null): QuotaResult | null {
  if (onlySettles) return { kind: 'taken' };
  if (revision.number > policy.revision.number) return { kind: 'later', askAfterMs: unpublishedMs, held: false };
  return max === null ? { kind: 'none' } : null;
}
