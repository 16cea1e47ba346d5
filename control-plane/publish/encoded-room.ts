// The bytes of what is encoded for views, of all workspaces together: 200 views of one large policy would take all memory of a process.
// What was encoded first is dropped first, and is encoded again at the next request.

export interface EncodedRoom {
  /** What `owner` holds now. Beyond the maximum others drop theirs, the longest unchanged first. */
  keep(owner: EncodedOwner, bytes: number): void;
  /** `owner` holds nothing any more. */
  drop(owner: EncodedOwner): void;
}

export interface EncodedOwner {
  letGo(): void;
}

export function createEncodedRoom(bytesMax: number): EncodedRoom {
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
