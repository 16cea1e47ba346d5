// Governs one run. Its calls are decided, recorded and counted by the same code as in every sidecar. There is no other
// path to a tool or a model.
import type { Tier } from '@tollgate/proto/contract';
import {
  callerOf,
  childOf,
  type Claim,
  type Decision,
  type Delivery,
  deliver,
  type GovernDeps,
  type Governing,
  judge,
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
   * were requested.
   */
  decide(call: ToolCall): Promise<GovernedDecision>;
  /** Returns the part of a permitted call's output that may reach the model. Writes the entry about the output. */
  report(permit: Permit, outcome: Outcome): Promise<DeliveredOutput>;
  /** The cap that ended the run; null: no cap has ended it. */
  readonly stopped: StopReason | null;
  /** The number of calls that were allowed so far. */
  readonly toolCalls: number;
  /** How often `addRound` was called. */
  readonly rounds: number;
  addRound(): void;
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
  /** Called after each decision, with its duration in ms. */
  readonly decided?: ((decision: Decision, ms: number) => void) | undefined;
}

export function governRun(governing: Governing, { runId, agentId, caller, tier, client, decided }: RootRun): GovernedAgentRun {
  const deps: GovernDeps = { ...governing.govern, cell: viewOf(governing.govern.cell, caller) };
  const claim: Claim = { identity: { sub: caller.sub, keyId: caller.keyId }, hops: [{ tier, client, agent: agentId }] };
  return createGoverned({ governing, deps, claim, client, runChain: [runId], numbers: createNumbers(), above: null, decided });
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
}

function createGoverned(parts: Parts): GovernedAgentRun {
  const { governing, deps, claim, client, runChain, numbers, above, decided } = parts;
  const facts = { sessionId: runChain[0] ?? '', client: { name: client }, runChain, chainClaimed: false };
  const run = openRun({ counters: governing.counters, govern: deps }, { claim, facts, numbers });
  const { usage } = run;
  const { maxBudgetCents = 0, maxDurationMs = 0, maxToolRounds = 0 } = callerOf(run).profile ?? {};

  let allowed = 0;
  let rounds = 0;
  const addCost = (cents: number): void => {
    usage.addCost(cents);
    above?.addCost(cents);
  };

  return {
    ...createRunPolicy(deps, run, (agentId) => childOf(claim, { agent: agentId })),
    agentId: claim.hops.at(-1)?.agent ?? '',
    caps: { maxBudgetCents, maxDurationMs, maxToolRounds },
    decide: async (call) => {
      const startedAt = deps.clock.now();
      const judged = await judge(deps, run, call, { forwards: true });
      const verdict = await recorded(governing, judged);
      decided?.(verdict.decision, deps.clock.now() - startedAt);
      if (verdict.allowed) allowed += 1;
      return { verdict, kept: valueOf(judged.kept) };
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
      }),
  };
}

const valueOf = (json: string | null): unknown => (json === null ? null : JSON.parse(json));
