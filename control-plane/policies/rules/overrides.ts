// Finds the explicit exceptions that weaken a document which was just made stricter. The writer of the document is
// notified of them.
import { type DocumentId, documentKey, isStricterPermission, wildcardPrefix } from '@tollgate/proto/contract';
import type { RuleDocument, StoredDocument } from '@tollgate/sidecar/engine/compile';
import { enforcedOf, type Field, fields, loosestOf, pathOf, placesOf, rulesByPath, saysSame, strictestOf } from './places.ts';
import type { DocumentChange } from './policy-diff.ts';
import { endedExceptions, isStricter, restoredBroader, restoredWithin } from './restored.ts';
import { indexTightened, type PlaceOf, tightenedFor } from './tightened.ts';

export interface LooseningOverride {
  /** The key of the document: `role:member`, `user:<uid>:organisation`, … */
  readonly document: string;
  readonly path: string;
  readonly rule: RuleDocument;
}

/** Whether the change may have made a rule stricter, through what it added or through what it removed. */
export const tightens = (change: DocumentChange): boolean => tightenedIn(change).length > 0 || needsBroader([change]);

/** Whether broader documents are needed to determine what `changes` made stricter. */
export const needsBroader = (changes: readonly DocumentChange[]): boolean => endedExceptions(changes).length > 0;

/**
 * Returns every override that weakens what `changes` made stricter: it is in a more specific document, and for some
 * call it makes looser a field that `changes` made stricter. A change can make a field stricter by what it adds or by
 * what it removes. `all` contains every document after the changes. If `needsBroader` is false, documents without an
 * override can be left out of `all`. The time is linear in the size of the documents, because both inputs can be large.
 * If exceptions were removed, the time also depends on the broader documents to which they were exceptions.
 */
export function looseningOverrides(all: readonly StoredDocument[], changes: readonly DocumentChange[]): readonly LooseningOverride[] {
  const within = changes.flatMap(tightenedIn);
  const ended = endedExceptions(changes);
  if (within.length === 0 && ended.length === 0) return [];
  const overrides = all
    .filter(({ id }) => !isSelf(id))
    .flatMap(({ id, document }) =>
      placesOf(enforcedOf(document)).flatMap((place) => (place.rule.override === true ? [{ ...place, id }] : [])),
    );
  if (overrides.length === 0) return [];
  const tightened = [...within, ...restoredBroader(all, ended)];
  const index = indexTightened(tightened, new Set(overrides.flatMap(({ key }) => wildcardPrefix(key ?? '') ?? [])));
  return overrides
    .filter((place) => tightenedFor(index, place).some((rule) => loosens(place.rule, rule)))
    .map(({ id, ...place }) => ({ document: documentKey(id), path: pathOf(place), rule: place.rule }));
}

const isSelf = (id: DocumentId): boolean => id.layer === 'user' && id.part === 'self';

const tightenedIn = (change: DocumentChange): readonly PlaceOf[] => [...tightenedPlaces(change), ...restoredWithin(change)];

/** Returns the places of the document that are stricter now than before, each with only its stricter fields. */
function tightenedPlaces({ id, before, after }: DocumentChange): readonly PlaceOf[] {
  const old = rulesByPath(enforcedOf(before));
  return placesOf(enforcedOf(after)).flatMap((place) => {
    const rule = tightenedFields(old.get(pathOf(place)) ?? {}, place.rule);
    return Object.keys(rule).length === 0 ? [] : [{ ...place, rule, id }];
  });
}

function tightenedFields(old: RuleDocument, now: RuleDocument): RuleDocument {
  const [was, is] = [strictestOf(old), strictestOf(now)];
  // If cases were changed, they may hold for more calls than before.
  const mayHoldMore = (field: Field): boolean =>
    [old, now].some(({ cases = [] }) => cases.some((one) => one[field] !== undefined)) && !saysSame(old, now, field);
  return {
    ...(is.permission !== undefined &&
    is.permission !== 'allow' &&
    (isStricterPermission(is.permission, was.permission ?? 'allow') || mayHoldMore('permission'))
      ? { permission: is.permission }
      : {}),
    ...(is.rateLimit !== undefined && (is.rateLimit < (was.rateLimit ?? Number.POSITIVE_INFINITY) || mayHoldMore('rateLimit'))
      ? { rateLimit: is.rateLimit }
      : {}),
    ...(is.transform === 'redact' && (was.transform !== 'redact' || mayHoldMore('transform')) ? { transform: is.transform } : {}),
  };
}

const loosens = (rule: RuleDocument, tight: RuleDocument): boolean => {
  const loosest = loosestOf(rule);
  return fields.some((field) => isStricter(field, tight, loosest));
};
