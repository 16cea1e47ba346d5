// What a write tightened, so that it is found at once which of it a rule of a more specific document meets. Two rules
// meet where some tool is spoken for by both.
import { type DocumentId, type Layer, layers, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import type { Place } from './places.ts';

export type PlaceOf = Place & { readonly id: DocumentId };

/** The strictest of what was tightened in one layer for one tier, by the tools of which it speaks. */
interface Tightened {
  /** All of it. */
  all: Rule;
  /** What stands under no tool. */
  anyTool: Rule;
  /** By tool name or wildcard. */
  readonly byKey: Map<string, Rule>;
  /** By the prefix of a wildcard that an override has: what stands under names that begin so. */
  readonly byPrefix: Map<string, Rule>;
}

export type TightenedIndex = ReadonlyMap<string, Tightened>;

const indexKey = (layer: Layer, tier: string): string => `${layer}/${tier}`;

/** `prefixes`: of the wildcards that will be asked for. */
export function indexTightened(places: readonly PlaceOf[], prefixes: ReadonlySet<string>): TightenedIndex {
  const index = new Map<string, Tightened>();
  for (const { id, section, key, tier, rule } of places) {
    const at = indexKey(id.layer, tier);
    const found = index.get(at) ?? { all: {}, anyTool: {}, byKey: new Map(), byPrefix: new Map() };
    index.set(at, found);
    found.all = strictest(found.all, rule);
    if (section !== 'tools' || key === null) {
      found.anyTool = strictest(found.anyTool, rule);
      continue;
    }
    found.byKey.set(key, strictest(found.byKey.get(key) ?? {}, rule));
    for (const prefix of prefixesOf(key).filter((one) => prefixes.has(one)))
      found.byPrefix.set(prefix, strictest(found.byPrefix.get(prefix) ?? {}, rule));
  }
  return index;
}

/** What was tightened in broader layers for some tool of which the place speaks too. */
export function tightenedFor(index: TightenedIndex, { id, section, key, tier }: PlaceOf): readonly Rule[] {
  return layers.slice(0, layers.indexOf(id.layer)).flatMap((layer) => {
    const found = index.get(indexKey(layer, tier));
    if (found === undefined) return [];
    if (section !== 'tools' || key === null) return [found.all];
    const wider = prefixesOf(key).flatMap((prefix) => found.byKey.get(`${prefix}*`) ?? []);
    return [found.anyTool, ...wider, found.byKey.get(key) ?? {}, found.byPrefix.get(wildcardPrefix(key) ?? '') ?? {}];
  });
}

const strictest = (a: Rule, b: Rule): Rule => ({
  ...(a.permission === 'deny' || b.permission === 'deny' ? { permission: 'deny' } : {}),
  ...(a.rateLimit === undefined && b.rateLimit === undefined
    ? {}
    : { rateLimit: Math.min(a.rateLimit ?? Infinity, b.rateLimit ?? Infinity) }),
  ...(a.transform === 'redact' || b.transform === 'redact' ? { transform: 'redact' } : {}),
});

/** Those that a wildcard could have. */
const prefixesOf = (key: string): readonly string[] => [...key.matchAll(/[._/:-]/g)].map(({ index }) => key.slice(0, index + 1));
