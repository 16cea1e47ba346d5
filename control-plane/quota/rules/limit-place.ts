// Finds the rule, or the case of a rule, that a limit's id names. The id has the form `<document key> <path>`, as a
// sidecar builds it. The rule is looked up by its key, so the time does not depend on the number of rules.
import { parseRulePath } from '@tollgate/proto/contract';
import type { PolicyDocument, RuleDocument } from '@tollgate/sidecar/engine/compile';

/**
 * Returns the maximum number of calls in a window; null if policy sets no such limit. `find` returns the document with
 * the given key.
 */
export function limitMaxOf(id: string, find: (documentKey: string) => PolicyDocument | undefined): number | null {
  // Names can contain blanks, and so can a document's key. Therefore the id is split at each blank in turn, until a
  // split names a rule with a limit.
  for (let at = id.indexOf(' '); at >= 0; at = id.indexOf(' ', at + 1)) {
    const document = find(id.slice(0, at));
    const limit = document === undefined ? undefined : limitAt(document, id.slice(at + 1));
    if (limit !== undefined) return limit;
  }
  return null;
}

function limitAt(document: PolicyDocument, path: string): number | undefined {
  const place = parseRulePath(path);
  if (place === null) return undefined;
  const { section, key, tier, caseName } = place;
  const rules = key === null || section === 'defaults' ? document.defaults : own(document[section], key);
  const rule: RuleDocument | undefined = own(rules, tier);
  return caseName === null ? rule?.rateLimit : rule?.cases?.find(({ name }) => name === caseName)?.rateLimit;
}

const own = <T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
