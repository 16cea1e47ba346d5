// The fold of docs/semantics.md: layers broad to specific, the strictest holds, an explicit override replaces, and what
// a member says of themselves comes last and only tightens.
import type { Part, Permission, Tier, Transform } from '@tollgate/proto/contract';
import type { Limit } from './decision.ts';
import { type IndexedDocument, readOpinion, type Saying } from './document.ts';

/** The document, or the built-in default, that holds the winning opinion. */
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
  /** Broad to specific; all of them must have room. */
  readonly limits: readonly Limit[];
}

interface Held<T> {
  readonly value: T;
  readonly by: Winner;
}

const builtIn: Winner = { layer: 'default', part: null, document: 'built-in default', path: '', override: false };

/** `documents` broad to specific, `self` last. */
export function foldDocuments(
  { agentType, tier }: { readonly agentType: string; readonly tier: Tier },
  documents: readonly IndexedDocument[],
  tool: string,
  defaultPermission: Permission,
): Fold {
  let permission: Held<Permission> | null = null;
  let transform: Held<Transform> | null = null;
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

/** Overrides first, which replace what is held; then the rest, of which the strictest holds. */
function foldField<T>(held: Held<T> | null, sayings: readonly Saying<T>[], document: IndexedDocument, strict: T): Held<T> | null {
  const overriding = sayings.filter(({ override }) => override);
  const plain = sayings.filter(({ override }) => !override);
  let result = overriding.length > 0 ? null : held;
  for (const saying of [...overriding, ...plain]) {
    const winner = winnerOf(document, saying);
    // On equal opinions the later, more specific one is the one that is named.
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

/** What several hops of a chain say together: each a complete fold of its own, and the strictest holds. */
export function foldHops(folds: readonly [Fold, ...Fold[]]): Fold {
  return folds.reduce((acc, fold) => ({
    ...(acc.permission === 'deny' && fold.permission === 'allow'
      ? { permission: acc.permission, permissionBy: acc.permissionBy }
      : { permission: fold.permission, permissionBy: fold.permissionBy }),
    ...(acc.transform === 'redact' && fold.transform === 'log'
      ? { transform: acc.transform, transformBy: acc.transformBy }
      : { transform: fold.transform, transformBy: fold.transformBy }),
    // The same limit met twice in a chain is one allowance and counts a call once.
    limits: [...acc.limits.filter(({ id }) => !fold.limits.some((limit) => limit.id === id)), ...fold.limits],
  }));
}
