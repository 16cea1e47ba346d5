// Defines how a place in a document is written, in problems, reasons, entries and counters.
import { isTier, type Tier } from './words.ts';

const identifier = /^[A-Za-z_$][\w$]*$/;

/** Returns the path of a rule: `defaults.api`, `tools["github.*"].api`, `agentTypes["claude-code::api::"].api`. */
export function rulePath(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, tier: string): string {
  return childPath(key === null ? section : keyedPath(section, key), tier);
}

/** Returns the path of a case of the rule at `path`: `tools["payments.transfer"].api.cases["large"]`. */
export const casePath = (path: string, name: string): string => keyedPath(childPath(path, 'cases'), name);

/** Returns `path["key"]`. It is for names of tools and agent types, which may contain any characters. */
export const keyedPath = (path: string, key: string): string => `${path}[${JSON.stringify(key)}]`;

/** Returns `path.key`, or `path["key"]` if the key is not an identifier. */
export function childPath(path: string, key: string): string {
  if (!identifier.test(key)) return keyedPath(path, key);
  return path === '' ? key : `${path}.${key}`;
}

/** The place of a rule, or of a case of a rule. */
interface RulePlace {
  readonly section: 'defaults' | 'tools' | 'agentTypes';
  /** Null in the section `defaults`. */
  readonly key: string | null;
  readonly tier: Tier;
  /** The name of the case. Null: the rule itself. */
  readonly caseName: string | null;
}

const quoted = String.raw`\[("(?:[^"\\]|\\.)*")\]`;
const rulePathForm = new RegExp(String.raw`^(?:defaults|(tools|agentTypes)${quoted})\.([a-z]+)(?:\.cases${quoted})?$`, 's');

/**
 * The inverse of `rulePath` and `casePath`. Null: the text is not exactly what they return. So no place has two texts.
 */
export function parseRulePath(path: string): RulePlace | null {
  const [whole, section = 'defaults', quotedKey, tier, quotedName] = rulePathForm.exec(path) ?? [];
  if (whole === undefined || !isTier(tier) || (section !== 'defaults' && section !== 'tools' && section !== 'agentTypes')) return null;
  const [key, caseName] = [unquoted(quotedKey), unquoted(quotedName)];
  const rule = rulePath(section, key, tier);
  return (caseName === null ? rule : casePath(rule, caseName)) === path ? { section, key, tier, caseName } : null;
}

function unquoted(text: string | undefined): string | null {
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
