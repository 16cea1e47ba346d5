// Limits the memory for the encoded views of all workspaces together. Without this limit, 200 views of one large policy
// would use all memory of a process. The oldest encoded data is evicted first, and is encoded again at the next
// request.

export interface EncodedBudget {
  /**
   * Records how many bytes `owner` holds now. If the sum is above the maximum, other owners are evicted, beginning with
   * the one that has not changed for the longest time.
   */
  keep(owner: EncodedOwner, bytes: number): void;
  /** Records that `owner` no longer holds any data. */
  drop(owner: EncodedOwner): void;
}

export interface EncodedOwner {
  letGo(): void;
}

export function createEncodedBudget(bytesMax: number): EncodedBudget {
  const held = new Map<EncodedOwner, number>();
  let total = 0;
  const drop = (owner: EncodedOwner): void => {
    total -= held.get(owner) ?? 0;
    held.delete(owner);
  };
  return {
    keep: (owner, bytes) => {
      drop(owner);
      held.set(owner, bytes);
      total += bytes;
      for (const other of held.keys()) {
        if (total <= bytesMax || other === owner) return;
        drop(other);
        other.letGo();
      }
    },
    drop,
  };
}
