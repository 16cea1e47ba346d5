// Applies a JSON Merge Patch (RFC 7396): objects are merged, `null` removes a field, everything else replaces the old
// value. Names such as `__proto__` and `constructor` are normal keys. Therefore objects are built from lists of
// entries, and no key is assigned to an object.
import { isObject } from '@tollgate/proto/shape';

/** Returns `target` with `patch` applied. Neither `target` nor `patch` is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
