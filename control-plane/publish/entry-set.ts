// Holds entries of one workspace by key, with the hash and the size of all of them together. The cost of a change
// depends only on the changed entries.
import { snapshotHash, snapshotHashAfter } from '@tollgate/proto/contract';
import type { SnapshotEntry } from '@tollgate/sidecar/engine/compile';

export interface EntrySet {
  readonly entries: ReadonlyMap<string, SnapshotEntry>;
  readonly hash: Buffer;
  /** Approximate size of all entries in a message. */
  readonly bytes: number;
  /**
   * Sets the current entries for these keys. Keys without an entry in `entries` are removed. Returns the keys whose
   * value has changed.
   */
  replace(keys: Iterable<string>, entries: readonly SnapshotEntry[]): readonly string[];
}

/** Size of the headers of an entry and its fields. */
const headBytes = 8;

export const wireBytes = ({ key, value }: SnapshotEntry): number => headBytes + key.length + value.length;

export function createEntrySet(): EntrySet {
  const held = new Map<string, SnapshotEntry>();
  let hash = snapshotHash([]);
  let bytes = 0;
  return {
    entries: held,
    get hash() {
      return hash;
    },
    get bytes() {
      return bytes;
    },
    replace: (keys, entries) => {
      const now = new Map(entries.map((entry) => [entry.key, entry]));
      const gone: SnapshotEntry[] = [];
      const come: SnapshotEntry[] = [];
      const changed = [...new Set([...keys, ...now.keys()])].filter((key) => {
        const before = held.get(key);
        const after = now.get(key);
        if (before === after || (before !== undefined && after !== undefined && before.value.equals(after.value))) return false;
        if (before !== undefined) gone.push(before);
        if (after !== undefined) come.push(after);
        if (after === undefined) held.delete(key);
        else held.set(key, after);
        return true;
      });
      hash = snapshotHashAfter(hash, gone, come);
      bytes += sizeOf(come) - sizeOf(gone);
      return changed;
    },
  };
}

const sizeOf = (entries: readonly SnapshotEntry[]): number => entries.reduce((sum, entry) => sum + wireBytes(entry), 0);
