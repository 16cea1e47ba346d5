// Computes the difference of two JSON values as a JSON Patch (RFC 6902), the format in which an admission webhook
// answers. Lists with named items are compared by name, so that an additional container is one operation.
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '@tollgate/proto/shape';

export type Operation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** Returns the operations. If they are applied to `before` in this order, the result is `after`. */
export function diff(before: unknown, after: unknown, path = ''): readonly Operation[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isObject(before) && isObject(after)) return diffObjects(before, after, path);
  const lists = Array.isArray(before) && Array.isArray(after) ? diffLists(before, after, path) : null;
  return lists ?? [{ op: 'replace', path, value: after }];
}

type Members = Readonly<Record<string, unknown>>;

function diffObjects(before: Members, after: Members, path: string): readonly Operation[] {
  return [
    ...Object.keys(before).flatMap((key): readonly Operation[] =>
      Object.hasOwn(after, key) ? [] : [{ op: 'remove', path: childOf(path, key) }],
    ),
    ...Object.entries(after).flatMap(([key, value]): readonly Operation[] =>
      Object.hasOwn(before, key) ? diff(before[key], value, childOf(path, key)) : [{ op: 'add', path: childOf(path, key), value }],
    ),
  ];
}

/**
 * Returns null if the lists cannot be compared item by item: their names are in another order, or they have no names
 * and differ in length. The caller then replaces the whole list.
 */
function diffLists(before: readonly unknown[], after: readonly unknown[], path: string): readonly Operation[] | null {
  const from = namesOf(before);
  const to = namesOf(after);
  if (from === null || to === null)
    return before.length === after.length ? before.flatMap((one, at) => diff(one, after[at], childOf(path, at))) : null;
  const [placeBefore, placeAfter] = [placesOf(from), placesOf(to)];
  const stay = from.filter((name) => placeAfter.has(name));
  if (
    !isDeepStrictEqual(
      stay,
      to.filter((name) => placeBefore.has(name)),
    )
  )
    return null;
  const removed = from.flatMap((name, at): readonly Operation[] =>
    placeAfter.has(name) ? [] : [{ op: 'remove', path: childOf(path, at) }],
  );
  const placed = after.flatMap((value, at): readonly Operation[] => {
    const was = placeBefore.get(to[at] ?? '');
    return was === undefined ? [{ op: 'add', path: childOf(path, at), value }] : diff(before[was], value, childOf(path, at));
  });
  // The last item is removed first, so that the indexes of the other removed items stay valid.
  return [...removed.toReversed(), ...placed];
}

function namesOf(list: readonly unknown[]): readonly string[] | null {
  const names = list.flatMap((item) => (isObject(item) && typeof item['name'] === 'string' ? [item['name']] : []));
  return names.length === list.length && new Set(names).size === names.length ? names : null;
}

/**
 * Returns the position of each name. It is a map, because searches in a list would be slow: the author of the pod
 * determines how long the list is.
 */
const placesOf = (names: readonly string[]): ReadonlyMap<string, number> => new Map(names.map((name, at) => [name, at]));

const childOf = (path: string, key: string | number): string => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
