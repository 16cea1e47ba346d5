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

/** An agent of the chain above the caller, with the layers that apply to it. */
interface AgentAbove {
  /** `<client>::<tier>::<name>`. */
  readonly agentType: string;
  readonly rungs: readonly Rung[];
  /** Whether a rule of this agent decided the call. */
  readonly decided: boolean;
}

export interface Ladder {
  /** The agents above, root first. Empty: a direct call, or not known. */
  readonly above: readonly AgentAbove[];
  /** Of the agent that called. */
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
  const rule = isDecidedHere ? entry?.rule : undefined;
  if (explanation === null)
    return { above: [], rungs: entry?.rule === undefined ? [] : [rungOfEntry(entry)], isDecidedHere, together: null };
  const { above = [] } = explanation;
  const isShadowOther = explanation.shadow.permission !== explanation.enforced.permission;
  const decider = isDecidedHere ? deciderOf(explanation, rule) : null;
  const rungsOf = (layers: readonly Layer[], isDecider: boolean): readonly Rung[] => {
    const rungs = layers.map((layer) => {
      const won = isDecider && isAt(layer, rule ?? explanation.enforced.attributedTo);
      const wouldWin = !won && isShadowOther && isAuditMode(layer) && isAt(layer, explanation.shadow.attributedTo);
      return { ...rungOf(layer), won, wouldWin };
    });
    return rungs.filter((rung) => !isEmpty(rung) || !rungs.some((other) => isSameUser(rung, other)));
  };
  const isDefault = (rule ?? explanation.enforced.attributedTo).layer === 'default';
  // The policy of a revision that is not kept whole may lack the rule of the entry.
  const isElsewhere = decider === 'elsewhere' && !isDefault && entry !== null;
  return {
    above: above.map(({ agentType, layers }, at) => ({ agentType, rungs: rungsOf(layers, decider === at), decided: decider === at })),
    rungs: [
      ...(isDefault ? [defaultRung(explanation, isDecidedHere)] : []),
      ...rungsOf(explanation.layers, decider === 'caller'),
      ...(isElsewhere ? [rungOfEntry(entry)] : []),
    ],
    isDecidedHere,
    together: explanation.enforced,
  };
}

/** The agent whose rule decided: its position above the caller, or the caller. The one that the explanation names is first. */
function deciderOf({ above = [], layers, enforced }: Explanation, rule: Place | undefined): number | 'caller' | 'elsewhere' {
  const named = above.findIndex(({ decides }) => decides === true);
  const has = (some: readonly Layer[]): boolean => some.some((layer) => isAt(layer, rule ?? enforced.attributedTo));
  if (named >= 0 && has(above[named]?.layers ?? [])) return named;
  if (has(layers)) return 'caller';
  const other = above.findIndex((one) => has(one.layers));
  return other >= 0 ? other : 'elsewhere';
}

/** Both words mean the same. */
const isAuditMode = ({ mode }: Layer): boolean => mode === 'audit' || mode === 'audit-only';

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
    isAuditOnly: isAuditMode(layer),
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
