// Implements the fold of docs/design/semantics.md. Layers are read from broad to specific. The strictest value wins,
// but an explicit override replaces the values before it. A member's own settings come last and can only make the
// result stricter.
import type { Part, Permission, Tier, Transform } from '@tollgate/proto/contract';
import type { Limit } from './decision.ts';
import { type IndexedDocument, readOpinion, type Saying } from './document.ts';

/** The document, or the built-in default, that the winning value comes from. */
export interface Winner {
  readonly layer: Limit['layer'] | 'default';
  readonly part: Part | null;
  readonly document: string;
  readonly path: string;
  readonly override: boolean;
}

export interface Fold {
  readonly permission: Permission;
  readonly permissionBy: Winner;
  readonly transform: Transform;
  readonly transformBy: Winner;
  /** The limits, from broad to specific. All of them must have calls left. */
  readonly limits: readonly Limit[];
}

interface Ruling<T> {
  readonly value: T;
  readonly by: Winner;
}

const builtIn: Winner = { layer: 'default', part: null, document: 'built-in default', path: '', override: false };

/** Folds documents for one agent type and tier. `documents` are ordered from broad to specific, with `self` last. */
export function foldDocuments(
  { agentType, tier }: { readonly agentType: string; readonly tier: Tier },
  documents: readonly IndexedDocument[],
  tool: string,
  defaultPermission: Permission,
): Fold {
  let permission: Ruling<Permission> | null = null;
  let transform: Ruling<Transform> | null = null;
  let limits: Limit[] = [];
  const self = documents.filter((document) => document.part === 'self');
  const organisation = documents.filter((document) => document.part !== 'self');

  for (const document of organisation) {
    const opinion = readOpinion(document, tool, tier, agentType);
    if (opinion === null) continue;
    permission = foldField(permission, opinion.permission, document, 'deny');
    transform = foldField(transform, opinion.transform, document, 'redact');
    if (opinion.rateLimit.some(({ override }) => override)) limits = [];
    limits.push(...opinion.rateLimit.map((saying) => limitOf(document, saying)));
  }
  permission ??= { value: defaultPermission, by: builtIn };
  transform ??= { value: 'log', by: builtIn };
  for (const document of self) {
    const opinion = readOpinion(document, tool, tier, agentType);
    if (opinion === null) continue;
    permission = foldField(permission, opinion.permission, document, 'deny') ?? permission;
    transform = foldField(transform, opinion.transform, document, 'redact') ?? transform;
    limits.push(...opinion.rateLimit.map((saying) => limitOf(document, saying)));
  }
  return { permission: permission.value, permissionBy: permission.by, transform: transform.value, transformBy: transform.by, limits };
}

/**
 * Returns the value of one field after one more document. First, the overrides of the document replace `held`, the
 * value so far. Then the other values of the document follow. The strictest value wins.
 */
function foldField<T>(held: Ruling<T> | null, sayings: readonly Saying<T>[], document: IndexedDocument, strict: T): Ruling<T> | null {
  const overriding = sayings.filter(({ override }) => override);
  const plain = sayings.filter(({ override }) => !override);
  let result = overriding.length > 0 ? null : held;
  for (const saying of [...overriding, ...plain]) {
    const winner = winnerOf(document, saying);
    // If two values are equal, the later, more specific one is named as the winner.
    if (result === null || result.value !== strict || saying.value === strict) result = { value: saying.value, by: winner };
  }
  return result;
}

const winnerOf = ({ layer, part, key }: IndexedDocument, { path, override }: Saying<unknown>): Winner => ({
  layer,
  part,
  document: key,
  path,
  override,
});

const limitOf = ({ key, layer, part }: IndexedDocument, { value, path, override }: Saying<number>): Limit => ({
  id: `${key} ${path}`,
  max: value,
  layer,
  ...(part === null ? {} : { part }),
  path,
  ...(override ? { override: true as const } : {}),
});

/** Combines the hops of a chain. Each hop has a complete fold of its own, and the strictest result wins. */
export function foldHops(folds: readonly [Fold, ...Fold[]]): Fold {
  return folds.reduce((acc, fold) => ({
    ...(acc.permission === 'deny' && fold.permission === 'allow'
      ? { permission: acc.permission, permissionBy: acc.permissionBy }
      : { permission: fold.permission, permissionBy: fold.permissionBy }),
    ...(acc.transform === 'redact' && fold.transform === 'log'
      ? { transform: acc.transform, transformBy: acc.transformBy }
      : { transform: fold.transform, transformBy: fold.transformBy }),
    // If the same limit occurs twice in a chain, it is listed once and counts a call once.
    limits: [...acc.limits.filter(({ id }) => !fold.limits.some((limit) => limit.id === id)), ...fold.limits],
  }));
}
