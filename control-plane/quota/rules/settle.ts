// Ends grants: they expire, or their holder returns them.
import { bounds, type QuotaAsk, type SettledGrant } from '@tollgate/proto/contract';
import { type Charges, type CounterSettings, type CounterState, type LiveGrant, chargedStep, stepOf } from './state.ts';

/**
 * A holder that has not returned a recalled grant after `first` is recalled once more, because the recall may have been
 * lost. If it does not return the grant within `again`, it is gone, and has used all of it.
 */
const goneMs = { first: 60_000, again: 5_000 };

/**
 * Returns the counter at `now`: grants that have expired or whose holders are gone are charged in full, and charges that
 * are outside of every window are removed.
 */
export function expireGrants(state: CounterState, settings: CounterSettings, now: number): CounterState {
  const ended = state.grants.filter(
    ({ untilMs, recalledAgainMs = Number.POSITIVE_INFINITY }) => now >= (untilMs ?? recalledAgainMs + goneMs.again),
  );
  const late: Charges = ended.map(({ untilMs, tokens }) => [stepOf(untilMs ?? now), tokens]);
  const charges = chargeTo(state.charges, settings, late);
  return {
    ...state,
    seenMs: now,
    grants: state.grants.filter((grant) => !ended.includes(grant)),
    users: settings.kind === 'total' ? ended.reduce((users, { holder }) => withUser(users, holder), state.users) : state.users,
    charges: settings.kind === 'total' ? charges : charges.filter(([step]) => step + settings.windowSeconds >= stepOf(now)),
  };
}

/** Notes the recall of these grants at `now`. Grants that expire are not recorded, because they end by themselves. */
export function recallGrants(state: CounterState, recalled: readonly LiveGrant[], now: number): CounterState {
  const noted = (grant: LiveGrant): LiveGrant => {
    const { untilMs, recalledMs, recalledAgainMs } = grant;
    if (untilMs !== null || recalledAgainMs !== undefined || !recalled.includes(grant)) return grant;
    if (recalledMs === undefined) return { ...grant, recalledMs: now };
    return now < recalledMs + goneMs.first ? grant : { ...grant, recalledAgainMs: now };
  };
  return { ...state, grants: state.grants.map(noted) };
}

interface GrantSettlement extends Pick<QuotaAsk, 'settled'> {
  readonly holder: string;
}

/**
 * Settles the grants that a holder returns. Each grant ends only once: the settlement of a grant that was already
 * settled, or that has expired, changes nothing.
 */
export function settleGrants(
  before: CounterState,
  settings: CounterSettings,
  { holder, settled }: GrantSettlement,
  now: number,
): { readonly state: CounterState } | { readonly falseClaim: string } {
  let state = before;
  for (const one of settled) {
    if (one.grantId >= state.nextGrant) return { falseClaim: `grant ${one.grantId} was never made` };
    const grant = state.grants.find(({ id }) => id === one.grantId);
    if (grant === undefined) continue;
    if (grant.holder !== holder) return { falseClaim: `grant ${one.grantId} is another sidecar's` };
    const used = one.used.reduce((sum, { count }) => sum + count, 0);
    if (settings.kind === 'window' && used > grant.tokens)
      return { falseClaim: `${used} calls of grant ${one.grantId} were reported as used, but it had ${grant.tokens}` };
    state = {
      ...state,
      grants: state.grants.filter((other) => other !== grant),
      charges: chargeTo(state.charges, settings, usesOf(one, grant, now)),
      users: used > 0 && settings.kind === 'total' ? withUser(state.users, holder) : state.users,
    };
  }
  return { state };
}

/**
 * Returns the charges for a settled grant. Each use is charged at its step or at a later one, within the lifetime of
 * the grant.
 */
function usesOf({ used }: SettledGrant, { untilMs }: LiveGrant, now: number): Charges {
  if (untilMs === null) return used.map(({ count }) => [0, count]);
  return used.map(({ ageMs, count }) => [stepOf(Math.max(untilMs - bounds.leaseMs, Math.min(now - ageMs, untilMs))), count]);
}

const withUser = (users: readonly string[], holder: string): readonly string[] =>
  users.includes(holder) || users.length >= 2 ? users : [...users, holder];

function chargeTo(charges: Charges, settings: CounterSettings, more: Charges): Charges {
  if (more.length === 0) return charges;
  const byStep = new Map(charges);
  for (const [at, count] of more) {
    const step = chargedStep(at, settings);
    if (count > 0) byStep.set(step, (byStep.get(step) ?? 0) + count);
  }
  return [...byStep].toSorted(([a], [b]) => a - b);
}
