// Computes once everything about one caller and one tool that does not depend on counters: the refusal if there is one,
// both folds, and the decisions that result from them.
import { type EntryRule, type ReasonCode, reasons, type RulePermission } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Subject } from './call.ts';
import type { AgentFacts, Caller, CaseQuestion, ConditionalPlan, Plan, PlannedOutcome, ToolFacts } from './caller.ts';
import type { AnsweredCases } from './cases.ts';
import { toolRefusal } from './chain.ts';
import { type Decision, type LimitSet, noLimits } from './decision.ts';
import { anyCase, type CaseAnswer, type CaseAnswers, casedRules, type IndexedDocument, type PlacedRule } from './document.ts';
import { type Fold, foldDocuments, foldHops, type Winner } from './fold.ts';
import { refuse } from './refusal.ts';
import { ruleWords } from './words.ts';

// Callers choose the tool names and the inputs, so the memory for plans and their outcomes is bounded. All callers of a
// snapshot share it. The bytes are estimates of what V8 uses.
const plansBytesMax = 8 * 1024 ** 2;
const planBytes = 1_200;
const limitBytes = 250;
const questionBytes = 150;
/** The outcomes by cases that one plan stores. Other outcomes are computed each time. */
const outcomesMax = 32;
/**
 * For each snapshot: the kept callers that have plans, and the bytes of all plans. Null: the snapshot was replaced, and
 * its plans are not stored.
 */
const remembering = new WeakMap<Index, { bytes: number; readonly callers: Set<Caller> } | null>();

/** Returns the key of a plan. A tool name never contains a line break, so the separator is unambiguous. */
export const planKey = (tool: string, also: string | undefined): string => (also === undefined ? tool : `${tool}\n${also}`);

export function planFor(caller: Caller, tool: string, also?: string): Plan {
  const plan = makePlan(caller, tool, also);
  const key = planKey(tool, also);
  const ofCases = plan.cases === null ? 0 : bytesOfLimits(plan) + questionBytes * plan.cases.questions.length;
  if (reserve(caller, planBytes + 8 * key.length + ofCases)) caller.plans.set(key, plan);
  return plan;
}

/**
 * Counts bytes of plans that are about to be stored. If there are too many, all plans of the snapshot are removed first.
 * Returns false if the caller's plans are not stored.
 */
function reserve(caller: Caller, bytes: number): boolean {
  const known = remembering.get(caller.index);
  if (known === null || !caller.isKept) return false;
  const all = known ?? { bytes: 0, callers: new Set() };
  remembering.set(caller.index, all);
  all.bytes += bytes;
  if (all.bytes > plansBytesMax) {
    for (const one of all.callers) one.plans.clear();
    all.callers.clear();
    all.bytes = bytes;
  }
  all.callers.add(caller);
  return true;
}

const bytesOfLimits = ({ outcome, shadow }: PlannedOutcome): number =>
  limitBytes * (outcome.limits.limits.length + (shadow?.fold.limits.length ?? 0));

/** Removes the stored plans of a snapshot that was replaced. See `forgetCallers`. */
export function forgetPlans(index: Index): void {
  for (const one of remembering.get(index)?.callers ?? []) one.plans.clear();
  remembering.set(index, null);
}

function makePlan(caller: Caller, tool: string, also: string | undefined): Plan {
  const folds = foldsOf(caller, tool, also, () => anyCase);
  return {
    refused: toolRefusal(caller, tool),
    ...outcomeOf(caller, tool, folds),
    mayAllow: folds.enforced.mayAllow,
    cases: conditionalPlan(caller, tool, also),
  };
}

export const codes = { allow: 'allowed', ask: 'approval_pending', deny: 'policy_denied' } as const satisfies Record<
  RulePermission,
  ReasonCode
>;
export const verbs = { allow: 'allows', ask: 'asks a person about', deny: 'denies' } as const;
/** Ends the reason of a call that waits. */
export const waitingWords = '; the call waits for the answer: make the same call again later, and do not try another way';

function outcomeOf(caller: Caller, tool: string, { enforced, shadow }: Folds): PlannedOutcome {
  const storedTransform = enforced.transform === 'redact' || shadow?.transform === 'redact' ? 'redact' : 'log';
  const { permission, permissionBy, asks } = enforced;
  const words = ruleWords(verbs[permission], permissionBy, tool, caller.tier);
  const decided = (code: 'allowed' | 'approval_pending' | 'policy_denied', reason: string): Decision =>
    decisionOf(caller, enforced, { code, reason: `${code}: ${reason}`, storedTransform, asks: code === 'approval_pending' ? asks : null });
  const asked = permission === 'ask' ? { rules: asks, approved: decided('allowed', `${words}, and the call was approved`) } : null;
  return {
    outcome: decided(codes[permission], asked === null ? words : `${words}${waitingWords}`),
    asked,
    shadow: shadow === null ? null : { fold: shadow, limits: limitSet(shadow) },
  };
}

function decisionOf(
  caller: Caller,
  enforced: Fold,
  {
    code,
    ...said
  }: Pick<Decision, 'reason' | 'storedTransform' | 'asks'> & { readonly code: 'allowed' | 'approval_pending' | 'policy_denied' },
): Decision {
  const isAllowed = code === 'allowed';
  return Object.freeze({
    decision: isAllowed ? 'allow' : 'deny',
    code,
    reason: said.reason,
    kind: reasons[code],
    retryAfterMs: null,
    rule: entryRule(enforced.permissionBy, caller.index.revision),
    transform: enforced.transform,
    storedTransform: said.storedTransform,
    shadow: null,
    outage: false,
    stop: null,
    attempt: true,
    limits: isAllowed ? limitSet(enforced) : noLimits,
    shadowLimits: noLimits,
    awaits: null,
    asks: said.asks,
    approval: null,
    undecided: null,
  });
}

/** What of a caller conditions read. */
export interface PlannedCaller extends Pick<Caller, 'hops' | 'scopes' | 'index'> {
  readonly subject: Pick<Subject, 'role' | 'uid'> | null;
}

/** Returns the rules with cases that may apply. Null: there are none. */
export function conditionalPlan(caller: PlannedCaller, tool: string, also: string | undefined): ConditionalPlan | null {
  if (!caller.hops.some(({ documents }) => documents.some(({ hasCases }) => hasCases))) return null;
  const questionsOf = (enforces: boolean): readonly CaseQuestion[] =>
    caller.hops.flatMap(({ documents, tier, agentType }, hop) =>
      documents.flatMap((document): readonly CaseQuestion[] => {
        if (document.enforces !== enforces) return [];
        const rules = casedRules(document, tool, tier, agentType);
        const ofAlso = also === undefined ? [] : casedRules(keysAlone(document), also, tier, agentType);
        return [...new Set([...rules, ...ofAlso])].map((rule): CaseQuestion => ({ hop, document: document.key, rule }));
      }),
    );
  // The number of cases in a call is bounded. Documents in audit mode come last, so that their cases change no effect.
  const questions = [...questionsOf(true), ...questionsOf(false)];
  return questions.length === 0 ? null : { questions, ...variablesOf(caller, tool), outcomes: new Map() };
}

function variablesOf({ hops, scopes, subject, index }: PlannedCaller, tool: string): Pick<ConditionalPlan, 'tool' | 'agents' | 'user'> {
  const chain = hops.map(({ name }) => name);
  const agents = hops.map(
    ({ name, profile, hop, tier, agentType, facts }): AgentFacts => ({
      name,
      ...(profile === null ? {} : { id: profile.id }),
      client: hop.client,
      tier,
      type: agentType,
      scopes,
      chain,
      ...facts,
    }),
  );
  const user = subject === null ? {} : { role: subject.role, ...(subject.uid === null ? {} : { uid: subject.uid }) };
  return { tool: toolFacts(index, tool), agents, user };
}

function toolFacts({ servers }: Index, tool: string): ToolFacts {
  // A server's name may contain dots: the longest name that the tool begins with is its server.
  for (let end = tool.lastIndexOf('.'); end > 0; end = tool.lastIndexOf('.', end - 1)) {
    const server = servers.get(tool.slice(0, end));
    if (server === undefined) continue;
    const annotations = server.hints?.find(([name]) => name === tool.slice(end + 1))?.[1];
    return { name: tool, server: server.name, ...(annotations === undefined ? {} : { annotations }) };
  }
  return { name: tool };
}

/** Returns the outcome in which these cases hold. */
export function outcomeByCases(
  caller: Caller,
  tool: string,
  also: string | undefined,
  { questions, outcomes }: ConditionalPlan,
  { answers, signature }: AnsweredCases,
): PlannedOutcome {
  const known = outcomes.get(signature);
  if (known !== undefined) return known;
  const outcome = outcomeOf(caller, tool, foldsOf(caller, tool, also, answersByHop(questions, answers)));
  if (outcomes.size < outcomesMax && reserve(caller, planBytes + bytesOfLimits(outcome) + signature.length))
    outcomes.set(signature, outcome);
  return outcome;
}

/** Returns the answers by hop and rule. `answers` are in the order of the questions. */
export function answersByHop(questions: readonly CaseQuestion[], answers: readonly CaseAnswer[]): AnswersOfHop {
  const byHop = new Map<number, Map<PlacedRule, CaseAnswer>>();
  for (const [at, { hop, rule }] of questions.entries()) {
    const ofHop = byHop.get(hop) ?? new Map<PlacedRule, CaseAnswer>();
    byHop.set(hop, ofHop);
    const answer = answers[at];
    if (answer !== undefined) ofHop.set(rule, answer);
  }
  return (hop) => (rule) => byHop.get(hop)?.get(rule) ?? anyCase(rule);
}

const limitSet = ({ limits }: Fold): LimitSet => (limits.length === 0 ? noLimits : { limits, found: null });

export interface Folds {
  /** The fold of the layers in `enforce` mode. */
  readonly enforced: Fold;
  /** The fold of all layers as if all were enforced. Null: no layer is in audit mode. */
  readonly shadow: Fold | null;
}

/** Returns both folds. `answers`: which cases hold. */
export function foldsOf(caller: Caller, tool: string, also: string | undefined, answers: AnswersOfHop): Folds {
  const { defaultPermission } = caller.index.settings;
  const [first, ...rest] = caller.hops;
  if (first === undefined) throw new RangeError('a caller must have at least one hop, the hop of the calling agent');
  const fold = (all: boolean): Fold => {
    const ofHop = (hop: typeof first, at: number): Fold => {
      const documents = all ? hop.documents : hop.documents.filter(({ enforces }) => enforces);
      const named = foldDocuments(hop, documents, tool, defaultPermission, answers(at));
      // Two names of one call combine like two hops: the strictest result wins. For the second name, rules that name no
      // tool are left out, because they are already applied for the first name.
      return also === undefined ? named : foldHops([foldDocuments(hop, documents.map(keysAlone), also, 'allow', answers(at)), named]);
    };
    return foldHops([ofHop(first, 0), ...rest.map((hop, at) => ofHop(hop, at + 1))]);
  };
  const audited = caller.hops.some(({ documents }) => documents.some(({ enforces }) => !enforces));
  return { enforced: fold(false), shadow: audited ? fold(true) : null };
}

/** Returns the answers for one hop of the chain. */
export type AnswersOfHop = (hop: number) => CaseAnswers;

const keysAlone = (document: IndexedDocument): IndexedDocument => ({ ...document, defaults: new Map(), agentTypes: new Map() });

function entryRule(by: Winner, revision: number): EntryRule {
  return {
    layer: by.layer,
    ...(by.part === null ? {} : { part: by.part }),
    path: by.path,
    revision,
    ...(by.override ? { override: true as const } : {}),
  };
}

/** Returns the denial for an invalid tool name. */
export const malformedTool = (problem: string): Decision => refuse('call_malformed', `tool name ${problem}`);
