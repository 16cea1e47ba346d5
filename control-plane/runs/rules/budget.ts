// Computes how much of a wanted amount can be spent under several bounds at once: the user's day, the run, and each run
// above it.

/** An amount of money that limits spending. All amounts are in µ¢. */
export interface Account {
  /** The user's day, the budget of a run above, or the run's own budget. */
  readonly kind: 'day' | 'ancestor' | 'run';
  readonly cap: number;
  readonly spent: number;
  /** Reserved and not settled yet. */
  readonly reserved: number;
}

export interface WantedMoney {
  readonly least: number;
  /** If other reservations may still release money, an amount below this is not accepted. Default: `least`. */
  readonly enough?: number;
  readonly most: number;
}

export type Grant =
  /**
   * `shared`: the amount is less than `most`, because other calls have reserved the missing part. They may release it
   * unspent.
   */
  | { readonly amount: number; readonly shared: boolean }
  | { readonly exhausted: Account['kind'] }
  /**
   * Too little is left now, because other calls have reserved money. If these calls release the money unspent, enough
   * is left.
   */
  | { readonly busy: Account['kind'] };

/** Returns what is left. It is below 0 if the cap was lowered below what was already spent. */
export const leftOf = ({ cap, spent, reserved }: Account): number => cap - spent - reserved;

/**
 * Returns how much can be granted: never more than `most`, and never more than what is left in any account. Other calls
 * share the account of the day and the account of a run above. If such an account has reservations, the grant takes at
 * most half of what is left in it, but it may always take `least`. If several bounds have too little, the widest is
 * named.
 */
export function grantOf(accounts: readonly Account[], { least, enough = least, most }: WantedMoney): Grant {
  if (least > 0) {
    const spent = widest(accounts.filter((account) => account.cap - account.spent < least));
    if (spent !== undefined) return { exhausted: spent };
    const busy = widest(accounts.filter((account) => leftOf(account) < least));
    if (busy !== undefined) return { busy };
  }
  const all = Math.max(0, Math.min(most, ...accounts.map(({ cap, spent }) => cap - spent)));
  const shares = accounts.map((account) => ({ account, share: Math.max(0, shareOf(account, least)) }));
  const amount = Math.min(most, ...shares.map(({ share }) => share));
  const wanting = Math.min(all, enough);
  const short = widest(shares.flatMap(({ account, share }) => (share < wanting ? [account] : [])));
  return short === undefined ? { amount, shared: amount < all } : { busy: short };
}

const shareOf = (account: Account, least: number): number => {
  const left = leftOf(account);
  const isAlone = account.kind === 'run' || account.reserved === 0;
  return isAlone ? left : Math.min(left, Math.max(least, Math.floor(left / 2)));
};

const widest = (accounts: readonly Account[]): Account['kind'] | undefined =>
  accounts.toSorted((a, b) => width[a.kind] - width[b.kind])[0]?.kind;

const width: Readonly<Record<Account['kind'], number>> = { day: 0, ancestor: 1, run: 2 };

/** Returns the spent part of a reservation, at most the whole reservation. */
export const spentOf = (reserved: number, cost: number): number => Math.min(Math.max(0, cost), reserved);
