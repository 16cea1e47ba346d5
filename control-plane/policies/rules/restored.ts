// Finds rules that became stricter because a write removed something. When a looser rule is removed, another rule
// applies in its place: a rule of the same document, or, if an explicit exception has ended, a rule of a broader
// document.
import { type DocumentId, isStricterPermission, layers, rulePath, type Tier } from '@tollgate/proto/contract';
import type { RuleDocument, StoredDocument } from '@tollgate/sidecar/engine/compile';
import { enforcedOf, type Field, fields, loosestOf, type Place, pathOf, placesOf, rulesByPath, saysSame, strictestOf } from './places.ts';
import type { DocumentChange } from './policy-diff.ts';
import { type PlaceOf, prefixesOf } from './tightened.ts';

/** Whether `a` is stricter than `b` in this field. */
export function isStricter(field: Field, a: RuleDocument, b: RuleDocument): boolean {
  switch (field) {
    case 'permission':
      return a.permission !== undefined && b.permission !== undefined && isStricterPermission(a.permission, b.permission);
    case 'rateLimit':
      return a.rateLimit !== undefined && b.rateLimit !== undefined && a.rateLimit < b.rateLimit;
    case 'transform':
      return a.transform === 'redact' && b.transform === 'log';
  }
}

/**
 * A field that the document set in a place before the change. The place has the loosest of what its rule may say.
 * `now`: the rule of the same document that defines this field there after the change; null: there is no such rule.
 */
interface RemovedField {
  readonly id: DocumentId;
  readonly place: Place;
  readonly field: Field;
  /** The rule as it was written. */
  readonly was: RuleDocument;
  readonly now: RuleDocument | null;
}

/**
 * Returns the fields that the document set before the change. Only enforced documents count, because other documents
 * neither restrict nor permit anything.
 */
function takenFrom({ id, before, after }: DocumentChange): readonly RemovedField[] {
  if (id.layer === 'user' && id.part === 'self') return [];
  const rules = rulesByPath(enforcedOf(after));
  return placesOf(enforcedOf(before)).flatMap((place) => {
    const rule = loosestOf(place.rule);
    const loosest = rule === place.rule ? place : { ...place, rule };
    return fields.flatMap((field) =>
      rule[field] === undefined ? [] : [{ id, place: loosest, was: place.rule, field, now: speaking(rules, place, field) }],
    );
  });
}

/**
 * Returns the rule that defines the field for the tools of the place: the place's own rule, the longest wildcard, or
 * the default; null: no rule.
 */
function speaking(rules: ReadonlyMap<string, RuleDocument>, place: Place, field: Field): RuleDocument | null {
  const { section, key, tier } = place;
  const wider =
    section === 'tools' && key !== null
      ? [
          ...prefixesOf(key)
            .toReversed()
            .map((prefix) => rulePath('tools', `${prefix}*`, tier)),
          rulePath('defaults', null, tier),
        ]
      : [];
  for (const path of [pathOf(place), ...wider]) {
    const rule = rules.get(path);
    if (rule !== undefined && strictestOf(rule)[field] !== undefined) return rule;
  }
  return null;
}

/** Returns the places where a stricter rule of the same document now applies instead of the removed rule. */
export const restoredWithin = (change: DocumentChange): readonly PlaceOf[] =>
  takenFrom(change).flatMap(({ id, place, was, field, now }) => {
    if (now === null || saysSame(was, now, field)) return [];
    const strictest = strictestOf(now);
    return isStricter(field, strictest, place.rule) ? [{ ...place, id, rule: only(field, strictest) }] : [];
  });

/** Returns the explicit exceptions to broader documents that the changes ended. */
export const endedExceptions = (changes: readonly DocumentChange[]): readonly RemovedField[] =>
  changes.flatMap(takenFrom).filter(({ place, now }) => place.rule.override === true && now?.override !== true);

/** Returns the places where a rule of a broader document applies again, for the subjects of the ended exception. */
export function restoredBroader(all: readonly StoredDocument[], ended: readonly RemovedField[]): readonly PlaceOf[] {
  const broader = all.flatMap(({ id, document }) =>
    placesOf(enforcedOf(document)).map((place) => ({ ...place, rule: strictestOf(place.rule), id })),
  );
  const speakers = byReach(broader, (one) => one);
  const exceptions = byReach(ended, ({ place }) => place);
  // If two rules overlap, one of them applies to every tool to which the other applies. Therefore both directions are
  // searched.
  return [
    ...ended.flatMap((one) => reaching(speakers, one.place).flatMap((speaker) => restored(one, speaker, one.place))),
    ...broader.flatMap((speaker) => reaching(exceptions, speaker).flatMap((one) => restored(one, speaker, speaker))),
  ];
}

function restored({ id, place, field }: RemovedField, speaker: PlaceOf, narrower: Place): readonly PlaceOf[] {
  if (layers.indexOf(speaker.id.layer) >= layers.indexOf(id.layer) || !isStricter(field, speaker.rule, place.rule)) return [];
  const { section, key, tier } = narrower;
  return [{ section, key, tier, rule: only(field, speaker.rule), id: speaker.id, owner: id }];
}

const only = (field: Field, rule: RuleDocument): RuleDocument => ({ [field]: rule[field] });

type ByReach<T> = ReadonlyMap<string, readonly T[]>;

const reachKey = (tier: Tier, tool: string | null): string => JSON.stringify([tier, tool]);
const toolOf = ({ section, key }: Place): string | null => (section === 'tools' ? key : null);

function byReach<T>(all: readonly T[], placeOf: (one: T) => Place): ByReach<T> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const place = placeOf(one);
    const at = reachKey(place.tier, toolOf(place));
    const others = found.get(at);
    if (others === undefined) found.set(at, [one]);
    else others.push(one);
  }
  return found;
}

/** The items whose rule applies to every tool of the place. */
function reaching<T>(index: ByReach<T>, place: Place): readonly T[] {
  const tool = toolOf(place);
  const tools = tool === null ? [null] : [...new Set([null, ...prefixesOf(tool).map((prefix) => `${prefix}*`), tool])];
  return tools.flatMap((one) => index.get(reachKey(place.tier, one)) ?? []);
}
