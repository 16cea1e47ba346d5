// How much of what is wanted may be spent, where several bounds hold at once: the user's day, the run, and each run above it.

/** Amounts in µ¢. */
export interface Account {
  /** The user's day, the budget of a run above, the run's own. */
  readonly kind: 'day' | 'ancestor' | 'run';
  readonly cap: number;
  readonly spent: number;
  /** Put aside and not settled yet. */
  readonly reserved: number;
}

export interface Wanted {
  readonly least: number;
  /** Less than this is not taken where more may come back from others. Without it: `least`. */
  readonly enough?: number;
  readonly most: number;
}

export type Grant =
  /** `shared`: less than `most`, and others have put aside what is missing, and may not spend it. */
  | { readonly amount: number; readonly shared: boolean }
  | { readonly exhausted: Account['kind'] }
  /** There is enough, but for what others have put aside and may not spend. */
  | { readonly busy: Account['kind'] };

/** Below 0 where the cap was lowered after it was spent. */
export const leftOf = ({ cap, spent, reserved }: Account): number => cap - spent - reserved;

/**
 * What remains everywhere, `most` at most. Of the day and of what runs above have, no more than half where others have put some of
 * it aside too, if that is enough: there are more of them. Of several bounds that have too little, the widest is named.
 */
export function grantOf(accounts: readonly Account[], { least, enough = least, most }: Wanted): Grant {
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

/** What is spent of a reservation: never more than it. */
export const spentOf = (reserved: number, cost: number): number => Math.min(Math.max(0, cost), reserved);
