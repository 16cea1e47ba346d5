// The ledger of one counter that several sidecars share: who was granted how much, and what of it counts as used.
// `askLedger` answers one ask; pure, with the time passed in, so that the operation, the tests and the model run the same.
//
// It keeps `charged + outstanding ≤ max` whenever it grants, and from that follows that no window of real time holds more
// than `max` calls, whatever is lost, late, doubled or swapped on the way:
// - A grant is *outstanding* from when it is made until it is settled or has expired, whoever heard of it. Its holder
//   counts its life from when it sent the ask, so it never uses it after `untilMs`.
// - Settled, its uses become *charges* at their step of one second, never an earlier one than that of the real use; the
//   rest returns. Expired, all its tokens do, at the step of `untilMs`: less is admitted, never more.
// - A charge of step c counts through step c + windowSeconds, as in the sidecar's own windows.
// - Time never goes back (`seenMs`): while the database's clock lags behind what it was, less is admitted. A clock that is
//   set ahead takes charges with it; that alone nothing here can see.
// - Ids never come again, not even in a row that was removed and made anew: they begin at the time, in µs. So who settles
//   twice, late, or after a removal changes nothing.
//
// A total (the cap of a run) knows no time: its grants live until they are settled, its charges for ever. It may be
// charged more than was granted, since a sidecar that nobody can answer counts such a run by itself. Who did not hear an
// answer asks again under the same number and is granted the same again, or it would be outstanding for ever.
import { bounds, type QuotaAsk, type QuotaResult } from '@tollgate/proto/contract';
import { expireGrants, settleGrants } from './settle.ts';
import { type CounterSettings, type CounterState, type LiveGrant, leaveMs, sumOf } from './state.ts';

export { type CounterSettings, type CounterState, freshCounter, keptUntilMs, totalSpareMs } from './state.ts';

export interface LedgerAsk extends Pick<QuotaAsk, 'number' | 'waiting' | 'onlySettles' | 'made' | 'settled'> {
  /** Who asks: SHA-256 of the secret that its process shows, in hex. */
  readonly holder: string;
}

export type LedgerOutcome =
  | {
      readonly state: CounterState;
      readonly result: QuotaResult;
      /** Whose grants are wanted back. */
      readonly recall: readonly string[];
    }
  /** The ask cannot be true; nothing is changed. */
  | { readonly lie: string };

/** Nobody can make a row large: who has so many grants that live, or shares the counter with so many, waits. */
const grantsMax = { ofHolder: 16, ofCounter: 1_000 };

/** `nowMs`: the database's clock, read after the ask arrived. */
export function askLedger(before: CounterState, settings: CounterSettings, ask: LedgerAsk, nowMs: number): LedgerOutcome {
  const now = Math.max(before.seenMs, Math.floor(nowMs));
  const settled = settleGrants(expireGrants(before, settings, now), settings, ask, now);
  if ('lie' in settled) return settled;
  const state = withMade(settled.state, settings, ask);
  if (ask.onlySettles) return { state, result: { kind: 'taken' }, recall: [] };
  return grantOf(state, settings, ask, now);
}

/** What a holder knows was made counts, also where this row was set back by a restore. */
function withMade(state: CounterState, settings: CounterSettings, { made }: LedgerAsk): CounterState {
  if (made === null || settings.kind === 'window' || made <= sumOf(state.charges)) return state;
  return { ...state, charges: [[0, made]] };
}

function grantOf(state: CounterState, settings: CounterSettings, { holder, number, waiting }: LedgerAsk, now: number): LedgerOutcome {
  const others = [...new Set(state.grants.map((grant) => grant.holder))].filter((one) => one !== holder);
  const own = state.grants.filter((grant) => grant.holder === holder);
  const left = settings.max - sumOf(state.charges) - state.grants.reduce((sum, { tokens }) => sum + tokens, 0);
  const shared = others.length > 0 || (settings.kind === 'total' && state.users.some((user) => user !== holder));
  const unheard = own.find(({ asked }) => asked?.number === number);
  const ageMs = settings.kind === 'window' || state.beganMs === undefined ? null : now - state.beganMs;
  if (unheard !== undefined)
    return {
      state,
      result: {
        kind: 'grant',
        id: unheard.id,
        tokens: unheard.tokens,
        ttlMs: null,
        max: unheard.asked?.max ?? settings.max,
        shared,
        ageMs,
      },
      recall: [],
    };
  const recall = left < waiting ? others : [];
  const crowded = own.length >= grantsMax.ofHolder || state.grants.length >= grantsMax.ofCounter;
  if (left >= 1 && !crowded) {
    const tokens = Math.min(left, Math.max(waiting, fairShare(left, others.length)));
    const { max } = settings;
    const made = { id: state.nextGrant, holder, tokens };
    const grant: LiveGrant =
      settings.kind === 'window' ? { ...made, untilMs: now + bounds.leaseMs } : { ...made, untilMs: null, asked: { number, max } };
    return {
      state: { ...state, nextGrant: state.nextGrant + 1, grants: [...state.grants, grant] },
      result: { kind: 'grant', id: grant.id, tokens, ttlMs: grant.untilMs === null ? null : bounds.leaseMs, max, shared, ageMs },
      recall,
    };
  }
  // Spread, so that those who wait for one counter do not come back at one time.
  if (crowded || others.length > 0) return { state, result: { kind: 'later', askAfterMs: 20 + (now % 21) }, recall };
  return { state, result: { kind: 'full', roomAfterMs: roomAfterMs(state, settings, now), shared }, recall };
}

/** Half of what is left while one sidecar has it to itself; with others, half of its part. */
const fairShare = (left: number, others: number): number => Math.ceil(left / (others === 0 ? 2 : 2 * (others + 1)));

/** Until one more would fit, if nobody uses any and all that is granted is used. */
function roomAfterMs({ charges, grants }: CounterState, settings: CounterSettings, now: number): number | null {
  if (settings.kind === 'total' || settings.max === 0) return null;
  const granted = grants.map(({ untilMs, tokens }) => [Math.floor((untilMs ?? now) / 1000), tokens] as const);
  const counted = [...charges, ...granted].toSorted(([a], [b]) => a - b);
  let held = sumOf(counted);
  for (const [step, count] of counted) {
    held -= count;
    if (held < settings.max) return Math.max(0, leaveMs(step, settings.windowSeconds) - now);
  }
  return 0;
}
