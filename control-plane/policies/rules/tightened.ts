// Builds an index of the rules that a write made stricter, to find quickly those that overlap with a rule of a more
// specific document. Two rules overlap if there is a tool to which both apply.
import { type DocumentId, documentKey, type Layer, layers, strictestPermission, wildcardPrefix } from '@tollgate/proto/contract';
import type { RuleDocument } from '@tollgate/sidecar/engine/compile';
import type { Place } from './places.ts';

export interface PlaceOf extends Place {
  readonly id: DocumentId;
  /** The place applies only to the subjects of this document; absent: to all subjects. */
  readonly owner?: DocumentId;
}

/**
 * The rules that were made stricter in one layer for one tier, grouped by the tools to which they apply. Each group is
 * combined into its strictest rule.
 */
interface StricterRules {
  /** The strictest combination of all rules. */
  all: RuleDocument;
  /** The strictest combination of the rules that are not in the section `tools`. */
  anyTool: RuleDocument;
  /** The strictest combinations by tool name or wildcard. */
  readonly byKey: Map<string, RuleDocument>;
  /**
   * The strictest combinations of the rules for names with a common prefix, by prefix. It contains only prefixes that a
   * wildcard of an override has.
   */
  readonly byPrefix: Map<string, RuleDocument>;
}

export type TightenedIndex = ReadonlyMap<string, StricterRules>;

/**
 * `of` defines for which subjects the rules are stricter. The key of a document: for its subjects. A layer: for all
 * subjects with a document in that layer. Empty: for all subjects.
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

/** Returns the rules that were made stricter in broader layers and that apply to some tool of the place. */
export function tightenedFor(index: TightenedIndex, { id, section, key, tier }: PlaceOf): readonly RuleDocument[] {
  // Two documents of one layer never apply to the same subject. So in its own layer, only the document itself is looked
  // up.
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

const strictest = (a: RuleDocument, b: RuleDocument): RuleDocument => ({
  ...strictPermission(strictestPermission(a.permission, b.permission)),
  ...(a.rateLimit === undefined && b.rateLimit === undefined
    ? {}
    : { rateLimit: Math.min(a.rateLimit ?? Infinity, b.rateLimit ?? Infinity) }),
  ...(a.transform === 'redact' || b.transform === 'redact' ? { transform: 'redact' } : {}),
});

const strictPermission = (permission: RuleDocument['permission']): Pick<RuleDocument, 'permission'> =>
  permission === undefined || permission === 'allow' ? {} : { permission };

/** Returns the prefixes of the wildcards that can match the key. */
export const prefixesOf = (key: string): readonly string[] => [...key.matchAll(/[._/:-]/g)].map(({ index }) => key.slice(0, index + 1));
