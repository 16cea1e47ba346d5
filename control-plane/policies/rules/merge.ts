// JSON Merge Patch, RFC 7396: objects merge, `null` removes, everything else replaces. Names such as `__proto__` and
// `constructor` are normal keys. Therefore objects are built from their entries and never assigned to.
import { isObject } from '@tollgate/proto/shape';

/** Returns `target` with `patch` applied. Neither is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
