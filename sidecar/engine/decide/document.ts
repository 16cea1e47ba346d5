// Indexes one document. A few lookups find what it says about a tool and a tier, even if it has many rules.
import {
  childPath,
  type CompiledCase,
  type CompiledDocument,
  documentKey,
  keyedPath,
  type Layer,
  type Part,
  type Permission,
  type Rule,
  rulePath,
  type Tier,
  type TierRules,
  type Transform,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import { compileCondition, type Condition } from '../conditions/condition.ts';
import { type SpelledNames, spelledNames } from './spelled-names.ts';

export interface IndexedDocument {
  readonly key: string;
  readonly layer: Layer;
  readonly part: Part | null;
  readonly enforces: boolean;
  readonly defaults: PlacedRules;
  readonly exact: ReadonlyMap<string, PlacedRules>;
  /** Rules of wildcards, by the prefix without the `*`. */
  readonly wildcards: ReadonlyMap<string, PlacedRules>;
  readonly agentTypes: ReadonlyMap<string, PlacedRules>;
  /** The keys of `tools`. They are found by the spellings that hosts may use. */
  readonly spelled: SpelledNames;
  readonly hasCases: boolean;
}

type PlacedRules = ReadonlyMap<Tier, PlacedRule>;

/** A rule at its place in a document. */
export interface PlacedRule {
  readonly rule: Rule;
  readonly path: string;
  /** Null: the rule has no cases. */
  readonly cases: readonly PlacedCase[] | null;
}

/** A case of a rule. */
export interface PlacedCase {
  /** For example `tools["payments.transfer"].api.cases["large"]`. */
  readonly path: string;
  readonly condition: Condition;
  readonly fields: Omit<CompiledCase, 'name' | 'when'>;
}

/** Which cases of a rule may be the case of a call. If `held` is the only one, it is the case of the call. */
export interface CaseAnswer {
  /** The index of the first case that holds. -1: no case holds, so the rule applies as it is. */
  readonly held: number;
  /** The indexes of cases before it that could not be evaluated. */
  readonly undecided: readonly number[];
}

/** Returns the answer of one rule that has cases. */
export type CaseAnswers = (rule: PlacedRule) => CaseAnswer;

/** Every case may hold, or none: for questions without an input. */
export const anyCase: CaseAnswers = ({ cases }) => ({ held: -1, undecided: (cases ?? []).map((_, at) => at) });

/** One field as a document sets it, with its path in the document. */
export interface Saying<T> {
  readonly value: T;
  readonly path: string;
  readonly override: boolean;
  /** The reason that a case gives. */
  readonly reason?: string;
}

/**
 * What a document may say about one field. There are several ways only if cases are undecided. In each way the field has
 * at most one saying. Only in a user document it may have two: the second comes from `agentTypes`.
 */
export type Ways<T> = readonly (readonly Saying<T>[])[];

/** What a document says about a call. */
export interface Opinion {
  readonly permission: Ways<Permission>;
  readonly transform: Ways<Transform>;
  readonly limits: LimitOpinion;
}

export interface LimitOpinion {
  /** The limits of all ways. Each of them may be the one that applies, so all of them count. */
  readonly sayings: readonly Saying<number>[];
  /** Whether the limits of broader layers are replaced in every way. */
  readonly replaces: boolean;
}

export function indexDocument(document: CompiledDocument): IndexedDocument {
  const exact = new Map<string, PlacedRules>();
  const wildcards = new Map<string, PlacedRules>();
  for (const [key, rules] of document.tools) {
    const placed = placeRules('tools', key, rules);
    exact.set(key, placed);
    const prefix = wildcardPrefix(key);
    if (prefix !== null) wildcards.set(prefix, placed);
  }
  return {
    key: documentKey(document.id),
    layer: document.id.layer,
    part: document.id.layer === 'user' ? document.id.part : null,
    enforces: document.mode === 'enforce',
    defaults: placeRules('defaults', null, document.defaults),
    exact,
    wildcards,
    agentTypes: new Map(document.agentTypes.map(([key, rules]) => [key, placeRules('agentTypes', key, rules)])),
    spelled: spelledNames(exact.keys()),
    hasCases: [document.defaults, ...[...document.tools, ...document.agentTypes].map(([, rules]) => rules)].some((rules) =>
      rules.some(([, { cases }]) => cases !== undefined),
    ),
  };
}

function placeRules(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, rules: TierRules): PlacedRules {
  return new Map(rules.map(([tier, rule]) => [tier, placeRule(rule, rulePath(section, key, tier))]));
}

const placeRule = (rule: Rule, path: string): PlacedRule => ({
  rule,
  path,
  cases:
    rule.cases?.map(({ name, when, ...fields }) => ({
      path: keyedPath(childPath(path, 'cases'), name),
      condition: compileCondition(when),
      fields,
    })) ?? null,
});

/** Returns the rules with cases that may say something about a call, in the order in which they are read. */
export const casedRules = (document: IndexedDocument, tool: string, tier: Tier, agentType: string): readonly PlacedRule[] =>
  document.hasCases
    ? [...matchingRules(document, tool, tier), ...rulesOfType(document, tier, agentType)].filter(({ cases }) => cases !== null)
    : [];

const rulesOfType = ({ agentTypes }: IndexedDocument, tier: Tier, agentType: string): readonly PlacedRule[] => {
  const rule = agentTypes.get(agentType)?.get(tier);
  return rule === undefined ? [] : [rule];
};

/** Returns what the document says, field by field, or null if it says nothing. */
export function readOpinion(
  document: IndexedDocument,
  tool: string,
  tier: Tier,
  agentType: string,
  answers: CaseAnswers,
): Opinion | null {
  const ofKeys = matchingRules(document, tool, tier).map((rule) => waysOf(rule, document.part, answers));
  const ofType = rulesOfType(document, tier, agentType).map((rule) => waysOf(rule, document.part, answers));
  if (ofKeys.length === 0 && ofType.length === 0) return null;
  const limitsOfKeys = fieldWays(ofKeys, ({ limits }) => limits);
  const limitsOfType = fieldWays(ofType, ({ limits }) => limits);
  return {
    permission: combined(ofKeys, ofType, ({ permission }) => permission),
    transform: combined(ofKeys, ofType, ({ transform }) => transform),
    limits: {
      sayings: distinctSayings([...limitsOfKeys, ...limitsOfType].flat()),
      replaces: [limitsOfKeys, limitsOfType].some((ways) => ways.every((sayings) => sayings.some(({ override }) => override))),
    },
  };
}

/**
 * Returns the rules that match the tool, in this order: `tools[tool]`, then the wildcards that match its beginning,
 * longest first, then `defaults`.
 */
function matchingRules(document: IndexedDocument, tool: string, tier: Tier): readonly PlacedRule[] {
  const places: (PlacedRules | undefined)[] = [document.exact.get(tool)];
  if (document.wildcards.size > 0) {
    for (let end = tool.length; end > 0; end--) places.push(document.wildcards.get(tool.slice(0, end)));
  }
  places.push(document.defaults);
  return places.flatMap((rules) => rules?.get(tier) ?? []);
}

/** The fields of one rule object in one way: its own, or those of a case in their place. */
interface RuleFields {
  readonly permission: readonly Saying<Permission>[];
  readonly transform: readonly Saying<Transform>[];
  readonly limits: readonly Saying<number>[];
}

/** Returns the ways in which a rule may speak: as each of its undecided cases, and as its case or as it is. */
function waysOf(placed: PlacedRule, part: Part | null, answers: CaseAnswers): readonly RuleFields[] {
  if (placed.cases === null) return [fieldsOf(placed, null, part)];
  const { held, undecided } = answers(placed);
  return [...undecided, held].map((at) => fieldsOf(placed, placed.cases?.[at] ?? null, part));
}

function fieldsOf({ rule, path }: PlacedRule, one: PlacedCase | null, part: Part | null): RuleFields {
  // `override` in a member's own part was already rejected when it was written. It is ignored here too.
  const override = rule.override === true && part !== 'self';
  const reason = one?.fields.reason === undefined ? {} : { reason: one.fields.reason };
  const saying = <T>(own: T | undefined, ofCase: T | undefined): readonly Saying<T>[] => {
    if (ofCase !== undefined) return [{ value: ofCase, path: one?.path ?? path, override, ...reason }];
    return own === undefined ? [] : [{ value: own, path, override, ...reason }];
  };
  return {
    permission: saying(rule.permission, one?.fields.permission),
    transform: saying(rule.transform, one?.fields.transform),
    // The limit of a case is added: a call of the case counts in both.
    limits: [...saying(rule.rateLimit, undefined), ...saying(undefined, one?.fields.rateLimit)],
  };
}

/**
 * Returns what the rules say about one field: the first rule that sets it. A rule that sets it only in some ways passes
 * the other ways on to the next rule.
 */
function fieldWays<T>(rules: readonly (readonly RuleFields[])[], field: (fields: RuleFields) => readonly Saying<T>[]): Ways<T> {
  const ways: (readonly Saying<T>[])[] = [];
  for (const rule of rules) {
    const sayings = rule.map(field);
    ways.push(...sayings.filter(({ length }) => length > 0));
    if (sayings.every(({ length }) => length > 0)) return ways;
  }
  return [...ways, []];
}

function combined<T>(
  ofKeys: readonly (readonly RuleFields[])[],
  ofType: readonly (readonly RuleFields[])[],
  field: (fields: RuleFields) => readonly Saying<T>[],
): Ways<T> {
  const byType = distinctWays(fieldWays(ofType, field));
  return distinctWays(fieldWays(ofKeys, field)).flatMap((sayings) => byType.map((more) => [...sayings, ...more]));
}

/** Keeps one of the ways that have the same effect. */
function distinctWays<T>(ways: Ways<T>): Ways<T> {
  if (ways.length === 1) return ways;
  const byEffect = new Map(ways.toReversed().map((sayings) => [sayings.map(({ value, override }) => `${value} ${override}`).join(), sayings]));
  return [...byEffect.values()].toReversed();
}

function distinctSayings(sayings: readonly Saying<number>[]): readonly Saying<number>[] {
  return sayings.length < 2 ? sayings : [...new Map(sayings.map((saying) => [saying.path, saying])).values()];
}
