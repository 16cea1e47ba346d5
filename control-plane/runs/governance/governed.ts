// Governs one run. Its calls are decided, recorded and counted by the same code as in every sidecar. There is no other
// path to a tool or a model.
import type { Tier } from '@tollgate/proto/contract';
import {
  type AskedAnswer,
  callerOf,
  childOf,
  type Claim,
  type Decision,
  type Delivery,
  deliver,
  type EarlierUse,
  type GovernDeps,
  type Governing,
  judge,
  type JudgeOptions,
  openRun,
  type Outcome,
  type Permit,
  recorded,
  type StopReason,
  type ToolCall,
  type Verdict,
} from '@tollgate/sidecar/engine';
import { createNumbers, type Numbers } from '@tollgate/sidecar/engine/redact';
import { createRunPolicy, type RunPolicy } from './run-policy.ts';
import { createCallApprovals, type KnownAnswer, type Question } from './call-approvals.ts';
import { type Caller, viewOf } from './run-view.ts';

/** The limits of the agent's profile that apply to the run as a whole, in addition to the limits on its calls. */
interface RunCaps {
  readonly maxBudgetCents: number;
  readonly maxDurationMs: number;
  readonly maxToolRounds: number;
}

export interface GovernedDecision {
  readonly verdict: Verdict;
  /** The input in the form that policy allows to be stored; null when it could not be read. */
  readonly kept: unknown;
}

/** A call that asks a person. It is decided when its question is answered, and it may then ask another one. */
export interface AskingCall {
  readonly question: Pick<Question, 'ask' | 'isCounted'>;
  answer(answer: AskedAnswer): Promise<GovernedDecision | AskingCall>;
}

export const isAsking = (decided: GovernedDecision | AskingCall): decided is AskingCall => 'question' in decided;

/** What a run has used so far, as it is stored while the run waits. */
export interface UsedSoFar extends Omit<EarlierUse, 'activeMs'> {
  /** The number of calls that were allowed. */
  readonly allowed: number;
  readonly rounds: number;
  /** The highest number in a mark of a redacted value. */
  readonly highestMark: number;
}

/** How one call is decided. */
export interface Deciding {
  /** Ends the wait of a call of a run below another run. */
  readonly signal: AbortSignal;
  /** The answer to the question that the call asked before the run waited. */
  readonly known?: KnownAnswer | null;
  /** Called before the call claims a use of an approval. If it rejects, so does the decision. */
  readonly beforeClaim: () => Promise<void>;
}

interface DeliveredOutput {
  readonly delivery: Delivery;
  /** The output in the form that policy allows to be stored; null: nothing of it is stored. */
  readonly kept: unknown;
}

export interface GovernedAgentRun extends RunPolicy {
  readonly agentId: string;
  readonly caps: RunCaps;
  /**
   * Decides one call, counts it, and writes its entry. The calls of one round are decided in the order in which they
   * were requested. A call of a root run that asks a person is not decided yet. A call of a run below another run is held
   * until it is answered, as long as its rule says.
   */
  decide(call: ToolCall, deciding: Deciding): Promise<GovernedDecision | AskingCall>;
  /** Returns the part of a permitted call's output that may reach the model. Writes the entry about the output. */
  report(permit: Permit, outcome: Outcome): Promise<DeliveredOutput>;
  /** The cap that ended the run; null: no cap has ended it. */
  readonly stopped: StopReason | null;
  /** The number of calls that were allowed so far. */
  readonly toolCalls: number;
  /** How often `addRound` was called. */
  readonly rounds: number;
  addRound(): void;
  readonly used: UsedSoFar;
  /** What identifies the run in its entries and to policy. */
  readonly root: Pick<RootRun, 'caller' | 'tier' | 'client'>;
  /** Adds the cost to this run and to all runs above it. */
  addCost(cents: number): void;
  /** Creates a run of another agent below this one. With `scopes`, the child has only these scopes. */
  delegate(child: { readonly runId: string; readonly agentId: string; readonly scopes?: readonly string[] }): GovernedAgentRun;
}

export interface RootRun {
  readonly runId: string;
  readonly agentId: string;
  readonly caller: Caller;
  readonly tier: Tier;
  readonly client: string;
  /** The run waited in this or another process, and has used this. Absent: it begins. */
  readonly earlier?: { readonly used: UsedSoFar; readonly activeMs: number };
  /** Called after each decision, with its duration in ms. */
  readonly decided?: ((decision: Decision, ms: number) => void) | undefined;
}

export function governRun(
  governing: Governing,
  {
    runId,
    agentId,
    caller,
    tier,
    client,
    decided,
    earlier = null,
  }: Omit<RootRun, 'earlier'> & { readonly earlier?: RootRun['earlier'] | null },
): GovernedAgentRun {
  const deps: GovernDeps = { ...governing.govern, cell: viewOf(governing.govern.cell, caller) };
  const claim: Claim = { identity: { sub: caller.sub, keyId: caller.keyId }, hops: [{ tier, client, agent: agentId }] };
  const numbers = createNumbers({ above: earlier?.used.highestMark ?? 0 });
  const { credential, keyId, sub, uid, role } = caller;
  const root = { caller: { credential, keyId, sub, uid, role }, tier, client };
  return createGoverned({ governing, deps, claim, client, runChain: [runId], numbers, above: null, decided, earlier, root });
}

interface Parts {
  readonly governing: Governing;
  readonly deps: GovernDeps;
  readonly claim: Claim;
  readonly client: string;
  readonly runChain: readonly string[];
  readonly numbers: Numbers;
  readonly above: Pick<GovernedAgentRun, 'addCost'> | null;
  readonly decided: RootRun['decided'];
  readonly earlier: RootRun['earlier'] | null;
  readonly root: GovernedAgentRun['root'];
}

function createGoverned(parts: Parts): GovernedAgentRun {
  const { governing, deps, claim, client, runChain, numbers, above, decided, earlier, root } = parts;
  const facts = { sessionId: runChain[0] ?? '', client: { name: client }, runChain, chainClaimed: false };
  const used = earlier == null ? {} : { earlier: { ...earlier.used, activeMs: earlier.activeMs } };
  const run = openRun({ counters: governing.counters, govern: deps }, { claim, facts, numbers, ...used });
  const { usage } = run;
  const { maxBudgetCents = 0, maxDurationMs = 0, maxToolRounds = 0 } = callerOf(run).profile ?? {};

  let allowed = earlier?.used.allowed ?? 0;
  let rounds = earlier?.used.rounds ?? 0;
  const addCost = (cents: number): void => {
    usage.addCost(cents);
    above?.addCost(cents);
  };

  const decideWith = async (
    of: GovernDeps,
    call: ToolCall,
    options: Pick<JudgeOptions, 'holdMs' | 'waiter'>,
  ): Promise<GovernedDecision> => {
    const startedAt = deps.clock.now();
    const judged = await judge(of, run, call, { forwards: true, ...options });
    const verdict = await recorded(governing, judged);
    decided?.(verdict.decision, deps.clock.now() - startedAt);
    if (verdict.allowed) allowed += 1;
    return { verdict, kept: valueOf(judged.kept) };
  };

  return {
    root,
    ...createRunPolicy(deps, run, (agentId) => childOf(claim, { agent: agentId })),
    agentId: claim.hops.at(-1)?.agent ?? '',
    caps: { maxBudgetCents, maxDurationMs, maxToolRounds },
    decide: (call, { signal, known = null, beforeClaim }) => {
      const { approvals: real } = deps;
      // A run below another run cannot be stored, because the call of the run above it is under way.
      if (above !== null || real === undefined) return decideWith(deps, call, { holdMs: Number.POSITIVE_INFINITY, waiter: signal });
      return untilAsking((asked) => decideWith({ ...deps, approvals: createCallApprovals({ real, known, beforeClaim, asked }) }, call, {}));
    },
    report: async (permit, outcome) => {
      const judged = deliver(deps, run, permit, outcome);
      return { delivery: await recorded(governing, judged), kept: valueOf(judged.kept) };
    },
    get stopped() {
      return usage.stopped;
    },
    get toolCalls() {
      return allowed;
    },
    get rounds() {
      return rounds;
    },
    get used() {
      const { toolCalls, toolRounds, spentCents, stopped } = usage;
      return { toolCalls, toolRounds, spentCents, stopped, allowed, rounds, highestMark: numbers.highest };
    },
    addRound: () => {
      rounds += 1;
      usage.addRound();
    },
    addCost,
    delegate: ({ runId, agentId, ...handed }) =>
      createGoverned({
        ...parts,
        claim: childOf(claim, { agent: agentId, ...handed }),
        runChain: [...runChain, runId],
        above: { addCost },
        earlier: null,
      }),
  };
}

const valueOf = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

/** Resolves when the call is decided, or when it asks a question. */
function untilAsking(decide: (asked: (question: Question) => void) => Promise<GovernedDecision>): Promise<GovernedDecision | AskingCall> {
  let ask: (question: Question) => void = () => undefined;
  const untilNext = (deciding: Promise<GovernedDecision>): Promise<GovernedDecision | AskingCall> =>
    new Promise((settle, fail) => {
      ask = ({ answer, ...question }) =>
        settle({
          question,
          answer: (given) => {
            const next = untilNext(deciding);
            answer(given);
            return next;
          },
        });
      deciding.then(settle, fail);
    });
  // `decide` begins in a later step, when `ask` is set.
  return untilNext(Promise.resolve().then(() => decide((question) => ask(question))));
}
