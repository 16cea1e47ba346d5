// An index of what a write made stricter, to find quickly which parts overlap with a rule of a more specific document.
// Two rules overlap if both apply to some tool.
import { type DocumentId, documentKey, type Layer, layers, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import type { Place } from './places.ts';

export interface PlaceOf extends Place {
  readonly id: DocumentId;
  /** Only for the subjects of this document; absent: for all. */
  readonly owner?: DocumentId;
}

/** The strictest rules of what was made stricter in one layer for one tier, by the tools to which they apply. */
interface StricterRules {
  /** All rules together. */
  all: Rule;
  /** Rules that are not in the section of a tool. */
  anyTool: Rule;
  /** By tool name or wildcard. */
  readonly byKey: Map<string, Rule>;
  /** By the prefix of a wildcard that an override has: rules for names with that prefix. */
  readonly byPrefix: Map<string, Rule>;
}

export type TightenedIndex = ReadonlyMap<string, StricterRules>;

/**
 * `of`: the key of the document for whose subjects it applies; or a layer, for all subjects with a document in it;
 * empty: for all subjects.
 */
const indexKey = (layer: Layer, tier: string, of: string): string => `${layer}/${tier}/${of}`;

/** `prefixes`: the prefixes of the wildcards that will be looked up. */
export function indexTightened(places: readonly PlaceOf[], prefixes: ReadonlySet<string>): TightenedIndex {
  const index = new Map<string, StricterRules>();
  for (const place of places.flatMap(inEachIndex)) {
    const { at, section, key, rule } = place;
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

function inEachIndex({ id, owner, ...place }: PlaceOf): readonly (Place & { readonly at: string })[] {
  const owners = owner === undefined ? [''] : [owner.layer, documentKey(owner)];
  return owners.map((of) => ({ ...place, at: indexKey(id.layer, place.tier, of) }));
}

/** What was made stricter in broader layers, for tools to which the place also applies. */
export function tightenedFor(index: TightenedIndex, { id, section, key, tier }: PlaceOf): readonly Rule[] {
  // Two documents of one layer never apply to the same subject.
  const owners = ['', ...layers.filter((layer) => layer !== id.layer), documentKey(id)];
  const broader = layers.slice(0, layers.indexOf(id.layer));
  return broader
    .flatMap((layer) => owners.map((of) => indexKey(layer, tier, of)))
    .flatMap((at) => {
      const found = index.get(at);
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

/** The prefixes that a matching wildcard can have. */
export const prefixesOf = (key: string): readonly string[] => [...key.matchAll(/[._/:-]/g)].map(({ index }) => key.slice(0, index + 1));
