// Compares values. CEL says that values of different types are not equal. If a value of the input is compared with a
// value of another type, the result is undecided instead: a tool that converts `"1"` to 1 would pass a rule that
// compares with 1. Numbers are one type, and null may be compared with everything.
import { elementSteps, type Environment, readIndex, readKey, type Site, spend } from './environment.ts';
import { isJsonObject, isList, isNumeric, type JsonObject, type MapKey, mapKeyOf, MapValue, OwnValue, Uint, Undecided } from './values.ts';

/** Compares two values that are no `Undecided`. `strict`: values of different types are undecided. */
export function equals(a: unknown, b: unknown, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (a === b) return typeof a !== 'number' || !Number.isNaN(a);
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === 0;
  if (a === null || b === null) return false;
  if (isList(a) && isList(b)) return equalLists(a, b, strict, env, site);
  const [ofA, ofB] = [viewOf(a), viewOf(b)];
  if (ofA !== null && ofB !== null) return equalMaps(ofA, ofB, strict, env, site);
  if (a instanceof OwnValue && b instanceof OwnValue && a.typeName === b.typeName) return a.equals(b);
  if (typeof a === typeof b && typeof a !== 'object') return false;
  return strict ? site.type : false;
}

/** Returns a negative number, zero or a positive number. `NaN`: one of them is not a number. */
export function compareNumbers(a: number | bigint | Uint, b: number | bigint | Uint): number {
  const [left, right] = [a instanceof Uint ? a.value : a, b instanceof Uint ? b.value : b];
  if (left < right) return -1;
  if (left > right) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: compares a bigint with a double by value
  return left == right ? 0 : Number.NaN;
}

function equalLists(
  a: readonly unknown[],
  b: readonly unknown[],
  strict: boolean,
  env: Environment,
  site: Site,
): boolean | Undecided {
  if (a.length !== b.length) return false;
  if (!spend(env, elementSteps(a.length))) return site.budget;
  let unclear: Undecided | null = null;
  for (let at = 0; at < a.length; at += 1) {
    const one = equalsOrUndecided(readIndex(a, at, env, site), readIndex(b, at, env, site), strict, env, site);
    if (one === false) return false;
    if (one instanceof Undecided) unclear ??= one;
  }
  return unclear ?? true;
}

/** An element of a list or map may itself be undecided. */
export function equalsOrUndecided(a: unknown, b: unknown, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (a instanceof Undecided) return a;
  return b instanceof Undecided ? b : equals(a, b, strict, env, site);
}

/** A map literal or an object, as keys and values. */
interface MapView {
  readonly size: number;
  readonly keys: Iterable<MapKey>;
  has(key: MapKey): boolean;
  get(key: MapKey, env: Environment, site: Site): unknown;
}

export function viewOf(value: unknown): MapView | null {
  if (value instanceof MapValue) {
    const { entries } = value;
    return { size: entries.size, keys: entries.keys(), has: (key) => entries.has(key), get: (key) => entries.get(key)?.value };
  }
  if (!isJsonObject(value)) return null;
  const object: JsonObject = value;
  const keys = Object.keys(object);
  return {
    size: keys.length,
    keys,
    has: (key) => typeof key === 'string' && Object.hasOwn(object, key),
    get: (key, env, site) => readKey(object, String(key), env, site),
  };
}

function equalMaps(a: MapView, b: MapView, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (a.size !== b.size) return false;
  if (!spend(env, elementSteps(a.size))) return site.budget;
  let unclear: Undecided | null = null;
  for (const key of a.keys) {
    if (!b.has(key)) return false;
    const one = equalsOrUndecided(a.get(key, env, site), b.get(key, env, site), strict, env, site);
    if (one === false) return false;
    if (one instanceof Undecided) unclear ??= one;
  }
  return unclear ?? true;
}

/** `value in container`. `strict`: an element, or a key, of another type than the value is undecided. */
export function contains(container: unknown, value: unknown, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (isList(container)) {
    if (!spend(env, elementSteps(container.length))) return site.budget;
    let unclear: Undecided | null = null;
    for (let at = 0; at < container.length; at += 1) {
      const one = equalsOrUndecided(readIndex(container, at, env, site), value, strict, env, site);
      if (one === true) return true;
      if (one instanceof Undecided) unclear ??= one;
    }
    return unclear ?? false;
  }
  const map = viewOf(container);
  if (map === null) return site.type;
  const key = mapKeyOf(value);
  if (key !== null && map.has(key)) return true;
  return strict && isJsonObject(container) && typeof value !== 'string' ? site.type : false;
}

/** Compares by code points, as CEL does. JavaScript compares code units, in which surrogates come before U+E000. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Moves surrogates behind the other code units. */
const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);
