// Writes canonical JSON by RFC 8785: keys are sorted by UTF-16 code units, there is no white space, and numbers are
// written as in ECMAScript. The chain is computed over this form, so any program that can write it can verify the
// chain. The input must be a result of `JSON.parse` without unpaired surrogates. The result is null if the value is
// deeper than `depthMax`, or contains a number that no double can represent (1e400). Pure. This code is separate from
// `canonicalJson` of the contract for speed, because every stored entry needs it. `canonicalJson` writes the same text,
// but throws where this code returns null.
import { quoteJson } from '../contract/index.ts';

type Fields = Readonly<Record<string, unknown>>;

export const canonicalOf = (value: unknown, depthMax = Number.POSITIVE_INFINITY): string | null => write(value, depthMax);

function write(value: unknown, levels: number): string | null {
  if (typeof value === 'string') return quoteJson(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : null;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return 'null';
  if (levels <= 0) return null;
  // In parsed JSON, an object is either an array or has fields.
  return Array.isArray(value) ? writeArray(value, levels - 1) : writeFields(value as Fields, levels - 1);
}

function writeArray(items: readonly unknown[], levels: number): string | null {
  let text = '';
  for (let at = 0; at < items.length; at++) {
    const written = write(items[at], levels);
    if (written === null) return null;
    text += at === 0 ? written : `,${written}`;
  }
  return `[${text}]`;
}

function writeFields(fields: Fields, levels: number): string | null {
  let text = '';
  for (const { key, prefix } of orderOf(Object.keys(fields))) {
    const written = write(fields[key], levels);
    if (written === null) return null;
    text += (text === '' ? '' : ',') + prefix + written;
  }
  return `{${text}}`;
}

/**
 * Additional fields, by key, with the value as JSON. They are written together with an object's own fields, and replace
 * own fields with the same key.
 */
type Stated = ReadonlyMap<string, string>;

/**
 * Returns two texts, written in one pass. `all`: canonical JSON of the fields and of `stated`. `kept`: the same without
 * the keys in `apart`. A field in `stated` replaces a field with the same name. Null: a field is too deep, or a number
 * is invalid. All calls must pass the same keys in `stated`.
 */
export function writeTwice(
  fields: Fields,
  { stated, apart }: { readonly stated: Stated; readonly apart: ReadonlySet<string> },
  depthMax: number,
): { readonly all: string; readonly kept: string } | null {
  let all = '';
  let kept = '';
  for (const { key, prefix } of orderOf(Object.keys(fields), stated)) {
    const written = stated.get(key) ?? write(fields[key], depthMax - 1);
    if (written === null) return null;
    const member = prefix + written;
    all += all === '' ? member : `,${member}`;
    if (!apart.has(key)) kept += kept === '' ? member : `,${member}`;
  }
  return { all: `{${all}}`, kept: `{${kept}}` };
}

interface Member {
  readonly key: string;
  /** The key as JSON, followed by a colon: `"key":` */
  readonly prefix: string;
}

interface Order {
  readonly keys: readonly string[];
  readonly sorted: readonly Member[];
}

/**
 * Caches sorted lists of keys, so that the keys of each object need not be sorted again. The key in the cache is the
 * unsorted list. This works well, because the objects in entries have only a few different lists of keys. The size of
 * the cache is fixed, whatever callers send.
 */
const orders: (Order | undefined)[] = Array.from({ length: 256 });
const statedOrders: (Order | undefined)[] = Array.from({ length: 64 });

function orderOf(keys: string[], stated: Stated | null = null): readonly Member[] {
  const table = stated === null ? orders : statedOrders;
  const slot = (keys.length * 31 + (keys[0]?.length ?? 0) * 7 + (keys[keys.length >> 1]?.length ?? 0)) % table.length;
  const known = table[slot];
  if (known !== undefined && same(known.keys, keys)) return known.sorted;
  const all = stated === null ? keys : [...new Set([...keys, ...stated.keys()])];
  const sorted = all.toSorted(byUnits).map((key) => ({ key, prefix: `${quoteJson(key)}:` }));
  table[slot] = { keys, sorted };
  return sorted;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

const byUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
