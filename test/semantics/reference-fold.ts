// The part of the reference evaluator that reads rules: which of them match a call, what they may be if they have cases,
// and what follows from all layers. It is docs/design/semantics.md, line by line: every combination is made and decided. It
// imports nothing from this repository.
import {
  type Case,
  hidden,
  type Permission,
  type Rule,
  type RulePermission,
  type Tier,
  type Transform,
  type UserDocument,
  type Winner,
} from './world.ts';

// === Names

export const own = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;

/** `github.*` matches tools that begin with `github.`. `*` alone and `git*` are ordinary names. */
function isWildcard(key: string): boolean {
  return key.endsWith('.*') || key.endsWith('_*') || key.endsWith('/*') || key.endsWith(':*') || key.endsWith('-*');
}

/** Returns whether a key that ends in a wildcard matches the tool. */
export const wildcardMatches = (key: string, tool: string): boolean => isWildcard(key) && tool.startsWith(key.slice(0, -1));

// === Conditions

/** What conditions read of a call at one hop: the fields of each variable. */
export type Facts = Readonly<Record<'args' | 'tool' | 'agent' | 'user', Readonly<Record<string, unknown>>>>;

/** Null: undecided. */
type Truth = boolean | null;

/**
 * Returns whether a condition holds. This understands only what the tests use: tests of fields (`has(args.a)`,
 * `!has(args.a)`, `args.a > 5`, `agent.tier == "api"`, `true`, `false`), joined by `&&` and `||`, without parentheses.
 */
function truthOf(when: string, facts: Facts): Truth {
  const both = (truths: readonly Truth[]): Truth => (truths.includes(false) ? false : truths.includes(null) ? null : true);
  const either = (truths: readonly Truth[]): Truth => (truths.includes(true) ? true : truths.includes(null) ? null : false);
  return either(when.split(' || ').map((part) => both(part.split(' && ').map((test) => truthOfTest(test, facts)))));
}

function truthOfTest(test: string, facts: Facts): Truth {
  if (test === 'true' || test === 'false') return test === 'true';
  const [, not, present] = /^(!?)has\(args\.(\w+)\)$/.exec(test) ?? [];
  if (present !== undefined) {
    const value = own(facts.args, present);
    return value === hidden ? null : (value !== undefined) !== (not === '!');
  }
  const [, variable, field, sign, literal] = /^(args|tool|agent|user)\.(\w+) (==|!=|<|>) (.+)$/.exec(test) ?? [];
  if (variable === undefined || field === undefined || literal === undefined) throw new Error(`the reference does not understand ${test}`);
  const value = own(facts[variable as keyof Facts], field);
  const other: unknown = JSON.parse(literal);
  if (value === undefined || value === hidden) return null;
  if (sign === '<' || sign === '>') {
    if (typeof value !== 'number' || typeof other !== 'number') return null;
    return sign === '<' ? value < other : value > other;
  }
  // Null may be compared with everything. Values of other types than the literal are undecided.
  if (value !== null && other !== null && typeof value !== typeof other) return null;
  return (value === other) === (sign === '==');
}

// === What one document sets for (tool, tier)

/** One rule of one document. */
export interface Spot {
  readonly path: string;
  readonly rule: Rule;
  /** Whether each of its cases holds. */
  readonly truths: readonly Truth[];
}

/** The rules of one document that match a call. */
export interface Spots {
  /** Those under `tools` and `defaults`, in the order in which they are looked up. */
  readonly ofKeys: readonly Spot[];
  /** The one under `agentTypes`, if there is one. */
  readonly ofType: readonly Spot[];
}

export function spotsOf(
  document: UserDocument,
  tool: string,
  { tier, agentType, facts }: { readonly tier: Tier; readonly agentType: string; readonly facts: Facts },
): Spots {
  const wildcards = Object.keys(document.tools ?? {})
    .filter((key) => key !== tool && wildcardMatches(key, tool))
    .sort((a, b) => b.length - a.length);
  const spot = (path: string, rule: Rule | undefined): Spot[] =>
    rule === undefined ? [] : [{ path, rule, truths: (rule.cases ?? []).map(({ when }) => truthOf(when, facts)) }];
  const ofTools = [tool, ...wildcards].flatMap((key) => spot(`tools[${JSON.stringify(key)}].${tier}`, own(own(document.tools, key), tier)));
  return {
    ofKeys: [...ofTools, ...spot(`defaults.${tier}`, own(document.defaults, tier))],
    ofType: spot(`agentTypes[${JSON.stringify(agentType)}].${tier}`, own(own(document.agentTypes, agentType), tier)),
  };
}

/**
 * Returns the cases that may be the case of the call: each undecided one before the first that holds, and then that one.
 * If none holds, the last is null: the rule as it is.
 */
export function mayBe({ rule: { cases = [] }, truths }: Spot): readonly (Case | null)[] {
  const held = truths.indexOf(true);
  const undecided = cases.filter((_, i) => truths[i] === null && (held < 0 || i < held));
  return [...undecided, cases[held] ?? null];
}

const casePath = (path: string, { name }: Case): string => `${path}.cases[${JSON.stringify(name)}]`;

/** One value that a rule may have for one field. */
export interface Saying<T> {
  readonly value: T;
  readonly path: string;
  readonly override: boolean;
  /** The places of all that ask, if the value is `ask`. */
  readonly asks?: readonly string[];
}

type Choice = 'permission' | 'transform';

/**
 * Returns what a rule says about a field in each way, each different value once. Undefined: it does not set the field. If it
 * asks in several ways, all that ask count.
 */
export function sayingsOf(spot: Spot, field: Choice): readonly Saying<RulePermission | Transform | undefined>[] {
  const all = mayBe(spot).map((one) => ({
    value: one?.[field] ?? spot.rule[field],
    path: one?.[field] === undefined ? spot.path : casePath(spot.path, one),
    override: spot.rule.override === true,
  }));
  const asks = [...new Set(all.filter(({ value }) => value === 'ask').map(({ path }) => path))];
  return all
    .filter(({ value }, i) => all.findIndex((other) => other.value === value) === i)
    .map((saying) => (saying.value === 'ask' ? { ...saying, asks } : saying));
}

// === Folding the layers

/** One value of one document, with its place. */
export interface Standing extends Saying<RulePermission | Transform | number> {
  readonly layer: 'workspace' | 'role' | 'agent-type' | 'user';
  readonly part?: 'organisation' | 'self';
  /** The id of the document and the place in it. */
  readonly id: string;
  /** The name of the document in reasons: `role:member`. */
  readonly document: string;
}

export interface Layer extends Spots {
  readonly audit: boolean;
  readonly isSelf: boolean;
  /** Names a saying of this layer. */
  readonly stand: (saying: Saying<RulePermission | Transform | number>) => Standing;
}

export interface FoldedRules {
  readonly permission: RulePermission;
  /** Every rule that asks, as `<document> <path>`, if the permission is `ask`. */
  readonly asks: readonly string[];
  readonly transform: Transform;
  readonly winner: Winner;
  readonly limits: readonly Standing[];
  /** Whether the call is allowed, or asked for, in some way that the undecided cases may turn out. */
  readonly mayAllow: boolean;
}

export const strictestPermission = (values: readonly unknown[]): RulePermission | null =>
  values.includes('deny') ? 'deny' : values.includes('ask') ? 'ask' : values.includes('allow') ? 'allow' : null;
const strictestTransform = (values: readonly unknown[]): Transform | null =>
  values.includes('redact') ? 'redact' : values.includes('log') ? 'log' : null;

/** Returns every list that takes one of each list. */
const combinations = <T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] =>
  lists.reduce<readonly (readonly T[])[]>((made, list) => made.flatMap((one) => list.map((next) => [...one, next])), [[]]);

/** What a rule says in one combination. `at`: its layer, and its rule and way there, in the order of look-up. */
interface Said {
  readonly layer: number;
  readonly isOfType: boolean;
  readonly at: readonly [rule: number, way: number];
  /** Null: the rule does not set the field. */
  readonly standing: Standing | null;
}

/** The result of one combination. The default: `holder` is null. */
interface Result<T> {
  readonly value: T;
  readonly holder: Standing | null;
  /** The layer of the holder. -1: the default. */
  readonly layer: number;
  /** Where the rules of that layer speak, in the order of look-up. */
  readonly place: readonly number[];
  /** Every rule that asks. */
  readonly asks: readonly string[];
}

/**
 * Decides one field in every combination of what the rules may be. Each rule with undecided cases is one of the rules that
 * it may be, whatever the others are.
 */
function resultsOf<T extends RulePermission | Transform>(
  layers: readonly Layer[],
  field: Choice,
  strictest: (values: readonly unknown[]) => T | null,
  builtIn: T,
): readonly Result<T>[] {
  const rules = layers.flatMap((layer, i) => {
    const ways = (spot: Spot, isOfType: boolean, rule: number): Said[] =>
      sayingsOf(spot, field).map(({ value, ...saying }, way) => ({
        layer: i,
        isOfType,
        at: [rule, way],
        standing: value === undefined ? null : layer.stand({ value, ...saying }),
      }));
    return [...layer.ofKeys.map((spot, rule) => ways(spot, false, rule)), ...layer.ofType.map((spot, rule) => ways(spot, true, rule))];
  });
  return combinations(rules).map((said) => resultOf(layers, said, strictest, builtIn));
}

function resultOf<T extends RulePermission | Transform>(
  layers: readonly Layer[],
  said: readonly Said[],
  strictest: (values: readonly unknown[]) => T | null,
  builtIn: T,
): Result<T> {
  /** In one combination, one document sets the field by the first of its keys that sets it, and by its agent type. */
  const speaking = (layer: number): readonly Said[] =>
    [false, true].flatMap(
      (isOfType) => said.find((one) => one.layer === layer && one.isOfType === isOfType && one.standing !== null) ?? [],
    );
  let acc: { readonly layer: number; readonly standing: Standing | null }[] = [];
  for (const [layer, { isSelf }] of layers.entries()) {
    if (isSelf) continue;
    const overriding = speaking(layer).filter(({ standing }) => standing?.override);
    const plain = speaking(layer).filter(({ standing }) => !standing?.override);
    // An override replaces what broader layers set. The rest of its document is then added.
    if (overriding.length > 0) acc = [];
    acc.push(...overriding, ...plain);
  }
  const organisation = strictest(acc.map(({ standing }) => standing?.value)) ?? builtIn;
  // A member's own part comes last, and the strictest value wins.
  const self = layers.flatMap(({ isSelf }, layer) => (isSelf ? speaking(layer) : []));
  const value = strictest([organisation, ...self.map(({ standing }) => standing?.value)]) ?? builtIn;
  const last = [...acc, ...self].findLast(({ standing }) => standing?.value === value);
  const asks = [...acc, ...self].flatMap(({ standing }) => (standing?.asks ?? []).map((path) => `${standing?.document} ${path}`));
  if (last === undefined) return { value, holder: null, layer: -1, place: [], asks };
  const never = [Infinity, Infinity];
  const place = [false, true].flatMap((isOfType) => speaking(last.layer).find((one) => one.isOfType === isOfType)?.at ?? never);
  return { value, holder: last.standing, layer: last.layer, place, asks };
}

/** Returns the strictest result. Of several with its value, that of the most specific layer, and there the first by look-up. */
function strictestResult<T>(results: readonly Result<T>[], strictest: (values: readonly unknown[]) => T | null): Result<T> {
  const value = strictest(results.map((result) => result.value));
  const [first] = results
    .filter((result) => result.value === value)
    .toSorted(
      (a, b) =>
        b.layer - a.layer || a.place.map((at, i) => (at === b.place[i] ? 0 : at - (b.place[i] ?? 0))).find((sign) => sign !== 0) || 0,
    );
  if (first === undefined) throw new Error('there is at least one combination');
  return first;
}

/** The limits of one layer, from broad to specific. */
function limitsOf({ ofKeys, ofType, stand }: Layer): readonly Standing[] {
  const ofSpot = (spot: Spot): Standing[] => {
    const { rule, path } = spot;
    const override = rule.override === true;
    const own = rule.rateLimit === undefined ? [] : [stand({ value: rule.rateLimit, path, override })];
    // The limit of a case is added. It replaces nothing.
    const added = mayBe(spot).flatMap((one) =>
      one?.rateLimit === undefined ? [] : [stand({ value: one.rateLimit, path: casePath(path, one), override: false })],
    );
    return [...own, ...added];
  };
  const first = ofKeys.findIndex(({ rule }) => rule.rateLimit !== undefined);
  const read = first < 0 ? ofKeys : ofKeys.slice(0, first + 1);
  return [...read.toReversed(), ...ofType].flatMap(ofSpot);
}

export function fold(layers: readonly Layer[], defaultPermission: Permission): FoldedRules {
  const permissions = resultsOf(layers, 'permission', strictestPermission, defaultPermission);
  const permission = strictestResult(permissions, strictestPermission);
  const transform = strictestResult(resultsOf(layers, 'transform', strictestTransform, 'log'), strictestTransform);
  let limits: Standing[] = [];
  for (const layer of [...layers.filter(({ isSelf }) => !isSelf), ...layers.filter(({ isSelf }) => isSelf)]) {
    const said = limitsOf(layer);
    if (said.some(({ override }) => override)) limits = [];
    limits.push(...said);
  }
  // The limit of an undecided case counts the call, but the case may turn out not to hold.
  const uncertain = layers.flatMap(({ ofKeys, ofType, stand }) =>
    [...ofKeys, ...ofType].flatMap((spot) =>
      mayBe(spot).length === 1
        ? []
        : mayBe(spot).flatMap((one) => (one === null ? [] : [stand({ value: 0, path: casePath(spot.path, one), override: false }).id])),
    ),
  );
  return {
    permission: permission.value,
    // In whatever way the undecided cases turn out, all that may ask count.
    asks: permission.value === 'ask' ? permissions.flatMap(({ asks }) => asks) : [],
    transform: transform.value,
    winner: permission.holder === null ? { layer: 'default', path: '' } : winnerFrom(permission.holder),
    limits,
    mayAllow: permissions.some(({ value }) => value !== 'deny') && limits.every(({ value, id }) => value !== 0 || uncertain.includes(id)),
  };
}

export const winnerFrom = ({ layer, part, path, override }: Standing): Winner => ({
  layer,
  ...(part && { part }),
  path,
  ...(override && { override: true as const }),
});

/** Folds each hop separately. The strictest result holds, and is attributed to the last hop that holds it. */
export function foldChain(hops: readonly FoldedRules[]): FoldedRules {
  const permission = strictestPermission(hops.map((hop) => hop.permission)) ?? 'deny';
  const winner = hops.findLast((hop) => hop.permission === permission)?.winner;
  return {
    permission,
    asks: permission === 'ask' ? hops.flatMap(({ asks }) => asks) : [],
    transform: strictestTransform(hops.map((hop) => hop.transform)) ?? 'log',
    mayAllow: hops.every((hop) => hop.mayAllow),
    winner: winner ?? { layer: 'default', path: '' },
    limits: hops.flatMap((hop) => hop.limits),
  };
}
