// Defines the capabilities: what newer versions of the programs understand and the first version does not. Each program
// names its capabilities when it connects. If policy needs a capability that the other program lacks, that program
// receives a stricter policy: a rule is sent as a denial, and an entry of an unknown kind is not sent. Pure.
import type { CompiledCase, CompiledDocument, Rule, TierRules } from './snapshot.ts';

/** The capabilities of this version, as a hello names them. */
export const capabilities: readonly string[] = ['deltas', 'agent-ceiling', 'outage-caps', 'conditions', 'approvals'];

/** The capability that is needed to understand each part of policy. Null: every version understands it. */
export interface Needs {
  /** Keys: the fields of a rule. */
  readonly rule: Readonly<Record<string, string | null>>;
  /** Keys: the fields of a case. */
  readonly case: Readonly<Record<string, string | null>>;
  /** Keys: the values of `permission`, in a rule or a case. */
  readonly permission: Readonly<Record<string, string | null>>;
  /** Keys: the text before the `/` in an entry's key. */
  readonly entry: Readonly<Record<string, string | null>>;
  /**
   * Keys: the path of a setting in the workspace document, as `section.field`. A program that lacks the capability
   * ignores the setting.
   */
  readonly setting: Readonly<Record<string, string | null>>;
}

/**
 * A developer who adds a field or a kind of entry adds a line for it here. If the line names a capability, the
 * developer also adds this capability to `capabilities`.
 */
export const policyNeeds: Needs = {
  rule: { permission: null, ask: 'approvals', rateLimit: null, transform: null, override: null, cases: 'conditions' },
  case: { name: null, when: null, permission: null, ask: 'approvals', rateLimit: null, transform: null, reason: null },
  permission: { allow: null, ask: 'approvals', deny: null },
  entry: { settings: null, document: null, agent: null, member: null, key: null, server: null },
  setting: { 'outage.caps': 'outage-caps' },
};

/** Returns all capabilities that policy may need. */
export const needable = (needs: Needs): readonly string[] => [
  ...new Set(
    [needs.rule, needs.case, needs.permission, needs.entry, needs.setting]
      .flatMap((table) => Object.values(table))
      .filter((need) => need !== null),
  ),
];

/**
 * Returns the capability for a field. A field that is not in the table needs a capability with the field's own name,
 * which no program has.
 */
const needOf = (table: Needs['rule'], name: string): string | null => (Object.hasOwn(table, name) ? (table[name] ?? null) : name);

/** Returns the capabilities that are needed to understand a rule and its cases, as it is stored or compiled. */
export function needsOfRule(rule: object, needs: Needs): readonly string[] {
  const ofFields = (of: object, table: Needs['rule']): readonly string[] =>
    Object.entries(of).flatMap(([field, value]) => [
      ...listed(needOf(table, field)),
      ...(field === 'permission' ? listed(needOf(needs.permission, String(value))) : []),
    ]);
  const cases: unknown = Object.hasOwn(rule, 'cases') ? Object(rule).cases : undefined;
  const ofCases = Array.isArray(cases) ? cases.flatMap((one: unknown) => ofFields(Object(one), needs.case)) : [];
  return [...ofFields(rule, needs.rule), ...ofCases];
}

/** Returns the capabilities that are needed to apply the settings that a workspace document contains. */
export const needsOfSettings = (document: object, { setting }: Needs): readonly string[] =>
  Object.entries(setting).flatMap(([path, need]) => {
    const said = path.split('.').reduce<unknown>((of, field) => Object(of)[field], document);
    return said === undefined || need === null ? [] : [need];
  });

const listed = (need: string | null): readonly string[] => (need === null ? [] : [need]);

type PlainRule = Omit<Rule, 'cases' | 'ask'> & { readonly cases?: never; readonly ask?: never };

interface LowerableRule extends Omit<Rule, 'cases' | 'ask'> {
  readonly ask?: unknown;
  readonly cases?: readonly Pick<CompiledCase, 'name' | 'rateLimit' | 'transform'>[];
}

/**
 * Returns the rule in the form for a program that lacks some capabilities. If the rule needs one of them, the result is
 * a denial without `override`. The fields that the program understands stay: an exception elsewhere may remove the
 * denial, and then these fields still apply. In place of cases, the strictest fields that a case may set are sent.
 */
export function loweredRule<R extends LowerableRule>(rule: R, lacks: (need: string) => boolean, needs: Needs): R | PlainRule {
  const isKnown = ([field, value]: readonly [string, unknown]): boolean => !needsOfRule({ [field]: value }, needs).some(lacks);
  const fields = Object.entries(rule);
  if (fields.every(isKnown)) return rule;
  const sent = [...fields, ...Object.entries(strictestFields(rule.cases ?? []))];
  return {
    ...Object.fromEntries(sent.filter((field) => isKnown(field) && field[0] !== 'override' && field[0] !== 'cases')),
    permission: 'deny',
  };
}

/** A limit of a case counts only the calls of that case, so in its place no call is allowed. */
const strictestFields = (cases: NonNullable<LowerableRule['cases']>): Pick<Rule, 'rateLimit' | 'transform'> => ({
  ...(cases.some(({ rateLimit }) => rateLimit !== undefined) ? { rateLimit: 0 } : {}),
  ...(cases.some(({ transform }) => transform === 'redact') ? { transform: 'redact' as const } : {}),
});

/** Returns the document with all its rules in the form of `loweredRule`. */
export function loweredDocument(document: CompiledDocument, lacks: ReadonlySet<string>, needs: Needs): CompiledDocument {
  const lowered = (rule: Rule): Rule => loweredRule(rule, (need) => lacks.has(need), needs);
  const tierRules = (rules: TierRules): TierRules => rules.map(([tier, rule]) => [tier, lowered(rule)]);
  const places = (of: CompiledDocument['tools']): CompiledDocument['tools'] => of.map(([name, rules]) => [name, tierRules(rules)]);
  return {
    ...document,
    defaults: tierRules(document.defaults),
    tools: places(document.tools),
    agentTypes: places(document.agentTypes),
  };
}

/** Returns whether a program that lacks some capabilities receives an entry with this key. */
export function isEntryKnown(key: string, lacks: ReadonlySet<string>, { entry }: Needs): boolean {
  const need = needOf(entry, key.split('/', 1)[0] ?? '');
  return need === null || !lacks.has(need);
}

const nameForm = /^[a-z][a-z0-9._-]{0,39}$/;
const namesMax = 64;

/** Returns the problem with the capabilities of a hello. Null: there is no problem. */
export function capabilitiesProblem(names: readonly string[]): string | null {
  if (names.length > namesMax) return `hello.capabilities must be at most ${namesMax}, are ${names.length}`;
  return names.every((name) => nameForm.test(name)) ? null : 'hello.capabilities must be words of 1 to 40 letters, digits and . _ -';
}
