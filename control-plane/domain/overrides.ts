// The explicit exceptions that take something back from a document that was just tightened: its writer is told of them.
import { type DocumentId, documentKey, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import { type Place, pathOf, placesOf, rulesByPath } from './places.ts';
import type { PolicyDocument } from './policy.ts';

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

const breadth: readonly DocumentId['layer'][] = ['workspace', 'role', 'agent-type', 'user'];

/** Every override of a more specific document that loosens, for some call, a field that `after` has tightened. */
export function looseningOverrides(
  all: readonly StoredDocument[],
  id: DocumentId,
  before: PolicyDocument | null,
  after: PolicyDocument,
): readonly LooseningOverride[] {
  if (!enforces(after)) return [];
  const tightened = tightenedPlaces(before !== null && enforces(before) ? before : {}, after);
  if (tightened.length === 0) return [];
  return all
    .filter((other) => breadth.indexOf(other.id.layer) > breadth.indexOf(id.layer) && enforces(other.document) && !isSelf(other.id))
    .flatMap((other) =>
      placesOf(other.document)
        .filter((place) => place.rule.override === true && tightened.some((tight) => loosens(place, tight)))
        .map((place) => ({ document: documentKey(other.id), path: pathOf(place), rule: place.rule })),
    );
}

const enforces = ({ mode }: PolicyDocument): boolean => mode === undefined || mode === 'enforce';

const isSelf = (id: DocumentId): boolean => id.layer === 'user' && id.part === 'self';

/** The fields of `after` that are stricter than what stood at their place, each as a place of its own. */
function tightenedPlaces(before: PolicyDocument, after: PolicyDocument): readonly Place[] {
  const old = rulesByPath(before);
  return placesOf(after).flatMap((place) => {
    const rule = tightenedFields(old.get(pathOf(place)) ?? {}, place.rule);
    return Object.keys(rule).length === 0 ? [] : [{ ...place, rule }];
  });
}

const tightenedFields = (old: Rule, now: Rule): Rule => ({
  ...(now.permission === 'deny' && old.permission !== 'deny' ? { permission: now.permission } : {}),
  ...(now.rateLimit !== undefined && now.rateLimit < (old.rateLimit ?? Number.POSITIVE_INFINITY) ? { rateLimit: now.rateLimit } : {}),
  ...(now.transform === 'redact' && old.transform !== 'redact' ? { transform: now.transform } : {}),
});

function loosens(place: Place, tight: Place): boolean {
  if (place.tier !== tight.tier || !meet(place, tight)) return false;
  const { permission, rateLimit, transform } = place.rule;
  return (
    (tight.rule.permission === 'deny' && permission === 'allow') ||
    (tight.rule.rateLimit !== undefined && rateLimit !== undefined && rateLimit > tight.rule.rateLimit) ||
    (tight.rule.transform === 'redact' && transform === 'log')
  );
}

/** Whether some tool is spoken for by both. */
function meet(a: Place, b: Place): boolean {
  if (a.section !== 'tools' || b.section !== 'tools' || a.key === null || b.key === null) return true;
  return a.key === b.key || begins(a.key, b.key) || begins(b.key, a.key);
}

function begins(key: string, other: string): boolean {
  const prefix = wildcardPrefix(key);
  return prefix !== null && (other.startsWith(prefix) || wildcardPrefix(other)?.startsWith(prefix) === true);
}
