// Counts what runs spend whose clients reserve and settle costs by requests. A reservation has the client's own id, so
// a request that is sent again counts once.
//
// States of an id: unknown → reserved → settled. A reserved id counts until it is settled, also if its client has died.
// An unknown id may be settled: its reservation may have been made before this process started, and the money is spent.
// The ids that were settled last are kept, so that a repeated request is recognised.
//
// Amounts are kept for a day after their last use, even if memory is short, because a caller could otherwise get a new
// budget by sending many requests. A caller that needs more than the memory allows is refused. The parts of a run are
// one account for each agent of its chain, so that an agent spends from its own budget and from those above it.
import { digestText, type FairMemory } from '@tollgate/proto/contract';
import type { Decision } from '../../engine/decide/decision.ts';
import { type CostDenial, type CostReservation, type CostVerdict, type Purse, reserveIn, settleIn } from '../../engine/limits/costs.ts';
import { microcents } from '../../engine/limits/usage.ts';

/** A run whose costs are counted. */
export interface SpendingRun {
  /** The session, among those of its key. */
  readonly place: string;
  /** The agents of the chain, from the root, with their caps in cents. Null: an agent has no cap. */
  readonly agents: readonly { readonly name: string; readonly cap: number | null }[];
  /** The usage of the run of these agents, if it is in memory. Tool calls are decided by it. */
  readonly usageOf: (agents: string) => Purse['usage'] | undefined;
  /** Returns the denial if the run may do nothing at the moment, otherwise null. */
  readonly barred: () => Decision | null;
}

export interface SessionCosts {
  reserve(run: SpendingRun, id: string, amount: { readonly cents: number; readonly least: number }, now: number): CostVerdict;
  /** Counts what was spent. The verdict names the cents that were counted for this id. */
  settle(run: SpendingRun, id: string, cents: number, now: number): CostVerdict;
  /** Returns the cents that a run has spent. */
  spent(place: string, agents: string, now: number): number;
  /** True: no amount is stored. */
  readonly isEmpty: boolean;
}

interface AskedReservation {
  readonly asked: number;
  readonly reservation: CostReservation;
}

interface Account {
  readonly key: string;
  spentMicrocents: number;
  held: number;
  usedAt: number;
  readonly reserved: Map<string, AskedReservation>;
  /** The cents of the ids that were settled last, oldest first. */
  readonly settled: Map<string, number>;
}

const keptMs = 24 * 3_600_000;
/** How many settled ids of a run are kept. */
const settledMax = 100;
/** Estimated memory in bytes: a digest, two maps and an object; an object and a map entry. */
const bytesOf = { account: 500, id: 200 };

interface Accounts {
  readonly accounts: readonly Account[];
  readonly own: Account;
  readonly purse: Purse;
}

/** Creates the store of the costs of one key. */
export function createSessionCosts(memory: FairMemory<object>): SessionCosts {
  // The least recently used is first.
  const all = new Map<string, Account>();
  const owner = {};

  const keyOf = (place: string, agents: string): string => digestText(JSON.stringify([place, agents]));
  const bytesOfId = (id: string): number => bytesOf.id + 2 * id.length;
  const forgetOld = (now: number): void => {
    for (const [key, { reserved, settled, usedAt }] of all) {
      if (now - usedAt < keptMs) return;
      all.delete(key);
      memory.give(owner, bytesOf.account + [...reserved.keys(), ...settled.keys()].reduce((sum, id) => sum + bytesOfId(id), 0));
    }
  };
  const keep = (account: Account, now: number): void => {
    account.usedAt = now;
    all.delete(account.key);
    all.set(account.key, account);
  };
  const noteSettled = ({ reserved, settled }: Account, id: string, cents: number): void => {
    reserved.delete(id);
    settled.set(id, cents);
    const [oldest] = settled.keys();
    if (oldest === undefined || settled.size <= settledMax) return;
    settled.delete(oldest);
    memory.give(owner, bytesOfId(oldest));
  };

  /** Returns the accounts of a run, the root's first and its own last. A new account is not stored yet. */
  function accountsOf({ place, agents, usageOf }: SpendingRun, now: number): Accounts {
    forgetOld(now);
    let above: Purse | null = null;
    const names: string[] = [];
    const accounts: Account[] = [];
    let last: Omit<Accounts, 'accounts'> | undefined;
    for (const { name, cap } of agents) {
      names.push(name);
      const chain = names.join('\n');
      const key = keyOf(place, chain);
      const usage = usageOf(chain);
      const spentMicrocents = Math.round((usage?.spentCents ?? 0) * microcents);
      const own: Account = all.get(key) ?? { key, spentMicrocents, held: 0, usedAt: now, reserved: new Map(), settled: new Map() };
      accounts.push(own);
      above = purseOf(own, usage, cap, above);
      last = { own, purse: above };
    }
    if (last === undefined) throw new Error('a run must have at least one agent, the calling agent');
    return { accounts, ...last };
  }

  /** Returns the bytes that the id and the new accounts will take. */
  const bytesNeeded = (accounts: readonly Account[], id: string): number =>
    bytesOfId(id) + bytesOf.account * accounts.filter(({ key }) => !all.has(key)).length;

  return {
    get isEmpty() {
      return all.size === 0;
    },
    spent: (place, agents, now) => {
      forgetOld(now);
      return all.size === 0 ? 0 : (all.get(keyOf(place, agents))?.spentMicrocents ?? 0) / microcents;
    },
    reserve: (run, id, { cents, least }, now) => {
      const { accounts, own, purse } = accountsOf(run, now);
      if (own.settled.has(id)) return wrong(`cost_id ${JSON.stringify(id)} is settled already`);
      const known = own.reserved.get(id);
      if (known !== undefined) return known.asked === cents ? known.reservation : wrong(`cost_id ${JSON.stringify(id)} has another amount`);
      const bytes = bytesNeeded(accounts, id);
      if (!memory.has(owner, bytes)) return full;
      const verdict = reserveIn(purse, run.barred, { cents, least, what: 'a reservation' });
      if (!verdict.allowed) return verdict;
      memory.take(owner, bytes);
      for (const account of accounts) keep(account, now);
      own.reserved.set(id, { asked: cents, reservation: verdict });
      return verdict;
    },
    settle: (run, id, cents, now) => {
      const { accounts, own, purse } = accountsOf(run, now);
      const settled = own.settled.get(id);
      if (settled !== undefined && settled !== cents)
        return wrong(`cost_id ${JSON.stringify(id)} is settled already, with ${settled} cents`);
      if (settled !== undefined) return { allowed: true, cents };
      const reserved = own.reserved.get(id)?.reservation;
      if (reserved === undefined && !memory.take(owner, bytesNeeded(accounts, id))) return full;
      for (const account of accounts) keep(account, now);
      settleIn(purse, reserved?.cents ?? 0, cents);
      noteSettled(own, id, cents);
      return { allowed: true, cents };
    },
  };
}

const purseOf = (account: Account, usage: Purse['usage'] | undefined, cap: number | null, above: Purse | null): Purse => ({
  usage: {
    get spentCents() {
      return account.spentMicrocents / microcents;
    },
    addCost: (cents) => {
      account.spentMicrocents += Math.round(cents * microcents);
      usage?.addCost(cents);
    },
    end: (reason) => usage?.end(reason),
  },
  cap: () => cap,
  above,
  get held() {
    return account.held;
  },
  set held(microcentsHeld) {
    account.held = microcentsHeld;
  },
});

const wrong = (words: string): CostDenial => ({
  allowed: false,
  code: 'call_malformed',
  reason: `call_malformed: ${words}`,
  stopped: null,
});

const full: CostDenial = {
  allowed: false,
  code: 'sessions_full',
  reason: 'sessions_full: the key has reached its maximum number of sessions and reservations with costs; they are kept for one day',
  stopped: null,
};
