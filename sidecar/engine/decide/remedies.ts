// Finds what would be allowed in place of a call that is denied: a call of another case of the same rules. The program
// that made the call receives the list with the denial, and `explain` shows it. It names places of rules and cases, as
// reasons do, and never a value. It is computed only for a denial.
import type { Layer, Part } from '@tollgate/proto/contract';
import type { BoundHop, Caller, CaseQuestion, PlannedOutcome } from './caller.ts';
import type { AnsweredCases } from './cases.ts';
import type { Decision } from './decision.ts';
import type { CaseAnswer } from './document.ts';
import type { Fold } from './fold.ts';
import { type AnswersOfHop, answersByHop, foldsOf, planFor, planKey } from './plan.ts';
import { variableIn } from './words.ts';

/**
 * Something that would be allowed. `case`: a call of the case at `path`. `no_case`: a call of none of the cases of the
 * rule at `path`, nor of the rules in `and`. `input`: the same call, if the case at `path` could be evaluated and did
 * not hold. `approval`: the same call, if a person approves what the rule or case at `path` asks; with several of them, all
 * are needed.
 */
export type Remedy = RemedyPlace & {
  /** The smallest limit that such a call counts in. Absent: there is no limit. */
  readonly rateLimit?: number;
  /** Present if such a call is asked for: a person must approve it. */
  readonly asks?: true;
} & (
    | { readonly kind: 'approval' }
    | { readonly kind: 'case' }
    | { readonly kind: 'no_case'; readonly and?: readonly RemedyPlace[] }
    | { readonly kind: 'input'; readonly reason: string; readonly at: string }
  );

interface RemedyPlace {
  readonly layer: Layer;
  readonly part?: Part;
  readonly path: string;
}

/** The cases of a call that was denied, and how each of its rules was answered. */
export interface AskedCases {
  readonly hops: readonly Pick<BoundHop, 'documents'>[];
  readonly questions: readonly CaseQuestion[];
  /** In the order of `questions`. */
  readonly answers: readonly CaseAnswer[];
  readonly undecided: AnsweredCases['undecided'];
}

/** Each attempt folds all documents, so their number is bounded. */
const attemptsMax = 24;
/** The bounds of a list. `bytes`: as JSON. */
const max = { remedies: 5, bytes: 1_024 } as const;
const none: readonly Remedy[] = [];

/**
 * Returns the remedies of a call. `allowed`: the fold with other answers, or null if a call with these answers would be
 * denied. One rule at a time is answered differently. If that is never enough, all rules are answered with no case.
 */
export function findRemedies(
  asked: AskedCases,
  allowed: (answers: AnswersOfHop) => Fold | null,
  first: readonly Remedy[] = none,
): readonly Remedy[] {
  const { questions, answers, undecided } = asked;
  const found = new BoundedList();
  for (const remedy of first) found.add(remedy);
  let attempts = 0;
  const tryWith = (changed: readonly CaseAnswer[]): Fold | null => {
    attempts += 1;
    return attempts > attemptsMax ? null : allowed(answersByHop(questions, changed));
  };
  if (undecided.length > 0) {
    const fold = tryWith(answers.map(({ held }) => ({ held, undecided: [] })));
    if (fold !== null)
      for (const { document, path, reason, at } of undecided)
        found.add({ kind: 'input', ...placeIn(asked, document, path), ...limitIn(fold), reason, at: variableIn(at) });
  }
  const rules = new Map(questions.map(({ rule, document }) => [rule, document]));
  for (const [rule, document] of rules) {
    const cases = rule.cases ?? [];
    for (let held = -1; held < cases.length && !found.isFull && attempts < attemptsMax; held += 1) {
      if (isAnswered(asked, rule, held)) continue;
      const fold = tryWith(answers.map((answer, at) => (questions[at]?.rule === rule ? { held, undecided: [] } : answer)));
      if (fold === null) continue;
      const place = placeIn(asked, document, cases[held]?.path ?? rule.path);
      found.add({ kind: held < 0 ? 'no_case' : 'case', ...place, ...limitIn(fold) });
    }
  }
  if (found.list.length > first.length || rules.size < 2) return found.list;
  const fold = tryWith(answers.map(() => ({ held: -1, undecided: [] })));
  const [one, ...others] = [...rules]
    .filter(([rule]) => !isAnswered(asked, rule, -1))
    .map(([{ path }, document]) => placeIn(asked, document, path));
  if (fold !== null && one !== undefined) found.add({ kind: 'no_case', ...one, and: others, ...limitIn(fold) });
  return found.list;
}

/** Whether the rule is already answered in this way, in every hop of the chain. */
const isAnswered = ({ questions, answers }: AskedCases, rule: CaseQuestion['rule'], held: number): boolean =>
  questions.every((question, at) => {
    const answer = answers[at];
    return question.rule !== rule || (answer?.held === held && answer.undecided.length === 0);
  });

function placeIn({ hops }: Pick<AskedCases, 'hops'>, document: string, path: string): RemedyPlace {
  const found = hops.flatMap(({ documents }) => documents).find(({ key }) => key === document);
  const { layer, part } = found ?? ({ layer: 'workspace', part: null } as const);
  return { layer, ...(part === null ? {} : { part }), path };
}

const limitIn = ({ limits, permission }: Fold): Pick<Remedy, 'rateLimit' | 'asks'> => ({
  ...(limits.length === 0 ? {} : { rateLimit: Math.min(...limits.map((limit) => limit.max)) }),
  ...(permission === 'ask' ? { asks: true as const } : {}),
});

/** Keeps the first remedies, as far as their number and their bytes allow. */
class BoundedList {
  readonly list: Remedy[] = [];
  isFull = false;
  #bytes = 2;

  add(remedy: Remedy): void {
    if (this.isFull) return;
    this.#bytes += Buffer.byteLength(JSON.stringify(remedy)) + 1;
    this.isFull = this.#bytes > max.bytes;
    if (this.isFull) return;
    this.list.push(remedy);
    this.isFull = this.list.length >= max.remedies;
  }
}

// An outcome is kept as long as its plan. Its remedies contain only texts that the plan contains too.
const known = new WeakMap<PlannedOutcome, Map<string, readonly Remedy[]>>();
/** The lists of one outcome: that of its denial by a rule, or one for each of its limits. */
const knownMax = 4;

/**
 * Returns what would be allowed in place of a denied call. Empty: nothing, or the denial is not by a rule or a limit, or
 * no rule that applies asks or has cases. `answered`: the answers that led to the decision. Null: no rule has cases.
 */
export function remediesFor(
  caller: Caller,
  { tool, also }: { readonly tool: string; readonly also?: string },
  answered: AnsweredCases | null,
  { code, rule, asks }: Pick<Decision, 'code' | 'rule' | 'asks'>,
): readonly Remedy[] {
  const approvals = (asks ?? []).map(({ document, path }): Remedy => ({ kind: 'approval', ...placeIn(caller, document, path) }));
  if (answered === null) return approvals.slice(0, max.remedies);
  if (answered.index !== caller.index || (code !== 'policy_denied' && code !== 'rate_limited' && asks === null)) return none;
  const { cases } = caller.plans.get(planKey(tool, also)) ?? planFor(caller, tool, also);
  if (cases === null) return none;
  const reached = code === 'rate_limited' && rule !== null ? limitName(rule) : '';
  // In place of a call that is asked for, only a call without a question is worth naming.
  const isBetter = ({ permission }: Fold): boolean => permission === 'allow' || (permission === 'ask' && asks === null);
  const find = (): readonly Remedy[] =>
    findRemedies(
      { hops: caller.hops, questions: cases.questions, ...answered },
      (answers) => {
        const { enforced } = foldsOf(caller, tool, also, answers);
        const isClosed = enforced.limits.some((limit) => limit.max === 0 || limitName(limit) === reached);
        return isBetter(enforced) && !isClosed ? enforced : null;
      },
      approvals,
    );
  const outcome = cases.outcomes.get(answered.signature);
  // The reasons of undecided cases differ from call to call.
  if (outcome === undefined || answered.undecided.length > 0) return find();
  const ofOutcome = known.get(outcome) ?? new Map<string, readonly Remedy[]>();
  known.set(outcome, ofOutcome);
  const held = ofOutcome.get(reached);
  if (held !== undefined) return held;
  const list = find();
  if (ofOutcome.size < knownMax) ofOutcome.set(reached, list);
  return list;
}

const limitName = ({ layer, part, path }: Pick<NonNullable<Decision['rule']>, 'layer' | 'part' | 'path'>): string =>
  `${layer} ${part ?? ''} ${path}`;
