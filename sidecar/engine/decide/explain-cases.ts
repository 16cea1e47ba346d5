// Explains which cases of rules hold in a call: every case of every rule that matches, also those after the first that
// holds. Without an input, each of them may hold.
import { childPath, conditionBounds } from '@tollgate/proto/contract';
import { Undecided } from '../conditions/values.ts';
import type { Condition } from '../conditions/condition.ts';
import { answerCases, type CallFacts, explainCases } from './cases.ts';
import { anyCase, type PlacedCase } from './document.ts';
import type { Fold } from './fold.ts';
import { type AnswersOfHop, answersByHop, conditionalPlan, type PlannedCaller } from './plan.ts';
import { type AskedCases, findRemedies, type Remedy } from './remedies.ts';

/** What a call would be, for a question without a call. */
export interface ExplainedInput {
  /** An `Undecided` in it stands for a part that is not known. */
  readonly input: unknown;
  /** The names of the headers that the input may contain. Absent: the input has all. */
  readonly shownHeaders?: ReadonlySet<string>;
  /** Wall-clock time in ms, for conditions that read `now`. */
  readonly wallTime: number;
}

export interface ExplainedCase {
  /** For example `tools["payments.transfer"].api.cases["large"]`. */
  readonly path: string;
  /** `depends`: no input was given. */
  readonly result: 'holds' | 'does not hold' | 'undecided' | 'depends';
  /** Why it is undecided: one of `undecidedReasons`. */
  readonly reason?: string;
  /** The part of the condition that could not be evaluated. */
  readonly at?: string;
  /** The fields of the rule that the case replaces, and the reason that it gives to the agent. */
  readonly sets: PlacedCase['fields'];
  /** The condition as it was written, or its beginning. Absent: only its compiled form is known. */
  readonly when?: string;
}

/** The cases that may apply to a call, and which of them hold. */
export interface LookedCases {
  readonly answers: AnswersOfHop;
  /** For each hop of the chain: its cases by the key of their document. */
  readonly byHop: readonly CasesByDocument[];
  /** Returns what would be allowed. `allowed`: the fold with other answers, or null if such a call would be denied. */
  remedies(allowed: (answers: AnswersOfHop) => Fold | null): readonly Remedy[];
}

export type CasesByDocument = ReadonlyMap<string, readonly ExplainedCase[]>;

/** Evaluates the cases that may apply to a call through the hops of `caller`. */
export function lookAtCases(caller: PlannedCaller, tool: string, call?: ExplainedInput): LookedCases {
  const { hops } = caller;
  const byHop = hops.map(() => new Map<string, readonly ExplainedCase[]>());
  const plan = conditionalPlan(caller, tool, undefined);
  if (plan === null) return { answers: () => anyCase, byHop, remedies: () => [] };
  const facts: CallFacts | null =
    call === undefined
      ? null
      : { args: argsOf(call.input), shownHeaders: call.shownHeaders, wallTime: call.wallTime, caseAnswers: null, approved: null };
  // In a chain, a condition that does not read the agent is evaluated once for all hops.
  const shared = new Set<Condition>();
  let evaluated = 0;
  for (const question of plan.questions) {
    const cases = question.rule.cases ?? [];
    for (const { condition, readsAgent } of cases) {
      if (readsAgent || !shared.has(condition)) evaluated += 1;
      if (hops.length > 1) shared.add(condition);
    }
    const results = facts === null || evaluated > conditionBounds.casesInCall ? null : explainCases(plan, question, facts);
    const explained = cases.map((one, at) => explainCase(one, facts === null ? undefined : (results?.[at] ?? overBudget)));
    const ofHop = byHop[question.hop];
    ofHop?.set(question.document, [...(ofHop.get(question.document) ?? []), ...explained]);
  }
  const { questions } = plan;
  const answered = facts === null ? null : answerCases(caller.index, plan, facts);
  const answers = answered?.answers ?? questions.map(({ rule }) => anyCase(rule));
  const asked: AskedCases = { hops, questions, answers, undecided: answered?.undecided ?? [] };
  return {
    answers: answersByHop(questions, answers),
    byHop,
    remedies: (allowed) => findRemedies(asked, allowed),
  };
}

const overBudget = new Undecided('budget', `more than ${conditionBounds.casesInCall} cases`);

function explainCase({ path, fields }: PlacedCase, result: boolean | Undecided | undefined): ExplainedCase {
  const one = { path, sets: fields };
  if (result === undefined) return { ...one, result: 'depends' };
  if (result instanceof Undecided) return { ...one, result: 'undecided', reason: result.reason, at: result.path };
  return { ...one, result: result ? 'holds' : 'does not hold' };
}

/**
 * Returns the input of a question as conditions read it. The text of the question was parsed before, so an integer beyond
 * the precision of a double may have lost digits.
 */
function argsOf(input: unknown): unknown {
  return input == null ? {} : readable(input, 'args');
}

function readable(value: unknown, path: string): unknown {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? new Undecided('rounded', path) : value;
  if (typeof value !== 'object' || value === null || value instanceof Undecided) return value;
  if (Array.isArray(value)) return value.map((item, at) => readable(item, `${path}[${at}]`));
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, readable(field, childPath(path, key))]));
}

/** Returns why a denial, or that a person is asked, depends on the input. Null: it is so with every input. */
export function dependsOn(cases: LookedCases['byHop'], enforced: Fold, reason: string): string | null {
  const mayDiffer = reason.startsWith('approval_pending:') ? enforced.mayAllowUnasked : enforced.mayAllow;
  if (!mayDiffer || !/^(?:policy_denied|rate_limited|approval_pending):/.test(reason)) return null;
  const ofHops = cases.flatMap((byDocument) =>
    [...byDocument].flatMap(([document, ofDocument]) => ofDocument.map(({ path }) => `${document} ${path}`)),
  );
  const places = [...new Set(ofHops)];
  return `depends on the input, which these cases read: ${places.slice(0, 5).join(', ')}${places.length > 5 ? ', …' : ''}`;
}
