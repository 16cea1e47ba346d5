// Lists the places of a document that have a rule, so that two documents can be compared place by place. A rule with
// cases says one of several things about a call. For comparisons, it is reduced to the strictest or the loosest of them.
import { isDeepStrictEqual } from 'node:util';
import { isTier, rulePath, strictestPermission, type Tier } from '@tollgate/proto/contract';
import type { PolicyDocument, RuleDocument, TierRulesDocument } from '@tollgate/sidecar/engine/compile';

export interface Place {
  readonly section: 'defaults' | 'tools' | 'agentTypes';
  /** The name or wildcard of the tool, or the agent type; null in the section `defaults`. */
  readonly key: string | null;
  readonly tier: Tier;
  readonly rule: RuleDocument;
}

export type Field = 'permission' | 'rateLimit' | 'transform';
export const fields: readonly Field[] = ['permission', 'rateLimit', 'transform'];

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
export const rulesByPath = (document: PolicyDocument): ReadonlyMap<string, RuleDocument> =>
  new Map(placesOf(document).map((place) => [pathOf(place), place.rule]));

/** Returns a rule without cases and terms that is as strict, in each field, as the strictest of what the rule may say. */
export function strictestOf(rule: RuleDocument): RuleDocument {
  if (rule.cases === undefined) return rule;
  const { cases, ask: _terms, ...own } = rule;
  const ways = [own, ...cases];
  const limits = ways.flatMap(({ rateLimit }) => rateLimit ?? []);
  const permission = strictestPermission(...ways.map((way) => way.permission));
  const transform = ways.some((way) => way.transform === 'redact') ? 'redact' : ways.find((way) => way.transform)?.transform;
  return {
    ...own,
    ...(permission === undefined ? {} : { permission }),
    ...(limits.length === 0 ? {} : { rateLimit: Math.min(...limits) }),
    ...(transform === undefined ? {} : { transform }),
  };
}

/**
 * Returns a rule without cases that is as loose, in each field, as the loosest of what the rule may say. A field that
 * only strict cases set is absent: where none of them holds, a broader key may say something looser. So is the limit of
 * a case, because it is added to that of the rule.
 */
export function loosestOf(rule: RuleDocument): RuleDocument {
  if (rule.cases === undefined) return rule;
  const { cases, ask, ...own } = rule;
  const permission = loosestPermission(own.permission, cases);
  return {
    ...own,
    ...(permission === undefined ? {} : { permission }),
    ...(permission === 'ask' && own.permission === 'ask' && ask !== undefined ? { ask } : {}),
    ...(cases.some(({ transform }) => transform === 'log') ? { transform: 'log' } : {}),
  };
}

/** A rule without a permission of its own says a strict one only in its cases, and nothing in the others. */
function loosestPermission(own: RuleDocument['permission'], cases: NonNullable<RuleDocument['cases']>): RuleDocument['permission'] {
  if (cases.some(({ permission }) => permission === 'allow')) return 'allow';
  return own === 'deny' && cases.some(({ permission }) => permission === 'ask') ? 'ask' : own;
}

/** Returns the document with `loosestOf` of each of its rules. */
export function loosestDocument({ defaults, tools, agentTypes, ...rest }: PolicyDocument): PolicyDocument {
  const ofTiers = (rules: TierRulesDocument): TierRulesDocument => mapValues(rules, loosestOf);
  return {
    ...rest,
    ...(defaults === undefined ? {} : { defaults: ofTiers(defaults) }),
    ...(tools === undefined ? {} : { tools: mapValues(tools, ofTiers) }),
    ...(agentTypes === undefined ? {} : { agentTypes: mapValues(agentTypes, ofTiers) }),
  };
}

const mapValues = <V>(of: Readonly<Record<string, V>>, change: (value: V) => V): Readonly<Record<string, V>> =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));

/** Whether two rules say the same about a field, in each of their cases. */
export const saysSame = (a: RuleDocument, b: RuleDocument, field: Field): boolean =>
  a === b || isDeepStrictEqual(sayings(a, field), sayings(b, field));

const sayings = (rule: RuleDocument, field: Field): unknown => [said(rule, field), rule.cases?.map((one) => [one.when, said(one, field)])];

/** Of a permission that asks, the terms are a part. */
const said = (of: Pick<RuleDocument, Field | 'ask'>, field: Field): unknown =>
  field === 'permission' ? [of.permission, of.ask] : of[field];
