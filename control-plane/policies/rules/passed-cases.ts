// Finds the cases that some tools do not reach. A key that is looked up first and sets a field passes by every case of a
// broader key that sets the same field. The writer of the document is notified of them.
import { isDeepStrictEqual } from 'node:util';
import { documentKey } from '@tollgate/proto/contract';
import { countCases } from '@tollgate/sidecar/engine/compile';
import type { DocumentChange } from './policy-diff.ts';
import { type Field, fields, type Place, pathOf, placesOf, rulesByPath } from './places.ts';
import { prefixesOf } from './tightened.ts';

export interface PassedCases {
  /** The key of the document: `role:member`, `user:<uid>:organisation`, … */
  readonly document: string;
  /** The rule that has the cases. */
  readonly path: string;
  /** The names of the cases that are passed by. */
  readonly cases: readonly string[];
  /** The rule of the same document that is looked up first. */
  readonly by: string;
  /** The fields that this rule sets, and the cases too. */
  readonly fields: readonly Field[];
}

const passedMax = 100;

/**
 * Returns the cases that a more specific key passes by, at most 100 pairs of rules. A pair is listed if a change wrote
 * one of its two rules.
 */
export function passedCases(changes: readonly DocumentChange[]): readonly PassedCases[] {
  const found: PassedCases[] = [];
  for (const change of changes) {
    for (const one of passedIn(change)) {
      if (found.length >= passedMax) return found;
      found.push(one);
    }
  }
  return found;
}

function* passedIn({ id, before, after }: DocumentChange): Generator<PassedCases> {
  if (countCases([after]).cases === 0) return;
  const places = placesOf(after ?? {}).filter(({ section }) => section !== 'agentTypes');
  const broader = new Map(places.filter(({ rule }) => rule.cases !== undefined).map((place) => [pathOf(place), place]));
  const old = rulesByPath(before ?? {});
  const isWritten = (place: Place): boolean => !isDeepStrictEqual(old.get(pathOf(place)), place.rule);
  for (const place of places) {
    for (const path of broaderPaths(place)) {
      const passed = broader.get(path);
      if (passed === undefined || !(isWritten(place) || isWritten(passed))) continue;
      // In a field that a rule sets only in its cases, it passes no key by where no case holds.
      const both = fields.filter((field) => place.rule[field] !== undefined && passed.rule.cases?.some((one) => one[field] !== undefined));
      if (both.length === 0) continue;
      const cases = (passed.rule.cases ?? []).filter((one) => both.some((field) => one[field] !== undefined)).map(({ name }) => name);
      yield { document: documentKey(id), path, cases, by: pathOf(place), fields: both };
    }
  }
}

/** The paths of the rules of the same document that are looked up after the rule of the place, nearest first. */
function broaderPaths(place: Place): readonly string[] {
  const { key } = place;
  if (key === null) return [];
  const wildcards = prefixesOf(key)
    .toReversed()
    .map((prefix) => ({ ...place, key: `${prefix}*` }));
  return [...wildcards.filter((one) => one.key !== key), { ...place, section: 'defaults' as const, key: null }].map(pathOf);
}
