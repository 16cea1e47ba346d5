// The ladder of a call: what each layer says about it, and which layer decided. Pure.
import type { CallAnswer, Entry, Explanation, Layer, LayerName } from './answer.ts';

export type Permission = 'allow' | 'ask' | 'deny';
export type Case = NonNullable<Layer['cases']>[number];

export interface Rung {
  readonly key: string;
  readonly layer: LayerName | 'default';
  readonly part: 'organisation' | 'self' | null;
  /** Whose document it is, such as `member` or `ada`. */
  readonly whose: string;
  /** Null: the layer says nothing about this call. */
  readonly permission: Permission | null;
  /** What else it says. */
  readonly says: readonly string[];
  /** Of the rule that says it. */
  readonly path: string;
  readonly isAuditOnly: boolean;
  readonly cases: readonly Case[];
  readonly won: boolean;
  /** Whether it would have won if audit-only documents were enforced, and has not. */
  readonly wouldWin: boolean;
}

export interface Ladder {
  readonly rungs: readonly Rung[];
  /** Whether a rule decided the call, and not a step before the rules. */
  readonly isDecidedHere: boolean;
  /** What the enforced layers say together. Null: not known. */
  readonly together: Explanation['enforced'] | null;
}

/** Codes of decisions that the layers make. Others are decided before the rules or after them. */
const ruleCodes: readonly string[] = ['allowed', 'policy_denied', 'rate_limited', 'redaction_unsupported'];

export const isDecidedByRule = ({ code = '' }: Entry): boolean => ruleCodes.includes(code) || code.startsWith('approval');

interface Place {
  readonly layer: string;
  readonly part?: string | undefined;
  readonly path: string;
}

export function ladderOf({ explanation, before, after }: CallAnswer): Ladder {
  const entry = before ?? after;
  const isDecidedHere = entry !== null && isDecidedByRule(entry);
  if (explanation === null) return { rungs: entry?.rule === undefined ? [] : [rungOfEntry(entry)], isDecidedHere, together: null };
  const winner: Place = (isDecidedHere ? entry?.rule : undefined) ?? explanation.enforced.attributedTo;
  const shadow = explanation.shadow.attributedTo;
  const isShadowOther = explanation.shadow.permission !== explanation.enforced.permission;
  const rungs = explanation.layers.map((layer) => {
    const won = isDecidedHere && isAt(layer, winner);
    return { ...rungOf(layer), won, wouldWin: !won && isShadowOther && layer.mode === 'audit' && isAt(layer, shadow) };
  });
  // The layers of an explanation are those of a direct call. The rule of an agent above is known from the entry only.
  const isElsewhere = isDecidedHere && entry !== null && winner.layer !== 'default' && !rungs.some(({ won }) => won);
  const told = rungs.filter((rung) => !isEmpty(rung) || !rungs.some((other) => isSameUser(rung, other)));
  return {
    rungs: [
      ...(winner.layer === 'default' ? [defaultRung(explanation, isDecidedHere)] : []),
      ...told,
      ...(isElsewhere ? [rungOfEntry(entry)] : []),
    ],
    isDecidedHere,
    together: explanation.enforced,
  };
}

const isEmpty = ({ permission, says, cases }: Rung): boolean => permission === null && says.length === 0 && cases.length === 0;

/** Whether another part of the same user's policy is to be shown: one that says something, or the first of two that do not. */
const isSameUser = (rung: Rung, other: Rung): boolean =>
  rung !== other && other.layer === 'user' && rung.layer === 'user' && (!isEmpty(other) || (rung.part === 'self' && other.part !== 'self'));

/** Whether a rule at the place is of this document: several documents of a layer may have spoken, of agents above too. */
const isAt = ({ layer, part, path, fields, cases = [] }: Layer, place: Place): boolean =>
  layer === place.layer &&
  (place.part === undefined || part === place.part) &&
  [{ path }, ...fields, ...cases].some((one) => one.path === place.path);

function rungOf(layer: Layer): Omit<Rung, 'won' | 'wouldWin'> {
  const permission = layer.fields.find(({ field }) => field === 'permission')?.value;
  return {
    key: layer.document,
    layer: layer.layer,
    part: layer.part ?? null,
    whose: whoseOf(layer),
    permission: permission === 'allow' || permission === 'ask' || permission === 'deny' ? permission : null,
    says: layer.fields.flatMap(({ field, value, override }) => [
      ...(field === 'transform' ? [value === 'redact' ? 'redacts personal data' : 'keeps the input as it is'] : []),
      ...(field === 'rateLimit' ? [`at most ${String(value)} calls in a window`] : []),
      ...(override === true ? ['is an exception, which loosens broader layers'] : []),
    ]),
    path: layer.path,
    isAuditOnly: layer.mode === 'audit',
    cases: layer.cases ?? [],
  };
}

/** A document is named `<layer>:<whose>`, and that of a user `user:<uid>:<part>`. */
function whoseOf({ layer, document, part }: Layer): string {
  if (layer === 'workspace') return '';
  const name = document.slice(layer.length + 1);
  return part !== undefined && name.endsWith(`:${part}`) ? name.slice(0, -part.length - 1) : name;
}

const defaultRung = ({ enforced }: Explanation, won: boolean): Rung => ({
  key: 'default',
  layer: 'default',
  part: null,
  whose: '',
  permission: enforced.permission,
  says: [],
  path: '',
  isAuditOnly: false,
  cases: [],
  won,
  wouldWin: false,
});

/** Without an explanation only the rule of the entry is known. */
function rungOfEntry(entry: Entry): Rung {
  const { rule } = entry;
  const code = entry.code ?? '';
  return {
    key: 'entry',
    layer: rule?.layer ?? 'default',
    part: null,
    whose: '',
    permission: entry.decision === 'allow' ? 'allow' : code.startsWith('approval') ? 'ask' : code === 'policy_denied' ? 'deny' : null,
    says: code === 'rate_limited' ? ['limits calls'] : [],
    path: rule?.path ?? '',
    isAuditOnly: false,
    cases: [],
    won: true,
    wouldWin: false,
  };
}
