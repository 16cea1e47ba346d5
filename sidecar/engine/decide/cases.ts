// Finds out which cases of the rules hold in one call. The answers select one of the outcomes of the plan. Outcomes are
// remembered, so that a call in which the same cases hold as before is not folded again.
import { conditionBounds, type UndecidedCase } from '@tollgate/proto/contract';
import type { Condition } from '../conditions/condition.ts';
import type { Environment, RoundedNumbers } from '../conditions/environment.ts';
import { Timestamp, Undecided } from '../conditions/values.ts';
import type { Index } from './build-index.ts';
import type { AgentFacts, CaseQuestion, ConditionalPlan, ToolFacts, UserFacts } from './caller.ts';
import type { CaseAnswer } from './document.ts';

/** What conditions read of a call. */
export interface CallFacts {
  /** The input as plain JSON: the same copy that the tool receives. An `Undecided` in it is hidden at this door. */
  readonly args: unknown;
  /** Null: no number of the input lost digits. */
  readonly rounded: RoundedNumbers | null;
  /** Wall-clock time in ms. */
  readonly wallTime: number;
  /** The answers of this call. They stay the same if the call waits and is decided again by the same policy. */
  answered: AnsweredCases | null;
}

export interface AnsweredCases {
  readonly index: Index;
  /** In the order of `ConditionalPlan.questions`. */
  readonly answers: readonly CaseAnswer[];
  /** The answers as a text: equal answers have equal texts. */
  readonly signature: string;
  readonly undecided: readonly UndecidedCase[];
}

/** Returns which cases hold. Evaluates each condition once for a call. */
export function answerCases(index: Index, plan: ConditionalPlan, facts: CallFacts): AnsweredCases {
  if (facts.answered?.index === index) return facts.answered;
  const evaluation = new Evaluation(plan, facts);
  const answers = plan.questions.map((question) => evaluation.answer(question));
  const answered = { index, answers, signature: signatureOf(answers), undecided: evaluation.undecided };
  facts.answered = answered;
  return answered;
}

const signatureOf = (answers: readonly CaseAnswer[]): string => {
  let signature = '';
  for (const { held, undecided } of answers) signature += undecided.length === 0 ? `${held};` : `${held}:${undecided.join()};`;
  return signature;
};

/** The cases that an entry names. The others are counted only by metrics. */
const namedMax = 16;
const decided: readonly number[] = [];

class Evaluation {
  readonly undecided: UndecidedCase[] = [];
  readonly #plan: ConditionalPlan;
  readonly #facts: CallFacts;
  #evaluated = 0;

  constructor(plan: ConditionalPlan, facts: CallFacts) {
    this.#plan = plan;
    this.#facts = facts;
  }

  answer({ hop, document, rule: { cases } }: CaseQuestion): CaseAnswer {
    let undecided: number[] | null = null;
    const variables = new CallVariables(this.#facts, this.#plan, hop);
    for (const [at, { condition, path }] of (cases ?? []).entries()) {
      const value = this.#evaluate(condition, variables);
      if (value === true) return { held: at, undecided: undecided ?? decided };
      if (!(value instanceof Undecided)) continue;
      undecided ??= [];
      undecided.push(at);
      if (this.undecided.length < namedMax) this.undecided.push({ document, path, reason: value.reason, at: value.path });
    }
    return { held: -1, undecided: undecided ?? decided };
  }

  #evaluate(condition: Condition, variables: CallVariables): boolean | Undecided {
    this.#evaluated += 1;
    if (this.#evaluated > conditionBounds.casesInCall) return tooMany;
    const env: Environment = { variables, rounded: this.#facts.rounded, steps: 0, slots: [] };
    return condition.evaluate(env);
  }
}

/** Returns what each case of a rule says of a call, also the cases after the first that holds. For people. */
export function explainCases(plan: ConditionalPlan, { hop, rule: { cases } }: CaseQuestion, facts: CallFacts): readonly (boolean | Undecided)[] {
  const variables = new CallVariables(facts, plan, hop);
  return (cases ?? []).map(({ condition }) => condition.evaluate({ variables, rounded: facts.rounded, steps: 0, slots: [] }));
}

const tooMany = new Undecided('budget', `more than ${conditionBounds.casesInCall} cases`);

/** The variables of a condition. `now` is made only if a condition reads it. */
class CallVariables implements Readonly<Record<string, unknown>> {
  readonly [name: string]: unknown;
  readonly args: unknown;
  readonly tool: ToolFacts;
  readonly agent: AgentFacts | undefined;
  readonly user: UserFacts;
  readonly #wallTime: number;

  constructor({ args, wallTime }: CallFacts, { tool, agents, user }: ConditionalPlan, hop: number) {
    this.args = args;
    this.tool = tool;
    this.agent = agents[hop];
    this.user = user;
    this.#wallTime = wallTime;
  }

  get now(): Timestamp {
    return new Timestamp(BigInt(Math.trunc(this.#wallTime)) * 1_000_000n);
  }
}
