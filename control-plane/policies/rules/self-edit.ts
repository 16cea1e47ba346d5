// Checks whether a member's own part is looser, in any place, than what the organisation sets there. It is checked
// field by field when the member writes it. It is not checked again when rules of the organisation change later. This
// is harmless, because `self` only makes rules stricter. A rule of the organisation with cases is taken as loose as it may be.
import { childPath, isStricterPermission, wildcardPrefix } from '@tollgate/proto/contract';
import {
  anyCase,
  documentsFor,
  type Fold,
  foldDocuments,
  type Index,
  type PolicyDocument,
  type RuleDocument,
} from '@tollgate/sidecar/engine/compile';
import { type Place, pathOf, placesOf, rulesByPath } from './places.ts';
import type { Problem } from '@tollgate/proto/shape';

interface SelfEdit {
  /** The current state of the workspace, of whose documents `loosestDocument` was taken. */
  readonly index: Index;
  readonly uid: string;
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument;
}

// A tool or agent type that no document can name, so only defaults and wildcards apply to it.
const unnamed = '\u0000';

/**
 * Returns a problem for each field that `after` changes to a looser value than the enforced combination of workspace,
 * role and organisation.
 */
export function looserPlaces({ index, uid, before, after }: SelfEdit): readonly Problem[] {
  const role = index.members.get(uid)?.role;
  if (role === undefined) return [{ path: 'document', message: `${JSON.stringify(uid)} is not a member` }];
  const old = rulesByPath(before ?? {});
  return placesOf(after).flatMap((place) => {
    const agentType = place.section === 'agentTypes' ? (place.key ?? '') : unnamed;
    const documents = documentsFor(index, { role, uid }, agentType).filter(({ enforces, part }) => enforces && part !== 'self');
    const fold = foldDocuments({ agentType, tier: place.tier }, documents, probe(place), index.settings.defaultPermission, anyCase);
    return looserFields(place, old.get(pathOf(place)), fold);
  });
}

/** Returns the name of a tool to which exactly this place applies. */
function probe({ section, key }: Place): string {
  if (section !== 'tools' || key === null) return unnamed;
  const prefix = wildcardPrefix(key);
  return prefix === null ? key : prefix + unnamed;
}

function looserFields(place: Place, old: RuleDocument | undefined, fold: Fold): readonly Problem[] {
  const { rule } = place;
  const path = pathOf(place);
  const limit = Math.min(...fold.limits.map(({ max }) => max));
  const checks = [
    {
      field: 'permission',
      sets: rule.permission !== old?.permission,
      looser: rule.permission !== undefined && isStricterPermission(fold.permission, rule.permission),
      holds: JSON.stringify(fold.permission),
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
    sets && looser ? [{ path: childPath(path, field), message: `is looser than the rule of the organisation there: ${holds}` }] : [],
  );
}
