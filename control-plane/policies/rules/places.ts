// Lists the places of a document that have a rule, so that two documents can be compared place by place.
import { isTier, type Rule, rulePath, type Tier } from '@tollgate/proto/contract';
import type { PolicyDocument, TierRulesDocument } from '@tollgate/sidecar/engine/compile';

export interface Place {
  readonly section: 'defaults' | 'tools' | 'agentTypes';
  /** The name or wildcard of the tool, or the agent type; null in the section `defaults`. */
  readonly key: string | null;
  readonly tier: Tier;
  readonly rule: Rule;
}

const nothing: PolicyDocument = {};

/** Returns the part of the document that is enforced: nothing in audit mode, and nothing if there is no document. */
export const enforcedOf = (document: PolicyDocument | null): PolicyDocument =>
  document === null || (document.mode !== undefined && document.mode !== 'enforce') ? nothing : document;

/** Returns every place of the document. Unknown tiers have no effect and are left out. */
export function placesOf(document: PolicyDocument): readonly Place[] {
  const keyed = (section: 'tools' | 'agentTypes'): readonly Place[] =>
    Object.entries(document[section] ?? {}).flatMap(([key, rules]) => tiersOf(section, key, rules));
  return [...tiersOf('defaults', null, document.defaults ?? {}), ...keyed('tools'), ...keyed('agentTypes')];
}

const tiersOf = (section: Place['section'], key: string | null, rules: TierRulesDocument): readonly Place[] =>
  Object.entries(rules).flatMap(([tier, rule]) => (isTier(tier) ? [{ section, key, tier, rule }] : []));

export const pathOf = ({ section, key, tier }: Place): string => rulePath(section, key, tier);

/** The rules of a document by their paths. */
export const rulesByPath = (document: PolicyDocument): ReadonlyMap<string, Rule> =>
  new Map(placesOf(document).map((place) => [pathOf(place), place.rule]));
