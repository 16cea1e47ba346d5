// What was found out for a key that the audit log gave, so that it is not found out again for the next entry. Sidecars write the log, so
// keys are bounded in number and in characters: at either bound all are forgotten.

interface Kept<T> {
  getOr(key: string, make: () => T): T;
}

export function createKept<T>(max: { readonly entries: number; readonly characters: number }): Kept<T> {
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
