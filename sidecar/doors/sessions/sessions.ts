// Finds the run of a call, for all endpoints of the process. A client names a session, not a run. Calls with the same
// key, user, session and agent chain belong to one run, even if their client or tier differs. So caps and delegated
// tools apply across requests.
//
// A run with a named session may also use other processes. Its cap of tool calls is then shared, and the ledger counts
// the calls. If no session is named, the calls of a key and user in this process are one run, counted only here. Such a
// run ends after its maximum duration, or after ten minutes without a call.
//
// States of a session: active → resting (after a minute without a call) → forgotten (after ten minutes, or earlier if
// its key exceeds the memory budget, see `budget.ts`). The ledger has the usage of a resting session. The process keeps
// only data that is stored nowhere else: calls that wait for their outcome, and the numbers of redaction marks.
// Delegated tools (`narrowings.ts`) and costs (`session-costs.ts`) are kept longer than the session.
import { type RunOf, runIdOf, type Tier } from '@tollgate/proto/contract';
import { bindCaller } from '../../engine/decide/bind.ts';
import type { Index } from '../../engine/decide/build-index.ts';
import type { Claim, Identity } from '../../engine/decide/call.ts';
import { refuse } from '../../engine/decide/refusal.ts';
import type { Governing } from '../../engine/govern/governing.ts';
import { callerOf, type GovernedRun, heldBy, resumeRun, stopOf } from '../../engine/govern/run.ts';
import type { CostVerdict } from '../../engine/limits/costs.ts';
import { createRunUsage, type RunUsage } from '../../engine/limits/usage.ts';
import { createNumbers, type Numbers } from '../../engine/redact/index.ts';
import type { Budget, Share } from '../entrance/budget.ts';
import { createNarrowings, type Narrowings } from './narrowings.ts';
import type { NumberFloors } from './number-floors.ts';
import { PendingCalls } from './pending-calls.ts';
import { createSessionCosts, type SessionCosts, type SpendingRun } from './session-costs.ts';
import { cleanupMs, SessionMemory } from './session-memory.ts';
import { SmallMap } from './small-map.ts';

export interface Session {
  readonly run: GovernedRun;
  readonly pending: PendingCalls;
}

/** A client's claims about the calling agent. */
export interface CallerClaim {
  readonly sessionId: string;
  /** The agents from the root to the caller. The caller is last. */
  readonly chain: readonly string[];
  readonly delegatedTools: readonly string[] | null;
  readonly tier: Tier;
  readonly client: { readonly name: string; readonly version?: string };
}

export interface Sessions {
  /** Returns the session of a call under the current snapshot. Throws if there is no snapshot. */
  find(identity: Identity, claimed: CallerClaim): Session;
  /**
   * Reserves `cents` of the budget of a run, or at least `least`. The client names the session, and the cost by `id`.
   * Throws if there is no snapshot.
   */
  reserveCost(
    identity: Identity,
    claimed: CallerClaim,
    cost: { readonly id: string; readonly cents: number; readonly least: number },
  ): CostVerdict;
  /** Counts what was spent of a reservation. */
  settleCost(identity: Identity, claimed: CallerClaim, cost: { readonly id: string; readonly cents: number }): CostVerdict;
}

const restMs = 60_000;
/** How long a session with delegated tools is reused without a new look-up, in ms. */
const narrowedMs = 3_600_000;
const keptMs = 600_000;
/** The maximum number of sessions in one cleanup, so that it does not take long. */
const cleanupMax = 500;
/** The maximum number of agent chains in one session. */
const usagesMax = 64;
/** Estimates of the bytes that V8 needs, without the names. */
const bytesOf = { session: 700, variant: 2_500, usage: 2_000 };

/** A session for one client, tier, agent chain and user of the machine. */
interface Variant {
  readonly session: Session;
  /** Identifies the snapshot of the last look-up, to detect when another snapshot has replaced it. */
  readonly policy: symbol;
  /** The value of `Place.narrowed` when the variant was created. */
  readonly narrowed: number;
  /**
   * From this time (by the sidecar's clock) the next call looks the session up again: its run has ended, or its
   * delegated tools must be marked as used. Infinity: never.
   */
  endsAt: number;
}

/** A session of one key and user. */
interface Place {
  readonly name: string;
  /** True: the client named the session, so its calls are in the ledger. */
  readonly isNamed: boolean;
  readonly variants: SmallMap<Variant>;
  /** The usage of each run, by agent chain. */
  readonly usages: SmallMap<RunUsage>;
  numbers: Numbers | null;
  /** Counts the bytes that parts of the session take. Null: no part needs it yet. */
  onGrown: ((bytes: number) => void) | null;
  /** Incremented when an agent of the session gets fewer tools. */
  narrowed: number;
  usedAt: number;
  bytes: number;
  isGone: boolean;
}

/** The mark of each snapshot. A session keeps only the mark, so it does not keep an old snapshot in memory. */
const marks = new WeakMap<Index, symbol>();

function markOf(index: Index): symbol {
  const known = marks.get(index);
  if (known !== undefined) return known;
  const mark = Symbol();
  marks.set(index, mark);
  return mark;
}

/** `memory` may be shared with the sessions of other workspaces. */
export function createSessions(governing: Pick<Governing, 'counters' | 'govern'>, memory: SessionMemory): Sessions {
  const state = new SessionsState(governing, memory);
  return {
    find: (identity, claimed) => findSession(state, identity, claimed),
    reserveCost: (identity, claimed, { id, ...amount }) => {
      const { costs, run, now } = findSpending(state, identity, claimed);
      return costs.reserve(run, id, amount, now);
    },
    settleCost: (identity, claimed, { id, cents }) => {
      const { costs, run, now } = findSpending(state, identity, claimed);
      return costs.settle(run, id, cents, now);
    },
  };
}

/** The state that the functions below use. They run for each call, and as private methods they were slower. */
class SessionsState {
  readonly counters: Governing['counters'];
  readonly govern: Governing['govern'];
  readonly memory: SessionMemory;
  readonly shares = new Map<string, KeyShare>();
  readonly cleanup: (now: number) => boolean;

  constructor({ counters, govern }: Pick<Governing, 'counters' | 'govern'>, memory: SessionMemory) {
    this.counters = counters;
    this.govern = govern;
    this.memory = memory;
    this.cleanup = cleanupIn(this.shares, memory.budget);
  }
}

function findSession(state: SessionsState, identity: Identity, claimed: CallerClaim): Session {
  const { sessionId, chain, delegatedTools, tier, client } = claimed;
  const index = heldBy(state.govern.cell);
  const policy = markOf(index);
  const now = state.govern.clock.now();
  state.memory.cleanUp(now);
  const share = shareOf(state, identity.keyId);
  const place = share.enter(placeName(identity, sessionId), sessionId !== identity.keyId, now);
  // The line break is a safe separator, because none of these values contains one.
  const askedKey = `${tier}\n${client.name}\n${client.version ?? ''}\n${identity.peerUid ?? ''}\n${chain.join('\n')}`;
  const known = place.variants.get(askedKey);
  const isKnown = known !== undefined && known.policy === policy && known.narrowed === place.narrowed && now < known.endsAt;
  if (isKnown && delegatedTools === null) return known.session;

  const asked: Claim = { identity, hops: chain.map((agent) => ({ tier, client: client.name, agent })) };
  const caller = bindCaller(index, asked);
  const { agents, hops, isNarrowed } = narrowed(share, place, asked, { caller, delegatedTools, now });
  const of: RunOf = { keyId: identity.keyId, sub: identity.sub, sessionId, agents };
  const { profile } = caller;
  const maxDurationMs = profile?.maxDurationMs ?? Number.POSITIVE_INFINITY;
  const usage = usageOf(state, share, place, { of, agentId: profile?.id ?? null, maxDurationMs });
  const numbers = numbersOf(state.memory, share, place);
  // A session with unchanged claims is reused, with its waiting calls and its computed state.
  const isNarrowedBy = hops.some((hop) => 'handedTools' in hop);
  // The claim of the caller is equal to `asked`, and all sessions of the caller share it.
  const claim = isNarrowedBy ? { identity, hops } : caller.claim;
  const isSame = known !== undefined && known.session.run.usage === usage && isSameClaim(known.session.run.claim, claim);
  const facts = { sessionId, client, runChain: chain.map(() => sessionId), chainClaimed: chain.length > 1 };
  if (!isNarrowed)
    return {
      run: resumeRun(state.govern.cell, { facts, claim, usage, numbers, barred: sessionsFull }),
      pending: new PendingCalls(),
    };
  const session: Session = isSame
    ? known.session
    : {
        run: resumeRun(state.govern.cell, { facts, claim, usage, numbers }, isNarrowedBy ? undefined : caller),
        pending: known?.session.pending ?? new PendingCalls(growOf(share, place)),
      };
  // A variant with delegated tools expires after an hour. Then the next look-up marks these tools as used.
  const endsAt = Math.min(endOf(place, usage, maxDurationMs), isNarrowedBy ? now + narrowedMs : Number.POSITIVE_INFINITY);
  place.variants.set(askedKey, { session, policy, narrowed: place.narrowed, endsAt });
  if (known === undefined) share.grown(place, bytesOf.variant + 8 * askedKey.length);
  return session;
}

interface Spending {
  readonly costs: SessionCosts;
  readonly run: SpendingRun;
  readonly now: number;
}

function findSpending(state: SessionsState, identity: Identity, claimed: CallerClaim): Spending {
  const { run } = findSession(state, identity, claimed);
  const now = state.govern.clock.now();
  const share = shareOf(state, identity.keyId);
  const place = share.enter(placeName(identity, claimed.sessionId), true, now);
  return {
    costs: share.costs,
    now,
    run: {
      place: place.name,
      agents: callerOf(run).hops.map(({ profile, name }) => ({ name: profile?.id ?? name, cap: profile?.maxBudgetCents ?? null })),
      usageOf: (agents) => place.usages.get(agents),
      barred: () => stopOf(state.govern, run),
    },
  };
}

const placeName = ({ sub }: Identity, sessionId: string): string => `${sub}\n${sessionId}`;

function shareOf({ shares, memory, cleanup }: SessionsState, keyId: string): KeyShare {
  const known = shares.get(keyId);
  if (known !== undefined) return known;
  const share = new KeyShare(memory.budget, memory.floors, createNarrowings(memory.narrowings), createSessionCosts(memory.costs));
  shares.set(keyId, share);
  memory.budget.add(share);
  memory.addCleanup(cleanup);
  return share;
}

/**
 * Stores the tools that were delegated to the caller. Returns the hops, each with the tools that were delegated to it.
 */
function narrowed(
  { narrowings }: KeyShare,
  place: Place,
  asked: Claim,
  { caller, delegatedTools, now }: { caller: ReturnType<typeof bindCaller>; delegatedTools: readonly string[] | null; now: number },
): { readonly agents: string[]; readonly hops: Claim['hops']; readonly isNarrowed: boolean } {
  // Agents are identified by their registration and not by the name in the claim, for two reasons. The id and the name
  // of an agent mean the same agent. And a caller does not choose the agent that its key pins.
  const agents = caller.hops.map(({ profile: registered, name }) => registered?.id ?? name);
  const isNarrowed = delegatedTools === null || narrowings.narrow(place.name, agents.at(-1) ?? '', delegatedTools, now);
  if (delegatedTools !== null && isNarrowed) place.narrowed += 1;
  const hops = asked.hops.map((hop, at) => {
    const handedTools = narrowings.find(place.name, agents[at] ?? '', now);
    return handedTools === undefined ? hop : { ...hop, handedTools };
  });
  return { agents, hops, isNarrowed };
}

function usageOf({ counters, govern }: SessionsState, share: KeyShare, place: Place, { of, agentId, maxDurationMs }: UsageOf): RunUsage {
  const now = govern.clock.now();
  const key = of.agents.join('\n');
  const known = place.usages.get(key);
  if (known !== undefined && now < endOf(place, known, maxDurationMs)) return known;
  const shared = agentId === null || !place.isNamed ? null : { id: runIdOf(of), agentId, of };
  const usage = createRunUsage(counters, { originSub: of.sub, shared, startedAt: now });
  if (place.isNamed) usage.addCost(share.costs.spent(place.name, key, now));
  place.usages.set(key, usage);
  if (known === undefined) share.grown(place, bytesOf.usage + 4 * key.length);
  const { oldest } = place.usages;
  if (oldest !== undefined && place.usages.size > usagesMax) share.dropUsage(place, oldest);
  return usage;
}

const numbersOf = (memory: SessionMemory, share: KeyShare, place: Place): Numbers =>
  (place.numbers ??= createNumbers({
    above: memory.floors.of(place.name),
    onGrown: growOf(share, place),
  }));

/** All parts of a session share this function. */
const growOf = (share: KeyShare, place: Place): ((bytes: number) => void) => (place.onGrown ??= (bytes) => share.grown(place, bytes));

/**
 * Returns the cleanup of these sessions. A control plane may govern a workspace only temporarily, but the memory budget
 * keeps the cleanup function longer than that. Therefore the function references only the sessions and no policy.
 */
const cleanupIn =
  (shares: Map<string, KeyShare>, budget: Budget) =>
  (now: number): boolean => {
    for (const [keyId, share] of shares) {
      share.cleanUp(now);
      if (!share.isEmpty) continue;
      shares.delete(keyId);
      budget.remove(share);
    }
    return shares.size > 0;
  };

interface UsageOf {
  readonly of: RunOf;
  readonly agentId: string | null;
  readonly maxDurationMs: number;
}

/**
 * Returns when a run ends. A run without a named session ends after its maximum duration, and then the next one begins.
 * Infinity: never.
 */
const endOf = ({ isNamed }: Place, { startedAt }: RunUsage, maxDurationMs: number): number =>
  isNamed ? Number.POSITIVE_INFINITY : startedAt + maxDurationMs;

const sessionsFull = refuse(
  'sessions_full',
  'the key has reached its maximum number of sessions with delegated_tools; the tools of a session are kept for one day after their last use',
);

const isSameClaim = (a: Claim, b: Claim): boolean =>
  a.hops.length === b.hops.length &&
  a.hops.every(({ tier, client, agent, handedTools }, at) => {
    const other = b.hops[at];
    return (
      other !== undefined && tier === other.tier && client === other.client && agent === other.agent && handedTools === other.handedTools
    );
  });

/** The sessions of one key. Each map has the least recently used session first. */
class KeyShare implements Share {
  readonly narrowings: Narrowings;
  readonly costs: SessionCosts;
  bytes = 0;
  readonly #active = new Map<string, Place>();
  readonly #resting = new Map<string, Place>();
  readonly #budget: Budget;
  readonly #floors: NumberFloors;

  constructor(budget: Budget, floors: NumberFloors, narrowings: Narrowings, costs: SessionCosts) {
    this.#budget = budget;
    this.#floors = floors;
    this.narrowings = narrowings;
    this.costs = costs;
  }

  get isEmpty(): boolean {
    return this.#active.size === 0 && this.#resting.size === 0 && this.narrowings.isEmpty && this.costs.isEmpty;
  }

  /** Returns the session and marks it as used. */
  enter(name: string, isNamed: boolean, now: number): Place {
    const active = this.#active.get(name);
    if (active !== undefined) {
      // The order need not be exact, so the position is not updated at every call.
      if (now - active.usedAt > cleanupMs) this.#activate(active, now);
      return active;
    }
    const place = this.#resting.get(name) ?? makePlace(name, isNamed, now);
    if (!this.#resting.delete(name)) this.grown(place, bytesOf.session + 6 * name.length);
    this.#activate(place, now);
    return place;
  }

  grown(place: Place, bytes: number): void {
    if (place.isGone) return;
    place.bytes += bytes;
    this.bytes += bytes;
    this.#budget.changed(bytes);
  }

  get canForget(): boolean {
    if (this.#resting.size > 0 || this.#active.size > 1) return true;
    const [inUse] = this.#active.values();
    return inUse !== undefined && inUse.variants.size > 1;
  }

  forgetOldest(): void {
    const [oldest] = this.#resting.size > 0 ? this.#resting.values() : this.#active.values();
    if (oldest === undefined) return;
    if (this.#resting.size > 0 || this.#active.size > 1) return this.#forget(oldest);
    // Only the session in use is left, so one of its variants is removed.
    const { oldest: variant } = oldest.variants;
    if (variant !== undefined) this.#dropVariant(oldest, variant);
  }

  dropUsage(place: Place, key: string): void {
    place.usages.get(key)?.shared?.release();
    place.usages.delete(key);
    this.grown(place, -(bytesOf.usage + 4 * key.length));
  }

  #dropVariant(place: Place, key: string): void {
    const pendingBytes = place.variants.get(key)?.session.pending.giveUp() ?? 0;
    place.variants.delete(key);
    this.grown(place, -(bytesOf.variant + 8 * key.length + pendingBytes));
  }

  cleanUp(now: number): void {
    let looks = 0;
    for (const place of this.#active.values()) {
      if (now - place.usedAt < restMs || (looks += 1) > cleanupMax) break;
      this.#rest(place, now);
    }
    looks = 0;
    for (const place of this.#resting.values()) {
      if (now - place.usedAt < keptMs || (looks += 1) > cleanupMax) break;
      this.#forget(place);
    }
  }

  #activate(place: Place, now: number): void {
    place.usedAt = now;
    this.#active.delete(place.name);
    this.#active.set(place.name, place);
  }

  /** Makes a session rest. Only data that is stored nowhere else is kept. */
  #rest(place: Place, now: number): void {
    this.#active.delete(place.name);
    for (const [key, variant] of place.variants.entries()) {
      if (variant.session.pending.isEmpty) this.#dropVariant(place, key);
      // The next call looks up its run again, and the waiting calls are kept.
      else variant.endsAt = Number.NEGATIVE_INFINITY;
    }
    if (place.isNamed)
      for (const [key, { shared }] of place.usages.entries()) if (shared === null || shared.isSettled(now)) this.dropUsage(place, key);
    const isSpent = place.variants.size === 0 && place.usages.size === 0 && (place.numbers === null || place.numbers.highest === 0);
    if (isSpent) this.#forget(place);
    else this.#resting.set(place.name, place);
  }

  #forget(place: Place): void {
    this.#active.delete(place.name);
    this.#resting.delete(place.name);
    for (const [, { shared }] of place.usages.entries()) shared?.release();
    if (place.numbers !== null && place.numbers.highest > 0) this.#floors.raise(place.name, place.numbers.highest);
    this.grown(place, -place.bytes);
    place.isGone = true;
    // Requests that are in progress or wait for a result may still use these numbers. No budget counts the numbers any
    // more, so no more of them are stored.
    place.numbers?.keepNoMore();
  }
}

const makePlace = (name: string, isNamed: boolean, now: number): Place => ({
  name,
  isNamed,
  variants: new SmallMap(),
  usages: new SmallMap(),
  numbers: null,
  onGrown: null,
  narrowed: 0,
  usedAt: now,
  bytes: 0,
  isGone: false,
});
