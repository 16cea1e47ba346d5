// Finds out which cases of the rules hold in one call. The answers select one of the outcomes of the plan. Outcomes are
// remembered, so that a call in which the same cases hold as before is not folded again.
import { conditionBounds, type UndecidedCase } from '@tollgate/proto/contract';
import type { Condition } from '../conditions/condition.ts';
import type { Environment } from '../conditions/environment.ts';
import { Timestamp, Undecided } from '../conditions/values.ts';
import type { Index } from './build-index.ts';
import type { AgentFacts, CaseQuestion, ConditionalPlan, ToolFacts, UserFacts } from './caller.ts';
import type { CaseAnswer, PlacedCase } from './document.ts';

/** What conditions read of a call. */
export interface CallFacts {
  /** The input as plain JSON: the same copy that the tool receives. An `Undecided` in it is hidden at this door. */
  readonly args: unknown;
  /** The names of the headers that the input may contain. A condition that reads others is undecided. Absent: the input has all. */
  readonly shownHeaders?: ReadonlySet<string> | undefined;
  /** The time of day, in ms since 1970. */
  readonly wallTime: number;
  /** The cases that hold in this call. Null: not evaluated yet. They stay the same if the call waits and is decided again by the same policy. */
  caseAnswers: AnsweredCases | null;
  /**
   * The digests (`askDigest`) of the rules that a claimed approval of this call covers. If it is not null, the call was
   * counted as an attempt when it was asked for, so `maxToolCalls` is not tested again. Null: nothing was claimed.
   */
  approved: readonly string[] | null;
  /** True: another call has the use for which the asked call was counted, so `maxToolCalls` is tested for this one. */
  readonly isFurtherUse?: boolean;
}

export interface AnsweredCases {
  readonly index: Index;
  /** In the order of `ConditionalPlan.questions`. */
  readonly answers: readonly CaseAnswer[];
  /** The answers as a text: equal answers have equal texts. */
  readonly signature: string;
  /** The cases that an entry names. */
  readonly undecided: readonly UndecidedCase[];
}

/** Returns which cases hold. Evaluates each condition once, and one that reads `agent` once for each hop. */
export function answerCases(index: Index, plan: ConditionalPlan, facts: CallFacts): AnsweredCases {
  if (facts.caseAnswers?.index === index) return facts.caseAnswers;
  const evaluation = new Evaluation(plan, facts);
  const answers = plan.questions.map((question) => evaluation.answer(question));
  const answered = { index, answers, signature: signatureOf(answers), undecided: evaluation.undecided };
  facts.caseAnswers = answered;
  return answered;
}

const signatureOf = (answers: readonly CaseAnswer[]): string => {
  let signature = '';
  for (const { held, undecided } of answers) signature += undecided.length === 0 ? `${held};` : `${held}:${undecided.join()};`;
  return signature;
};

/** The cases that an entry names. The others are counted only by metrics. */
const namedMax = 16;
const none: readonly number[] = [];

class Evaluation {
  readonly undecided: UndecidedCase[] = [];
  readonly #plan: ConditionalPlan;
  readonly #facts: CallFacts;
  /** In a chain: the values of conditions that are the same at every hop. */
  readonly #shared: Map<Condition, boolean | Undecided> | null;
  #environment: Environment | null = null;
  #hop = -1;
  #evaluated = 0;

  constructor(plan: ConditionalPlan, facts: CallFacts) {
    this.#plan = plan;
    this.#facts = facts;
    this.#shared = plan.agents.length > 1 ? new Map() : null;
  }

  answer({ hop, document, rule: { cases } }: CaseQuestion): CaseAnswer {
    let undecided: number[] | null = null;
    for (const [at, one] of (cases ?? []).entries()) {
      const value = this.#evaluate(one, hop);
      if (value === true) return { held: at, undecided: undecided ?? none };
      if (value === false) continue;
      undecided ??= [];
      undecided.push(at);
      this.#name(document, one, value);
    }
    return { held: -1, undecided: undecided ?? none };
  }

  #evaluate({ condition, readsAgent }: PlacedCase, hop: number): boolean | Undecided {
    const shared = readsAgent ? null : this.#shared;
    const known = shared?.get(condition);
    if (known !== undefined) return known;
    this.#evaluated += 1;
    if (this.#evaluated > conditionBounds.casesInCall) return tooMany;
    if (this.#environment === null || this.#hop !== hop) this.#environment = environmentOf(this.#facts, this.#plan, hop);
    this.#hop = hop;
    this.#environment.steps = 0;
    const value = evaluateCase(condition, this.#environment, this.#facts);
    shared?.set(condition, value);
    return value;
  }

  /** A case that is undecided at several hops is named once. */
  #name(document: string, { path }: PlacedCase, { reason, path: at }: Undecided): void {
    if (this.undecided.length >= namedMax) return;
    if (!this.undecided.some((one) => one.document === document && one.path === path)) this.undecided.push({ document, path, reason, at });
  }
}

const tooMany = new Undecided('budget', `more than ${conditionBounds.casesInCall} cases`);
const hiddenHeaders = new Undecided('hidden', 'args.headers');

/** Returns what each case of a rule says of a call, also the cases after the first that holds. For people. */
export function explainCases(
  plan: ConditionalPlan,
  { hop, rule: { cases } }: CaseQuestion,
  facts: CallFacts,
): readonly (boolean | Undecided)[] {
  return (cases ?? []).map(({ condition }) => evaluateCase(condition, environmentOf(facts, plan, hop), facts));
}

function evaluateCase(condition: Condition, environment: Environment, { shownHeaders }: CallFacts): boolean | Undecided {
  if (shownHeaders !== undefined && condition.headers?.every((name) => shownHeaders.has(name)) !== true) return hiddenHeaders;
  return condition.evaluate(environment);
}

const environmentOf = (facts: CallFacts, plan: ConditionalPlan, hop: number): Environment => ({
  variables: new CallVariables(facts, plan, hop),
  steps: 0,
  slots: [],
});

/** The variables of a condition. `now` is made only if a condition reads it. */
class CallVariables implements Readonly<Record<string, unknown>> {
  readonly [name: string]: unknown;
  readonly args: unknown;
  readonly tool: ToolFacts;
  readonly agent: AgentFacts | undefined;
  readonly user: UserFacts;
  readonly #facts: CallFacts;

  constructor(facts: CallFacts, { tool, agents, user }: ConditionalPlan, hop: number) {
    this.args = facts.args;
    this.tool = tool;
    this.agent = agents[hop];
    this.user = user;
    this.#facts = facts;
  }

  get now(): Timestamp {
    return new Timestamp(BigInt(Math.trunc(this.#facts.wallTime)) * 1_000_000n);
  }
}
