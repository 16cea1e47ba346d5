// Compares values. CEL says that values of different types are not equal. If a value of the input is compared with a
// value of another type, the result is undecided instead: a tool that converts `"1"` to 1 would pass a rule that
// compares with 1. Numbers are one type, and null may be compared with everything.
import { elementSteps, type Environment, ownKeys, readIndex, readKey, type Site, spend, textSteps } from './environment.ts';
import {
  Bytes,
  isJsonObject,
  isList,
  isNumeric,
  type JsonObject,
  type MapKey,
  mapKeyOf,
  MapValue,
  OwnValue,
  Uint,
  Undecided,
} from './values.ts';

/** What a comparison needs besides the values. `strict`: values of different types are undecided. */
interface Comparing {
  readonly strict: boolean;
  readonly env: Environment;
  readonly site: Site;
}

/** How deep lists and maps are compared. */
const depthMax = 128;

/** Compares two values that are no `Undecided`. `strict`: values of different types are undecided. */
export function equals(a: unknown, b: unknown, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (typeof a === 'string' && typeof b === 'string') return equalTexts(a, b, env, site);
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b) === 0;
  if (a === null || b === null || (typeof a === 'boolean' && typeof b === 'boolean')) return a === b;
  return equalParts(a, b, { strict, env, site }, 0);
}

function equalTexts(a: string, b: string, env: Environment, site: Site): boolean | Undecided {
  if (a.length !== b.length) return false;
  return spend(env, textSteps(a.length)) ? a === b : site.budget;
}

/** Compares values of which at least one is no scalar of JSON, or whose types differ. */
function equalParts(a: unknown, b: unknown, comparing: Comparing, depth: number): boolean | Undecided {
  const { strict, env, site } = comparing;
  if (depth >= depthMax) return site.budget;
  if (isList(a) && isList(b)) return equalLists(a, b, comparing, depth);
  if (isMap(a) && isMap(b)) return equalMaps(a, b, comparing, depth);
  if (a instanceof Bytes && b instanceof Bytes) return spend(env, textSteps(a.data.length)) ? a.equals(b) : site.budget;
  if (a instanceof OwnValue && b instanceof OwnValue && a.typeName === b.typeName) return a.equals(b);
  return strict ? site.type : false;
}

/** Compares elements, which may be undecided. */
function equalElements(a: unknown, b: unknown, comparing: Comparing, depth: number): boolean | Undecided {
  if (a instanceof Undecided) return a;
  if (b instanceof Undecided) return b;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return equals(a, b, comparing.strict, comparing.env, comparing.site);
  return a instanceof Uint && b instanceof Uint ? a.value === b.value : equalParts(a, b, comparing, depth + 1);
}

/** Returns a negative number, zero or a positive number. `NaN`: one of them is not a number. */
export function compareNumbers(a: number | bigint | Uint, b: number | bigint | Uint): number {
  const [left, right] = [a instanceof Uint ? a.value : a, b instanceof Uint ? b.value : b];
  if (left < right) return -1;
  if (left > right) return 1;
  // Neither is smaller: they are equal, or one of them is not a number.
  return isNaN(left) || isNaN(right) ? Number.NaN : 0;
}

const isNaN = (value: number | bigint): boolean => typeof value === 'number' && Number.isNaN(value);

function equalLists(a: readonly unknown[], b: readonly unknown[], comparing: Comparing, depth: number): boolean | Undecided {
  const { env, site } = comparing;
  if (a.length !== b.length) return false;
  if (!spend(env, elementSteps(a.length))) return site.budget;
  let unclear: Undecided | null = null;
  for (let at = 0; at < a.length; at += 1) {
    const one = equalElements(readIndex(a, at, site), readIndex(b, at, site), comparing, depth);
    if (one === false) return false;
    if (one instanceof Undecided) unclear ??= one;
  }
  return unclear ?? true;
}

type AnyMap = MapValue | JsonObject;

const isMap = (value: unknown): value is AnyMap => value instanceof MapValue || isJsonObject(value);

const keysOf = (map: AnyMap, env: Environment): readonly MapKey[] | null =>
  map instanceof MapValue ? [...map.entries.keys()] : ownKeys(map, env);

/** Whether a map has keys of another type than this one. */
const hasOtherKeys = (keys: readonly MapKey[], key: MapKey): boolean => keys.some((other) => typeof other !== typeof key);

const hasKey = (map: AnyMap, key: MapKey): boolean =>
  map instanceof MapValue ? map.entries.has(key) : typeof key === 'string' && Object.hasOwn(map, key);

const readEntry = (map: AnyMap, key: MapKey, { site }: Comparing): unknown =>
  map instanceof MapValue ? map.entries.get(key)?.value : readKey(map, String(key), site);

function equalMaps(a: AnyMap, b: AnyMap, comparing: Comparing, depth: number): boolean | Undecided {
  const { env, site } = comparing;
  const [keys, others] = [keysOf(a, env), keysOf(b, env)];
  if (keys === null || others === null) return site.budget;
  if (keys.length !== others.length) return false;
  let unclear: Undecided | null = null;
  for (const key of keys) {
    if (!hasKey(b, key)) return comparing.strict && hasOtherKeys(others, key) ? site.type : false;
    const one = equalElements(readEntry(a, key, comparing), readEntry(b, key, comparing), comparing, depth);
    if (one === false) return false;
    if (one instanceof Undecided) unclear ??= one;
  }
  return unclear ?? true;
}

/** `value in container`. `strict`: an element, or a key, of another type than the value is undecided. */
export function contains(container: unknown, value: unknown, strict: boolean, env: Environment, site: Site): boolean | Undecided {
  if (isList(container)) return listContains(container, value, { strict, env, site });
  if (container instanceof MapValue) return mapContains(container, value, strict, site);
  if (!isJsonObject(container)) return site.type;
  if (typeof value !== 'string') return strict ? site.type : false;
  return hasField(container, value);
}

/** Whether an object has an own key. Undecided: the value of the key is hidden, so it may be absent. */
export function hasField(object: JsonObject, name: string): boolean | Undecided {
  const found = Object.hasOwn(object, name) ? object[name] : undefined;
  return found instanceof Undecided ? found : found !== undefined;
}

function listContains(list: readonly unknown[], value: unknown, comparing: Comparing): boolean | Undecided {
  const { env, site } = comparing;
  if (!spend(env, elementSteps(list.length))) return site.budget;
  let unclear: Undecided | null = null;
  for (let at = 0; at < list.length; at += 1) {
    const item = list[at];
    // Comparing short texts takes no step.
    if (typeof item === 'string' && typeof value === 'string' && textSteps(item.length) === 0) {
      if (item === value) return true;
      continue;
    }
    const one = equalElements(readIndex(list, at, site), value, comparing, 0);
    if (one === true) return true;
    if (one instanceof Undecided) unclear ??= one;
  }
  return unclear ?? false;
}

function mapContains({ entries }: MapValue, value: unknown, strict: boolean, site: Site): boolean | Undecided {
  const key = mapKeyOf(value);
  if (key !== null && entries.has(key)) return true;
  if (!strict) return false;
  const kind = isNumeric(value) ? 'bigint' : typeof value;
  for (const known of entries.keys()) if (typeof known !== kind) return site.type;
  return false;
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
