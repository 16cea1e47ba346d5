// The explicit exceptions that take something back from a document that was just tightened: its writer is told of them.
import { type DocumentId, documentKey, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import { pathOf, placesOf, rulesByPath } from './places.ts';
import type { PolicyDocument } from './policy.ts';
import type { DocumentChange } from './policy-diff.ts';
import { indexTightened, type PlaceOf, tightenedFor } from './tightened.ts';

export interface StoredDocument {
  readonly id: DocumentId;
  readonly document: PolicyDocument;
}

export interface LooseningOverride {
  /** `role:member`, `user:<uid>:organisation`, … */
  readonly document: string;
  readonly path: string;
  readonly rule: Rule;
}

/**
 * Every override of a more specific document that loosens, for some call, a field that one of `changes` has tightened.
 * Linear in the size of the documents, since both may be large.
 */
export function looseningOverrides(all: readonly StoredDocument[], changes: readonly DocumentChange[]): readonly LooseningOverride[] {
  const tightened = changes.flatMap(tightenedPlaces);
  if (tightened.length === 0) return [];
  const overrides = all
    .filter(({ id, document }) => enforces(document) && !isSelf(id))
    .flatMap(({ id, document }) => placesOf(document).flatMap((place) => (place.rule.override === true ? [{ ...place, id }] : [])));
  const index = indexTightened(tightened, new Set(overrides.flatMap(({ key }) => wildcardPrefix(key ?? '') ?? [])));
  return overrides
    .filter((place) => tightenedFor(index, place).some((rule) => loosens(place.rule, rule)))
    .map(({ id, ...place }) => ({ document: documentKey(id), path: pathOf(place), rule: place.rule }));
}

const enforces = ({ mode }: PolicyDocument): boolean => mode === undefined || mode === 'enforce';

const isSelf = (id: DocumentId): boolean => id.layer === 'user' && id.part === 'self';

/** The fields that are stricter now than what stood at their place, each as a place of its own. */
function tightenedPlaces({ id, before, after }: DocumentChange): readonly PlaceOf[] {
  if (after === null || !enforces(after)) return [];
  const old = rulesByPath(before !== null && enforces(before) ? before : {});
  return placesOf(after).flatMap((place) => {
    const rule = tightenedFields(old.get(pathOf(place)) ?? {}, place.rule);
    return Object.keys(rule).length === 0 ? [] : [{ ...place, rule, id }];
  });
}

const tightenedFields = (old: Rule, now: Rule): Rule => ({
  ...(now.permission === 'deny' && old.permission !== 'deny' ? { permission: now.permission } : {}),
  ...(now.rateLimit !== undefined && now.rateLimit < (old.rateLimit ?? Number.POSITIVE_INFINITY) ? { rateLimit: now.rateLimit } : {}),
  ...(now.transform === 'redact' && old.transform !== 'redact' ? { transform: now.transform } : {}),
});

const loosens = ({ permission, rateLimit, transform }: Rule, tight: Rule): boolean =>
  (tight.permission === 'deny' && permission === 'allow') ||
  (tight.rateLimit !== undefined && rateLimit !== undefined && rateLimit > tight.rateLimit) ||
  (tight.transform === 'redact' && transform === 'log');
