// Whether what a member writes about themselves is looser, anywhere, than what the organisation says there. Checked
// field by field where it is written; rules that become looser later are harmless, because `self` only tightens.
import { childPath, isTier, type Rule, rulePath, type Tier, wildcardPrefix } from '@tollgate/proto/contract';
import { documentsFor, type Fold, foldDocuments, type Index } from '@tollgate/sidecar/decide';
import type { PolicyDocument, Problem, TierRulesDocument } from './policy.ts';

interface SelfEdit {
  /** The workspace as it stands. */
  readonly index: Index;
  readonly uid: string;
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument;
}

interface Place {
  readonly section: 'defaults' | 'tools' | 'agentTypes';
  readonly key: string | null;
  readonly tier: Tier;
  readonly rule: Rule;
  readonly old: Rule | undefined;
}

// No document can name it, so only defaults and wildcards speak for it.
const unnamed = '\u0000';

/** The places where `after` sets a field looser than the enforced fold of workspace, role and organisation. */
export function looserPlaces({ index, uid, before, after }: SelfEdit): readonly Problem[] {
  const role = index.members.get(uid)?.role;
  if (role === undefined) return [{ path: 'document', message: `${JSON.stringify(uid)} is not a member` }];
  return placesOf(before ?? {}, after).flatMap((place) => {
    const agentType = place.section === 'agentTypes' ? (place.key ?? '') : unnamed;
    const documents = documentsFor(index, { role, uid }, agentType).filter(({ enforces, part }) => enforces && part !== 'self');
    const fold = foldDocuments({ documents, agentType, tier: place.tier }, documents, probe(place), index.settings.defaultPermission);
    return looserFields(place, fold);
  });
}

/** A tool for which this very place speaks. */
function probe({ section, key }: Place): string {
  if (section !== 'tools' || key === null) return unnamed;
  const prefix = wildcardPrefix(key);
  return prefix === null ? key : prefix + unnamed;
}

function placesOf(before: PolicyDocument, after: PolicyDocument): readonly Place[] {
  const keyed = (section: 'tools' | 'agentTypes'): readonly Place[] =>
    Object.entries(after[section] ?? {}).flatMap(([key, rules]) => tiersOf(section, key, rules, ownValue(before[section], key)));
  return [...tiersOf('defaults', null, after.defaults ?? {}, before.defaults), ...keyed('tools'), ...keyed('agentTypes')];
}

function tiersOf(
  section: Place['section'],
  key: string | null,
  rules: TierRulesDocument,
  old: TierRulesDocument | undefined,
): readonly Place[] {
  return Object.entries(rules).flatMap(([tier, rule]) => (isTier(tier) ? [{ section, key, tier, rule, old: ownValue(old, tier) }] : []));
}

const ownValue = <T>(object: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;

function looserFields({ section, key, tier, rule, old }: Place, fold: Fold): readonly Problem[] {
  const path = rulePath(section, key, tier);
  const limit = Math.min(...fold.limits.map(({ max }) => max));
  const checks = [
    {
      field: 'permission',
      sets: rule.permission !== old?.permission,
      looser: rule.permission === 'allow' && fold.permission === 'deny',
      holds: '"deny"',
    },
    {
      field: 'rateLimit',
      sets: rule.rateLimit !== old?.rateLimit,
      looser: rule.rateLimit !== undefined && rule.rateLimit > limit,
      holds: String(limit),
    },
    {
      field: 'transform',
      sets: rule.transform !== old?.transform,
      looser: rule.transform === 'log' && fold.transform === 'redact',
      holds: '"redact"',
    },
  ];
  return checks.flatMap(({ field, sets, looser, holds }) =>
    sets && looser ? [{ path: childPath(path, field), message: `is looser than what the organisation says there: ${holds}` }] : [],
  );
}
