// Caches what was computed for a key from the audit log, for the next entries with the same key. Sidecars write the
// log, so the number of keys and their total characters are bounded. When either bound is reached, the whole cache is
// cleared.

interface BoundedCache<T> {
  getOr(key: string, make: () => T): T;
}

export function createKept<T>(max: { readonly entries: number; readonly characters: number }): BoundedCache<T> {
  const kept = new Map<string, T>();
  let characters = 0;
  return {
    getOr: (key, make) => {
      const known = kept.get(key);
      if (known !== undefined) return known;
      if (kept.size >= max.entries || characters + key.length > max.characters) {
        kept.clear();
        characters = 0;
      }
      const made = make();
      kept.set(key, made);
      characters += key.length;
      return made;
    },
  };
}
