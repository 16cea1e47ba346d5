// The ledger of one counter that several sidecars share: it records how much each holder was granted, and how much
// counts as used. `askLedger` answers one ask. It is pure and receives the time as a parameter, so that the operation,
// the tests and the model run the same code.
//
// After each grant, `charged + outstanding ≤ max` is true. Therefore no window of real time contains more than `max`
// calls, even if messages are lost, late, duplicated or reordered:
// - A grant is *outstanding* from its creation until it is settled or has expired, whether its holder received it or
//   not. The holder counts the lifetime from the time when it sent the ask, so it never uses the grant after `untilMs`.
// - When a grant is settled, its uses become *charges* at their step of one second, never at an earlier step than the
//   real use. The rest is returned. When a grant expires, all its tokens become charges at the step of `untilMs`. This
//   can admit fewer calls, but never more.
// - A charge of step c counts through step c + windowSeconds, as in the sidecar's own windows.
// - Time never goes back (`seenMs`). While the database's clock is behind an earlier value, fewer calls are admitted.
//   If the clock is set ahead, charges end early; the ledger cannot detect this.
// - Ids are never reused, not even in a row that was deleted and created again, because they start at the time in µs.
//   Therefore a settlement that is repeated, late, or sent after a deletion changes nothing.
//
// A total (the cap of a run) does not depend on time: its grants live until they are settled, and its charges are
// permanent. A grant that is recalled twice, a minute apart, and not returned is charged in full, because its holder is
// gone. If that holder was killed, the process that adopts its spool may have settled the grant before
// (`sidecar/engine/link/left-uses.ts`). A total can be charged with more than was granted, because a sidecar without a
// connection counts such a run alone. A holder that did not receive an answer asks again with the same number and
// receives the same grant again. Otherwise that grant would stay outstanding permanently.
import { bounds, type QuotaAsk, type QuotaResult } from '@tollgate/proto/contract';
import { expireGrants, recallGrants, settleGrants } from './settle.ts';
import { type CounterSettings, type CounterState, type LiveGrant, leaveMs, sumOf } from './state.ts';

export { type CounterSettings, type CounterState, freshCounter, keptUntilMs, totalSpareMs } from './state.ts';

export interface LedgerAsk extends Pick<QuotaAsk, 'number' | 'waiting' | 'onlySettles' | 'made' | 'settled'> {
  /** The holder: SHA-256 of the secret that its process shows, in hex. */
  readonly holder: string;
  /** How many other holders have calls that wait for this counter. Absent: none is known. */
  readonly othersWaiting?: number;
}

/** A holder whose grants of a counter are recalled. */
export interface RecalledHolder {
  readonly holder: string;
  /** The id of its newest grant. */
  readonly grantId: number;
}

export type LedgerOutcome =
  | {
      readonly state: CounterState;
      readonly result: QuotaResult;
      readonly recall: readonly RecalledHolder[];
    }
  /** A statement of the ask cannot be true. Nothing is changed. */
  | { readonly falseClaim: string };

/**
 * The maximum numbers of live grants, which limit the size of a row. A holder must wait when it has `ofHolder` grants
 * of the counter, or when the counter has `ofCounter` grants in all.
 */
const grantsMax = { ofHolder: 16, ofCounter: 1_000 };

/** Answers one ask. `nowMs` is the time of the database's clock, read after the ask arrived. */
export function askLedger(before: CounterState, settings: CounterSettings, ask: LedgerAsk, nowMs: number): LedgerOutcome {
  const now = Math.max(before.seenMs, Math.floor(nowMs));
  const settled = settleGrants(expireGrants(before, settings, now), settings, ask, now);
  if ('falseClaim' in settled) return settled;
  const state = withMade(settled.state, settings, ask);
  if (ask.onlySettles) return { state, result: { kind: 'taken' }, recall: [] };
  return grantOf(state, settings, ask, now);
}

/**
 * Counts the calls (`made`) that were made as far as a holder knows. They count even if a restore has set this row
 * back.
 */
function withMade(state: CounterState, settings: CounterSettings, { made }: LedgerAsk): CounterState {
  if (made === null || settings.kind === 'window' || made <= sumOf(state.charges)) return state;
  return { ...state, charges: [[0, made]] };
}

function grantOf(
  state: CounterState,
  settings: CounterSettings,
  { holder, number, waiting, othersWaiting = 0 }: LedgerAsk,
  now: number,
): LedgerOutcome {
  const others = state.grants.filter((grant) => grant.holder !== holder);
  const own = state.grants.filter((grant) => grant.holder === holder);
  const left = settings.max - sumOf(state.charges) - state.grants.reduce((sum, { tokens }) => sum + tokens, 0);
  const shared = others.length > 0 || (settings.kind === 'total' && state.users.some((user) => user !== holder));
  const unanswered = own.find(({ asked }) => asked?.number === number);
  const ageMs = settings.kind === 'window' || state.beganMs === undefined ? null : now - state.beganMs;
  if (unanswered !== undefined)
    return {
      state,
      result: {
        kind: 'grant',
        id: unanswered.id,
        tokens: unanswered.tokens,
        ttlMs: null,
        max: unanswered.asked?.max ?? settings.max,
        shared,
        ageMs,
      },
      recall: [],
    };
  // What is left belongs to the calls that wait elsewhere.
  if (othersWaiting > 0 && waiting === 0) return { state, result: laterAt(now, false), recall: [] };
  const recall = left < waiting ? recallOf(others) : [];
  const recalled = recall.length === 0 ? state : recallGrants(state, others, now);
  const crowded = own.length >= grantsMax.ofHolder || state.grants.length >= grantsMax.ofCounter;
  if (left >= 1 && !crowded) {
    const tokens = Math.min(
      left,
      Math.max(waiting, othersWaiting > 0 ? Math.floor(left / (othersWaiting + 1)) : shareOf(left, settings, recallOf(others).length)),
    );
    const { max } = settings;
    const made = { id: state.nextGrant, holder, tokens };
    const grant: LiveGrant =
      settings.kind === 'window' ? { ...made, untilMs: now + bounds.leaseMs } : { ...made, untilMs: null, asked: { number, max } };
    return {
      state: { ...recalled, nextGrant: state.nextGrant + 1, grants: [...recalled.grants, grant] },
      result: { kind: 'grant', id: grant.id, tokens, ttlMs: grant.untilMs === null ? null : bounds.leaseMs, max, shared, ageMs },
      recall,
    };
  }
  if (crowded || others.length > 0) return { state: recalled, result: laterAt(now, others.length > 0), recall };
  return { state, result: { kind: 'full', roomAfterMs: roomAfterMs(state, settings, now), shared }, recall };
}

/** The delay varies, so that sidecars that wait for one counter do not all ask again at the same time. */
const laterAt = (now: number, held: boolean): QuotaResult => ({ kind: 'later', askAfterMs: 20 + (now % 21), held });

/** Returns each holder of these grants once, with the newest of its grants. */
function recallOf(grants: readonly LiveGrant[]): readonly RecalledHolder[] {
  const newest = new Map<string, number>();
  for (const { holder, id } of grants) newest.set(holder, Math.max(id, newest.get(holder) ?? 0));
  return [...newest].map(([holder, grantId]) => ({ holder, grantId }));
}

/**
 * Returns how many calls a sidecar is granted before it needs them. The first sidecar of a run gets all that is left,
 * because most runs have only one. The first sidecar of a limit gets half of what is left. If other sidecars have
 * grants, it gets half of its share.
 */
function shareOf(left: number, { kind }: CounterSettings, others: number): number {
  if (others > 0) return Math.ceil(left / (2 * (others + 1)));
  return kind === 'total' ? left : Math.ceil(left / 2);
}

/**
 * Returns after how many ms one more call fits; null: never. This assumes that there are no other calls, and that all
 * granted tokens are used.
 */
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
