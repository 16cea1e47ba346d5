// Whether what a member writes about themselves is looser, anywhere, than what the organisation says there. Checked
// field by field where it is written; rules that become looser later are harmless, because `self` only tightens.
import { childPath, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import { documentsFor, type Fold, foldDocuments, type Index } from '@tollgate/sidecar/decide';
import { type Place, pathOf, placesOf, rulesByPath } from './places.ts';
import type { PolicyDocument } from './policy.ts';
import type { Problem } from '../shape.ts';

interface SelfEdit {
  /** The workspace as it stands. */
  readonly index: Index;
  readonly uid: string;
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument;
}

// No document can name it, so only defaults and wildcards speak for it.
const unnamed = '\u0000';

/** The places where `after` sets a field looser than the enforced fold of workspace, role and organisation. */
export function looserPlaces({ index, uid, before, after }: SelfEdit): readonly Problem[] {
  const role = index.members.get(uid)?.role;
  if (role === undefined) return [{ path: 'document', message: `${JSON.stringify(uid)} is not a member` }];
  const old = rulesByPath(before ?? {});
  return placesOf(after).flatMap((place) => {
    const agentType = place.section === 'agentTypes' ? (place.key ?? '') : unnamed;
    const documents = documentsFor(index, { role, uid }, agentType).filter(({ enforces, part }) => enforces && part !== 'self');
    const fold = foldDocuments({ agentType, tier: place.tier }, documents, probe(place), index.settings.defaultPermission);
    return looserFields(place, old.get(pathOf(place)), fold);
  });
}

/** A tool for which this very place speaks. */
function probe({ section, key }: Place): string {
  if (section !== 'tools' || key === null) return unnamed;
  const prefix = wildcardPrefix(key);
  return prefix === null ? key : prefix + unnamed;
}

function looserFields(place: Place, old: Rule | undefined, fold: Fold): readonly Problem[] {
  const { rule } = place;
  const path = pathOf(place);
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
