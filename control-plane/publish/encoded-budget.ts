// Limits the encoded bytes of views, of all workspaces together. Without it, 200 views of one large policy would use
// all memory of a process. The oldest encoded data is evicted first, and is encoded again at the next request.

export interface EncodedBudget {
  /**
   * Sets the bytes that `owner` holds now. Above the maximum, other owners are evicted, the longest unchanged first.
   */
  keep(owner: EncodedOwner, bytes: number): void;
  /** `owner` no longer holds anything. */
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
