// Applies the policy to an ask before the ledger processes it.
import { digestText, type QuotaAsk, type QuotaCounter, quotaCounterKey, type QuotaResult } from '@tollgate/proto/contract';
import type { CounterSettings } from '../rules/ledger.ts';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';

export interface PlannedAsk {
  readonly ask: QuotaAsk;
  /** Key of the row: a digest of the counter. */
  readonly key: string;
  readonly settings: CounterSettings;
  /** The answer that replaces that of the ledger; null: the ledger's answer is used. */
  readonly instead: QuotaResult | null;
  /** The ask is for a counter that the asker is not permitted to use. */
  readonly isBeyond: boolean;
  /** Whether the ledger is asked. If `instead` is set, the ledger only settles. */
  readonly counts: boolean;
}

/** The asker, with the properties that limit what it may ask for. */
export interface Asker {
  readonly keyId: string;
  /** The only subject that it may ask for; null: any existing subject. */
  readonly onlySub: string | null;
}

/** A sidecar of another epoch will soon receive another policy. */
const otherEpochMs = 200;
/** The sidecar holds a newer policy. This control plane will receive it as well. */
const unpublishedMs = 30;
/** An ask that is not permitted now can become permitted later, for example for a new member. */
const notYoursMs = 1_000;

export function planAsk(policy: QuotaPolicy, given: QuotaAsk, asker: Asker): PlannedAsk {
  const { counter, revision } = given;
  const ours = counter.kind === 'limit' ? policy.limitMax(counter.id) : policy.capOf(counter.agentId);
  // A sidecar that has not yet received a raised limit must not get more calls than the policy that its entries name
  // permits.
  const max = ours === null ? null : Math.min(ours, given.max ?? ours);
  // The ledger never grants more than the limit. A sidecar that reports more waiting calls would only take grants from
  // others.
  const ask = { ...given, waiting: Math.min(given.waiting, max ?? 0) };
  const settings: CounterSettings =
    counter.kind === 'limit' ? { kind: 'window', windowSeconds: policy.windowSeconds, max: max ?? 0 } : { kind: 'total', max: max ?? 0 };
  const key = digestText(quotaCounterKey(counter));
  // Its grants belong to another database, or to a time that a restored backup does not know.
  if (revision.epoch !== policy.revision.epoch)
    return { ask, key, settings, instead: { kind: 'later', askAfterMs: otherEpochMs }, isBeyond: false, counts: false };
  const answered = insteadOf(policy, ask, max);
  const isBeyond = answered === null && !mayAsk(policy, counter, asker);
  const instead: QuotaResult | null = isBeyond ? { kind: 'later', askAfterMs: notYoursMs } : answered;
  return { ask, key, settings, instead, isBeyond, counts: instead === null || ask.settled.length > 0 };
}

/**
 * A library may ask for its own subject. A process may ask only for existing subjects; otherwise each invented name
 * would create a row.
 */
function mayAsk(policy: QuotaPolicy, counter: QuotaCounter, { onlySub }: Asker): boolean {
  const sub = counter.kind === 'limit' ? counter.originSub : (counter.of?.sub ?? '');
  if (onlySub !== null && sub !== onlySub) return false;
  return policy.hasSubject(sub) && (counter.kind === 'limit' || policy.hasKey(counter.of?.keyId ?? ''));
}

function insteadOf(policy: QuotaPolicy, { revision, onlySettles }: QuotaAsk, max: number | null): QuotaResult | null {
  if (onlySettles) return { kind: 'taken' };
  if (revision.number > policy.revision.number) return { kind: 'later', askAfterMs: unpublishedMs };
  return max === null ? { kind: 'none' } : null;
}
