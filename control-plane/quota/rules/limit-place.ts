// Finds the rule that a limit's id names. The id has the form `<document key> <path>`, as a sidecar builds it. The rule
// is looked up by its key, so the time does not depend on the number of rules.
import { isTier, type Rule, rulePath } from '@tollgate/proto/contract';
import type { PolicyDocument, TierRulesDocument } from '@tollgate/sidecar/engine/compile';

/**
 * Returns the maximum number of calls in a window; null if policy sets no such limit. `find` returns the document with
 * the given key.
 */
export function limitMaxOf(id: string, find: (documentKey: string) => PolicyDocument | undefined): number | null {
  // Names can contain blanks, and so can a document's key. Therefore the id is split at each blank in turn, until a
  // split names a rule with a limit.
  for (let at = id.indexOf(' '); at >= 0; at = id.indexOf(' ', at + 1)) {
    const document = find(id.slice(0, at));
    const rule = document === undefined ? undefined : ruleAt(document, id.slice(at + 1));
    if (rule?.rateLimit !== undefined) return rule.rateLimit;
  }
  return null;
}

const inPlace = /^(tools|agentTypes)\[("(?:[^"\\]|\\.)*")\]\.([a-z]+)$/s;
const inDefaults = /^defaults\.([a-z]+)$/;

function ruleAt(document: PolicyDocument, path: string): Rule | undefined {
  const [, plainTier] = inDefaults.exec(path) ?? [];
  if (plainTier !== undefined) return ruleOf(document.defaults, plainTier);
  const [, section, quoted = '', tier = ''] = inPlace.exec(path) ?? [];
  if (section !== 'tools' && section !== 'agentTypes') return undefined;
  const key = unquoted(quoted);
  // Only the exact form in which paths are written is accepted. Otherwise one rule could have two counters.
  if (key === null || rulePath(section, key, tier) !== path) return undefined;
  const places = document[section];
  return ruleOf(places !== undefined && Object.hasOwn(places, key) ? places[key] : undefined, tier);
}

const ruleOf = (rules: TierRulesDocument | undefined, tier: string): Rule | undefined =>
  rules !== undefined && isTier(tier) && Object.hasOwn(rules, tier) ? rules[tier] : undefined;

function unquoted(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
