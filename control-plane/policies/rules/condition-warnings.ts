// Finds cases that are valid but probably not what their writer meant: they read a part of the input that the tool's
// schema does not have, or they loosen the rule by something that the caller only claims.
import { isDeepStrictEqual } from 'node:util';
import { childPath, documentKey, isStricterPermission, keyedPath, rulePath, wildcardPrefix } from '@tollgate/proto/contract';
import type { JsonSchema } from '@tollgate/proto/shape';
import {
  type CaseDocument,
  conditionReads,
  type PolicyDocument,
  type ReadPath,
  type RuleDocument,
  type TierRulesDocument,
} from '@tollgate/sidecar/engine/compile';
import type { KeyPins } from '../../access/rules/key.ts';
import { missingName } from './schema-path.ts';
import type { DocumentChange } from './policy-diff.ts';

export interface ConditionWarning {
  /** The key of the document: `workspace`, `role:member`, … */
  readonly document: string;
  /** The place of the case. */
  readonly path: string;
  readonly message: string;
}

/** A case that a write added or changed, or whose rule it changed. */
export interface WrittenCase extends Omit<ConditionWarning, 'message'> {
  /** The name or wildcard of the tools. Null: the rule names no tool. */
  readonly tools: string | null;
  readonly rule: RuleDocument;
  readonly written: CaseDocument;
}

export interface WarningFacts {
  /** The input schemas of registered tools, by `<server>.<tool>`. */
  readonly schemas: ReadonlyMap<string, JsonSchema>;
  /** Whether `schemas` contains every tool that the wildcards match. */
  readonly isComplete: boolean;
  /** The pins of each key whose holder can make calls. */
  readonly pins: readonly KeyPins[];
}

const warningsMax = 50;
const namesMax = 20;

export function writtenCases(changes: readonly DocumentChange[]): readonly WrittenCase[] {
  return changes.flatMap(({ id, before, after }) => {
    const old = new Map(rulesOf(before).map(({ path, rule }) => [path, rule]));
    return rulesOf(after)
      .filter(({ path, rule }) => !isDeepStrictEqual(old.get(path), rule))
      .flatMap(({ path, tools, rule }) =>
        (rule.cases ?? []).map((written) => ({
          document: documentKey(id),
          path: keyedPath(childPath(path, 'cases'), written.name),
          tools,
          rule,
          written,
        })),
      );
  });
}

type RuleOf = Pick<WrittenCase, 'path' | 'tools' | 'rule'>;

type Section = 'defaults' | 'tools' | 'agentTypes';

function rulesOf(document: PolicyDocument | null): readonly RuleOf[] {
  const keyed = (section: Exclude<Section, 'defaults'>): readonly RuleOf[] =>
    Object.entries(document?.[section] ?? {}).flatMap(([key, rules]) => tiersOf(section, key, rules));
  return [...tiersOf('defaults', null, document?.defaults ?? {}), ...keyed('tools'), ...keyed('agentTypes')];
}

const tiersOf = (section: Section, key: string | null, rules: TierRulesDocument): readonly RuleOf[] =>
  Object.entries(rules).map(([tier, rule]) => ({ path: rulePath(section, key, tier), tools: section === 'tools' ? key : null, rule }));

/** Returns the names and wildcards of tools whose schemas the warnings depend on. */
export const toolKeysOf = (cases: readonly WrittenCase[]): readonly string[] => [
  ...new Set(cases.flatMap(({ tools, written }) => (tools === null || !readsOf(written).args.length ? [] : [tools]))),
];

/** Whether the warnings depend on what the keys of the workspace pin. */
export const dependsOnPins = (cases: readonly WrittenCase[]): boolean =>
  cases.some((one) => isLoosening(one) && readsOf(one.written).fields.some((field) => Object.hasOwn(claims, field)));

/** Returns the warnings, in the order of the cases. At most 50. */
export function conditionWarnings(cases: readonly WrittenCase[], facts: WarningFacts): readonly ConditionWarning[] {
  const warnings: ConditionWarning[] = [];
  for (const one of cases) {
    const { document, path } = one;
    for (const message of [...unknownPaths(one, facts), ...unknownGroups(one), ...claimed(one, facts)]) {
      if (warnings.length === warningsMax) return warnings;
      warnings.push({ document, path, message });
    }
  }
  return warnings;
}

const nothing: NonNullable<ReturnType<typeof conditionReads>> = { args: [], fields: [] };
const readsOf = ({ when }: CaseDocument): typeof nothing => conditionReads(when) ?? nothing;

function unknownPaths({ tools, written }: WrittenCase, { schemas, isComplete }: WarningFacts): readonly string[] {
  if (tools === null) return [];
  const prefix = wildcardPrefix(tools);
  if (prefix !== null && !isComplete) return [];
  const matching = [...schemas].filter(([tool]) => (prefix === null ? tool === tools : tool.startsWith(prefix)));
  const messages = readsOf(written).args.flatMap((path) => {
    const missing = matching.map(([, schema]) => missingName(schema, path));
    const first = missing[0];
    // A wildcard is for tools with different inputs: one that has the path is enough.
    if (first == null || missing.includes(null)) return [];
    return [`reads ${shown(first.path)}, which the input of ${tools} does not have; ${existing(first.path, first.known)}`];
  });
  return [...new Set(messages)];
}

const shown = (path: ReadPath): string =>
  path.reduce<string>((text, step) => (step === null ? `${text}[]` : childPath(text, step)), 'args');

function existing(path: ReadPath, known: readonly string[]): string {
  const more = known.length > namesMax ? ', …' : '';
  return `${shown(path.slice(0, -1))} has ${known.length === 0 ? 'no fields' : `${known.slice(0, namesMax).join(', ')}${more}`}`;
}

const unknownGroups = ({ written }: WrittenCase): readonly string[] =>
  readsOf(written).fields.includes('user.groups')
    ? ['reads user.groups, which is absent in every call: this version knows no groups; name people by user.uid, or roles by user.role']
    : [];

/** The pins of a key without which the caller chooses the field. */
const claims: Readonly<Record<string, readonly (keyof KeyPins)[]>> = {
  'agent.name': ['agent'],
  'agent.id': ['agent'],
  'agent.chain': ['agent'],
  'agent.client': ['client'],
  'agent.tier': ['tier'],
  'agent.type': ['client', 'tier', 'agent'],
};

function claimed(one: WrittenCase, { pins }: WarningFacts): readonly string[] {
  if (!isLoosening(one)) return [];
  return readsOf(one.written).fields.flatMap((field) => {
    const needed = Object.hasOwn(claims, field) ? (claims[field] ?? []) : [];
    const open = needed.filter((pin) => pins.some((key) => key[pin] === null));
    return open.length === 0
      ? []
      : [
          `loosens the rule by ${field}, which callers only claim; keys can pin it, and some keys of this workspace do not pin ${open.join(' and ')}`,
        ];
  });
}

/**
 * Whether a case allows, asks, or shows what the rule does not. A rule that does not set the field leaves it to a broader
 * key; and the case may come before others that are stricter.
 */
function isLoosening({ rule, written }: WrittenCase): boolean {
  const { cases = [] } = rule;
  const others = [rule, ...cases.slice(cases.findIndex(({ name }) => name === written.name) + 1)];
  const { permission: says } = written;
  return (
    (says === 'allow' && rule.permission === undefined) ||
    others.some(({ permission }) => says !== undefined && permission !== undefined && isStricterPermission(permission, says)) ||
    (written.transform === 'log' && (rule.transform === undefined || others.some(({ transform }) => transform === 'redact')))
  );
}
