// Indexes one document. A few lookups find what it says about a tool and a tier, even if it has many rules.
import {
  askDigest,
  type AskingRule,
  childPath,
  type CompiledAsk,
  type CompiledCase,
  type CompiledDocument,
  documentKey,
  keyedPath,
  type Layer,
  type Part,
  type Rule,
  type RulePermission,
  rulePath,
  type Tier,
  type TierRules,
  type Transform,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import { compileCondition, type Condition } from '../conditions/condition.ts';
import { isShownHeader } from '../conditions/headers.ts';
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
  /** Whether some rule has cases. */
  readonly hasCases: boolean;
  /** The headers that its conditions name and that an input may contain. */
  readonly headers: readonly string[];
}

type PlacedRules = ReadonlyMap<Tier, PlacedRule>;

/** A rule at its place in a document. */
export interface PlacedRule {
  readonly rule: Rule;
  readonly path: string;
  /** What a person is asked by. Null: the rule itself does not ask. */
  readonly ask: AskingRule | null;
  /** Null: the rule has no cases. */
  readonly cases: readonly PlacedCase[] | null;
}

/** A case of a rule. */
export interface PlacedCase {
  /** For example `tools["payments.transfer"].api.cases["large"]`. */
  readonly path: string;
  readonly condition: Condition;
  /** Whether the condition reads `agent`, which differs between the hops of a chain. */
  readonly readsAgent: boolean;
  /** What a person is asked by. Null: the case does not ask. */
  readonly ask: AskingRule | null;
  readonly fields: Omit<CompiledCase, 'name' | 'when'>;
}

/** Which cases of a rule may be the case of a call. If none is undecided, `held` is the case of the call. */
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
  /** Whether it replaces what broader documents say. */
  readonly override: boolean;
  /** The reason that a case gives. */
  readonly reason?: string;
  /** Present if it is the limit of a case that may not be the case of the call. */
  readonly uncertain?: true;
  /** Present if the value is `ask`: what a person is asked by. Several only if cases are undecided. */
  readonly asks?: readonly AskingRule[];
}

/**
 * What a document may say about one field. There are several ways only if cases are undecided. In each way the field has
 * at most one saying. Only in a user document it may have two: the second comes from `agentTypes`.
 */
export type Ways<T> = readonly (readonly Saying<T>[])[];

/** What a document says about a call. */
export interface Opinion {
  readonly permission: Ways<RulePermission>;
  readonly transform: Ways<Transform>;
  /** The limits of all ways, from broad to specific. All of them count the call. */
  readonly limits: readonly Saying<number>[];
}

export function indexDocument(document: CompiledDocument): IndexedDocument {
  const documentName = documentKey(document.id);
  const placeRules = (section: Section, key: string | null, rules: TierRules): PlacedRules =>
    new Map(rules.map(([tier, rule]) => [tier, placeRule(documentName, rule, rulePath(section, key, tier))]));
  const exact = new Map<string, PlacedRules>();
  const wildcards = new Map<string, PlacedRules>();
  for (const [key, rules] of document.tools) {
    const placed = placeRules('tools', key, rules);
    exact.set(key, placed);
    const prefix = wildcardPrefix(key);
    if (prefix !== null) wildcards.set(prefix, placed);
  }
  const defaults = placeRules('defaults', null, document.defaults);
  const agentTypes = new Map(document.agentTypes.map(([key, rules]) => [key, placeRules('agentTypes', key, rules)]));
  const hasCases = haveCases([defaults]) || haveCases(exact.values()) || haveCases(agentTypes.values());
  return {
    key: documentName,
    layer: document.id.layer,
    part: document.id.layer === 'user' ? document.id.part : null,
    enforces: document.mode === 'enforce',
    defaults,
    exact,
    wildcards,
    agentTypes,
    spelled: spelledNames(exact.keys()),
    hasCases,
    headers: hasCases ? headersNamedIn([defaults, ...exact.values(), ...agentTypes.values()]) : noHeaders,
  };
}

type Section = 'defaults' | 'tools' | 'agentTypes';

function placeRule(document: string, rule: Rule, path: string): PlacedRule {
  const ask = askAt(document, path, rule.ask);
  if (rule.cases === undefined) return { rule, path, ask, cases: null };
  const placeCase = ({ name, when, ...fields }: CompiledCase): PlacedCase => {
    const place = keyedPath(childPath(path, 'cases'), name);
    return {
      path: place,
      condition: compileCondition(when),
      readsAgent: readsAgent(when),
      ask: askAt(document, place, fields.ask),
      fields,
    };
  };
  return { rule, path, ask, cases: rule.cases.map(placeCase) };
}

const askAt = (document: string, path: string, terms: CompiledAsk | undefined): AskingRule | null =>
  terms === undefined ? null : Object.freeze({ document, path, digest: askDigest(document, path, terms), terms });

const noHeaders: readonly string[] = [];

const headersNamedIn = (places: readonly PlacedRules[]): readonly string[] =>
  places.flatMap((rules) =>
    [...rules.values()].flatMap(({ cases }) => (cases ?? []).flatMap(({ condition }) => condition.headers?.filter(isShownHeader) ?? [])),
  );

const readsAgent = (node: unknown): boolean => Array.isArray(node) && ((node[0] === 'var' && node[1] === 'agent') || node.some(readsAgent));

function haveCases(places: Iterable<PlacedRules>): boolean {
  for (const rules of places) for (const { cases } of rules.values()) if (cases !== null) return true;
  return false;
}

/**
 * Returns the rules whose cases may change what the document says about a call, in the order in which they are read. A
 * rule is left out if each field of its cases is set by a rule that is read before it.
 */
export function casedRules(document: IndexedDocument, tool: string, tier: Tier, agentType: string): readonly PlacedRule[] {
  if (!document.hasCases) return [];
  const free = { permission: true, rateLimit: true, transform: true };
  const reached = matchingRules(document, tool, tier).filter(({ rule, cases }) => {
    const matters = cases?.some(
      ({ fields: { permission, reason, rateLimit, transform } }) =>
        (free.permission && (permission !== undefined || reason !== undefined)) ||
        (free.rateLimit && rateLimit !== undefined) ||
        (free.transform && transform !== undefined),
    );
    free.permission &&= rule.permission === undefined;
    free.rateLimit &&= rule.rateLimit === undefined;
    free.transform &&= rule.transform === undefined;
    return matters === true;
  });
  const ofType = document.agentTypes.get(agentType)?.get(tier);
  return ofType === undefined || ofType.cases === null ? reached : [...reached, ofType];
}

/** Returns what the document says, field by field, or null if it says nothing. */
export function readOpinion(document: IndexedDocument, tool: string, tier: Tier, agentType: string, answers: CaseAnswers): Opinion | null {
  const rules = matchingRules(document, tool, tier);
  const ofType = document.agentTypes.get(agentType)?.get(tier);
  if (rules.length === 0 && ofType === undefined) return null;
  const reading = { part: document.part, answers };
  const further = ofType === undefined ? [] : [ofType];
  return {
    permission: waysOf(rules, further, permissionField, reading),
    transform: waysOf(rules, further, transformField, reading),
    limits: further.length === 0 ? limitsOf(rules, reading) : [...limitsOf(rules, reading), ...limitsOf(further, reading)],
  };
}

/** Every saying of a document about a call, also if several ways have the same effect. */
export interface Sayings {
  readonly permission: readonly Saying<RulePermission>[];
  readonly transform: readonly Saying<Transform>[];
}

/** Returns every saying that a document may act by. It is for people: `readOpinion` returns what is needed to decide. */
export function everySaying(document: IndexedDocument, tool: string, tier: Tier, agentType: string, answers: CaseAnswers): Sayings {
  const ofType = document.agentTypes.get(agentType)?.get(tier);
  const rules = [matchingRules(document, tool, tier), ofType === undefined ? [] : [ofType]];
  const reading = { part: document.part, answers };
  return {
    permission: rules.flatMap((one) => everyIn(one, permissionField, reading)),
    transform: rules.flatMap((one) => everyIn(one, transformField, reading)),
  };
}

/** As `lookUp`, but also with ways of the same effect. */
function everyIn<T extends RulePermission | Transform>(
  rules: readonly PlacedRule[],
  field: Field<T>,
  { part, answers }: Reading,
): readonly Saying<T>[] {
  const sayings: Saying<T>[] = [];
  for (const placed of rules) {
    const found = mayApply(placed, answers).map((one) => sayingOf(placed, one, field, part));
    sayings.push(...found.filter((one) => one !== null));
    if (!found.includes(null)) break;
  }
  return sayings;
}

/**
 * Returns the rules that match the tool, in this order: `tools[tool]`, then the wildcards that match its beginning,
 * longest first, then `defaults`.
 */
function matchingRules(document: IndexedDocument, tool: string, tier: Tier): readonly PlacedRule[] {
  const exact = document.exact.get(tool);
  const places = [exact];
  if (document.wildcards.size > 0) {
    for (let end = tool.length; end > 0; end--) {
      const rules = document.wildcards.get(tool.slice(0, end));
      // A tool may have the name `git.*`: then the key is exact and a wildcard.
      if (rules !== exact) places.push(rules);
    }
  }
  places.push(document.defaults);
  return places.flatMap((rules) => rules?.get(tier) ?? []);
}

interface Reading {
  readonly part: Part | null;
  readonly answers: CaseAnswers;
}

/** One field of a rule or of a case. */
interface Field<T extends RulePermission | Transform> {
  read(fields: Pick<Rule, 'permission' | 'transform'>): T | undefined;
  /** Whether the reason of a case is a reason for this field. */
  readonly hasReason: boolean;
}

const permissionField: Field<RulePermission> = { read: ({ permission }) => permission, hasReason: true };
const transformField: Field<Transform> = { read: ({ transform }) => transform, hasReason: false };

const asItIs: readonly null[] = [null];

/** Returns the cases that may be the case of the call, in their order. Null at the end: the rule may apply as it is. */
function mayApply(placed: PlacedRule, answers: CaseAnswers): readonly (PlacedCase | null)[] {
  const { cases } = placed;
  if (cases === null) return asItIs;
  const { held, undecided } = answers(placed);
  return [...undecided, held].map((at) => cases[at] ?? null);
}

/**
 * Returns what the rules may say about one field: the first rule that sets it. A rule that sets it only in some ways
 * leaves it to the next rule in the other ways. Null: no rule sets it. Of ways with the same effect, the first is returned.
 */
function lookUp<T extends RulePermission | Transform>(
  rules: readonly PlacedRule[],
  field: Field<T>,
  { part, answers }: Reading,
): readonly (Saying<T> | null)[] {
  const ways: Saying<T>[] = [];
  for (const placed of rules) {
    let isSet = true;
    for (const one of mayApply(placed, answers)) {
      const saying = sayingOf(placed, one, field, part);
      if (saying === null) {
        isSet = false;
        continue;
      }
      const same = ways.findIndex(({ value, override }) => value === saying.value && override === saying.override);
      const way = ways[same];
      if (way === undefined) ways.push(saying);
      // All that may ask count, although the first is returned.
      else if (saying.asks !== undefined) ways[same] = { ...way, asks: joinAsks(way.asks, saying.asks) };
    }
    if (isSet) return ways;
  }
  return [...ways, null];
}

/** Returns what a rule says about one field if `one` is the case of the call. */
function sayingOf<T extends RulePermission | Transform>(
  { rule, path, ask }: PlacedRule,
  one: PlacedCase | null,
  field: Field<T>,
  part: Part | null,
): Saying<T> | null {
  const ofCase = one === null ? undefined : field.read(one.fields);
  const value = ofCase ?? field.read(rule);
  if (value === undefined) return null;
  const speaks = one === null || ofCase === undefined ? { path, ask } : one;
  const place = { value, path: speaks.path, override: overrides(rule, part) };
  const saying = value === 'ask' && speaks.ask !== null ? { ...place, asks: [speaks.ask] } : place;
  return one?.fields.reason === undefined || !field.hasReason ? saying : { ...saying, reason: one.fields.reason };
}

/** Returns the rules of both lists, each once. */
export const joinAsks = (a: readonly AskingRule[] = [], b: readonly AskingRule[] = []): readonly AskingRule[] =>
  a.length === 0 ? b : [...a, ...b.filter((one) => !a.some(({ digest }) => digest === one.digest))];

// `override` in a member's own part was already rejected when it was written. It is ignored here too.
const overrides = ({ override }: Rule, part: Part | null): boolean => override === true && part !== 'self';

/** Returns each way of the rules that are looked up, together with each way of the rule for the agent type. */
function waysOf<T extends RulePermission | Transform>(
  rules: readonly PlacedRule[],
  further: readonly PlacedRule[],
  field: Field<T>,
  reading: Reading,
): Ways<T> {
  const ways = lookUp(rules, field, reading).map((one) => (one === null ? [] : [one]));
  if (further.length === 0) return ways;
  const more = lookUp(further, field, reading).map((one) => (one === null ? [] : [one]));
  return ways.flatMap((one) => more.map((other) => [...one, ...other]));
}

/**
 * Returns the limits that count the call: that of the first rule that has one, and those of the cases of all rules up to
 * it. The limit of a case is added to the others, and replaces none.
 */
function limitsOf(rules: readonly PlacedRule[], { part, answers }: Reading): readonly Saying<number>[] {
  const limits: (readonly Saying<number>[])[] = [];
  for (const placed of rules) {
    const { rule, path, cases } = placed;
    if (cases !== null) limits.push(limitsOfCases(mayApply(placed, answers)));
    if (rule.rateLimit === undefined) continue;
    limits.push([{ value: rule.rateLimit, path, override: overrides(rule, part) }]);
    break;
  }
  return limits.reverse().flat();
}

const limitsOfCases = (may: readonly (PlacedCase | null)[]): readonly Saying<number>[] =>
  may.flatMap((one) => {
    if (one?.fields.rateLimit === undefined) return [];
    const saying = { value: one.fields.rateLimit, path: one.path, override: false };
    return [may.length === 1 ? saying : { ...saying, uncertain: true as const }];
  });
