// Implements the fold of docs/design/semantics.md. Layers are read from broad to specific. The strictest value wins,
// but an explicit override replaces the values before it. A member's own settings come last and can only make the
// result stricter. If cases are undecided, every way in which the documents may speak is folded, field by field.
import {
  type AskingRule,
  type Part,
  type Permission,
  type RulePermission,
  rulePermissions,
  type Tier,
  type Transform,
} from '@tollgate/proto/contract';
import type { Limit } from './decision.ts';
import { type CaseAnswers, type IndexedDocument, joinAsks, readOpinion, type Saying, type Ways } from './document.ts';

/** The document, or the built-in default, that the winning value comes from. */
export interface Winner {
  readonly layer: Limit['layer'] | 'default';
  readonly part: Part | null;
  readonly document: string;
  readonly path: string;
  readonly override: boolean;
  /** The reason that a case gives to the agent. */
  readonly reason?: string;
}

export interface Fold {
  readonly permission: RulePermission;
  readonly permissionBy: Winner;
  /** The rules that ask, from broad to specific, each once. Empty if the permission is not `ask`. */
  readonly asks: readonly AskingRule[];
  /**
   * Whether the call may be allowed, or asked for, in some way that the undecided cases may turn out: no limit of 0
   * counts it in all of these ways, and the permission is `allow` or `ask` in one of them.
   */
  readonly mayAllow: boolean;
  /** Whether the permission is `allow` in one of these ways. */
  readonly mayAllowUnasked: boolean;
  readonly transform: Transform;
  readonly transformBy: Winner;
  /** The limits, from broad to specific. All of them must have calls left. */
  readonly limits: readonly Limit[];
}

interface Ruling<T> {
  readonly value: T;
  readonly by: Winner;
  /** Present if the value is `ask`. */
  readonly asks?: readonly AskingRule[];
}

/** The values of a field, from strict to loose. */
type Order<T> = readonly T[];
const permissionOrder: Order<RulePermission> = rulePermissions;
const transformOrder: Order<Transform> = ['redact', 'log'];

/** One ruling for each value that may be in force. There are several only if cases are undecided. Null: nothing was said so far. */
type Rulings<T> = readonly (Ruling<T> | null)[];

const builtIn: Winner = { layer: 'default', part: null, document: 'built-in default', path: '', override: false };

/**
 * Folds documents for one agent type and tier. `documents` are ordered from broad to specific, with `self` last.
 * `answers`: which cases hold. If some are undecided, the strictest result of all ways is returned.
 */
export function foldDocuments(
  { agentType, tier }: { readonly agentType: string; readonly tier: Tier },
  documents: readonly IndexedDocument[],
  tool: string,
  defaultPermission: Permission,
  answers: CaseAnswers,
): Fold {
  let permissions: Rulings<RulePermission> = [null];
  let transforms: Rulings<Transform> = [null];
  let limits: Limit[] = [];
  const add = (document: IndexedDocument): void => {
    const opinion = readOpinion(document, tool, tier, agentType, answers);
    if (opinion === null) return;
    permissions = foldField(permissions, opinion.permission, document, permissionOrder);
    transforms = foldField(transforms, opinion.transform, document, transformOrder);
    if (opinion.limits.some(({ override }) => override)) limits = [];
    limits.push(...opinion.limits.map((saying) => limitOf(document, saying)));
  };
  for (const document of documents) if (document.part !== 'self') add(document);
  permissions = permissions.map((ruling) => ruling ?? { value: defaultPermission, by: builtIn });
  transforms = transforms.map((ruling) => ruling ?? { value: 'log', by: builtIn });
  for (const document of documents) if (document.part === 'self') add(document);
  const [permission, transform] = [strictestOf(permissions, permissionOrder), strictestOf(transforms, transformOrder)];
  return {
    permission: permission.value,
    permissionBy: permission.by,
    asks: permission.asks ?? [],
    mayAllow:
      permissions.some((ruling) => ruling?.value !== 'deny') && !limits.some(({ max, uncertain }) => max === 0 && uncertain !== true),
    mayAllowUnasked: permissions.some((ruling) => ruling?.value === 'allow'),
    transform: transform.value,
    transformBy: transform.by,
    limits,
  };
}

function strictestOf<T>(rulings: Rulings<T>, order: Order<T>): Ruling<T> {
  let ruling: Ruling<T> | undefined;
  for (const value of order) ruling ??= rulings.find((one) => one?.value === value) ?? undefined;
  if (ruling === undefined) throw new RangeError('a fold has a ruling for every field once the built-in default is applied');
  return ruling;
}

/**
 * Returns the rulings after one more document: each earlier one, combined with each way in which the document may speak.
 * Of rulings with equal values, the one of the more specific document is returned, and there the one of the first way. It
 * has the asks of all of them.
 */
function foldField<T>(held: Rulings<T>, ways: Ways<T>, document: IndexedDocument, order: Order<T>): Rulings<T> {
  const [only] = ways;
  if (only !== undefined && ways.length === 1 && held.length === 1) return [foldSayings(held[0] ?? null, only, document, order)];
  const results: (Ruling<T> | null)[] = [];
  for (const sayings of ways) {
    for (const before of held) {
      const after = foldSayings(before, sayings, document, order);
      const at = results.findIndex((one) => one?.value === after?.value);
      const same = results[at];
      if (at < 0) results.push(after);
      else if (same != null && after !== null) {
        const named = after.by.document === document.key && same.by.document !== document.key ? after : same;
        results[at] = named.asks === undefined ? named : { ...named, asks: joinAsks(same.asks, after.asks) };
      }
    }
  }
  return results;
}

/**
 * Returns the value of one field after what one document says. First, the overrides of the document replace `held`, the
 * value so far. Then the other values of the document follow. The strictest value wins.
 */
function foldSayings<T>(
  held: Ruling<T> | null,
  sayings: readonly Saying<T>[],
  document: IndexedDocument,
  order: Order<T>,
): Ruling<T> | null {
  const overriding = sayings.filter(({ override }) => override);
  const plain = sayings.filter(({ override }) => !override);
  let result = overriding.length > 0 ? null : held;
  for (const saying of [...overriding, ...plain]) {
    // If two values are equal, the later, more specific one is named as the winner.
    if (result !== null && order.indexOf(saying.value) > order.indexOf(result.value)) continue;
    const ruling = { value: saying.value, by: winnerOf(document, saying) };
    // Every rule that asks counts, unless another denies.
    const asks = saying.asks === undefined ? undefined : joinAsks(result?.asks, saying.asks);
    result = asks === undefined ? ruling : { ...ruling, asks };
  }
  return result;
}

const winnerOf = ({ layer, part, key }: IndexedDocument, { path, override, reason }: Saying<unknown>): Winner => ({
  layer,
  part,
  document: key,
  path,
  override,
  ...(reason === undefined ? {} : { reason }),
});

const limitOf = ({ key, layer, part }: IndexedDocument, { value, path, override, uncertain }: Saying<number>): Limit => ({
  id: `${key} ${path}`,
  max: value,
  layer,
  ...(part === null ? {} : { part }),
  path,
  ...(override ? { override: true as const } : {}),
  ...(uncertain === undefined ? {} : { uncertain }),
});

const asksOfHops = (acc: Fold, fold: Fold): readonly AskingRule[] =>
  acc.permission === fold.permission ? joinAsks(acc.asks, fold.asks) : fold.asks;

/** Combines the hops of a chain. Each hop has a complete fold of its own, and the strictest result wins. */
export function foldHops(folds: readonly [Fold, ...Fold[]]): Fold {
  return folds.reduce((acc, fold) => ({
    ...(permissionOrder.indexOf(acc.permission) < permissionOrder.indexOf(fold.permission)
      ? { permission: acc.permission, permissionBy: acc.permissionBy, asks: acc.asks }
      : { permission: fold.permission, permissionBy: fold.permissionBy, asks: asksOfHops(acc, fold) }),
    mayAllow: acc.mayAllow && fold.mayAllow,
    mayAllowUnasked: acc.mayAllowUnasked && fold.mayAllowUnasked,
    ...(acc.transform === 'redact' && fold.transform === 'log'
      ? { transform: acc.transform, transformBy: acc.transformBy }
      : { transform: fold.transform, transformBy: fold.transformBy }),
    // If the same limit occurs twice in a chain, it is listed once and counts a call once.
    limits: [...acc.limits.filter(({ id }) => !fold.limits.some((limit) => limit.id === id)), ...fold.limits],
  }));
}
