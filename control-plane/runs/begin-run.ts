// Begins a run: a root run for a caller, or a run below another run. A refused run (unknown agent or model, suspended
// agent, frozen workspace, daily cap reached) leaves no trace. A run that has begun is in the records, with its tools
// ready.
import type { Tier } from '@tollgate/proto/contract';
import type { WorkspaceServer } from '../workspaces/rules.ts';
import type { Actor } from '../access/rules/actor.ts';
import type { Agent } from '../agents/rules/agent.ts';
import { badRequest, forbidden, notFound } from '../base/refusal.ts';
import { microcentsFromCents } from './rules/money.ts';
import type { RunRef } from './rules/run.ts';
import type { RunAsk } from './rules/run-ask.ts';
import { agentTools, type Task } from './delegation.ts';
import { type GovernedAgentRun, governRun, type RootRun } from './governance/governed.ts';
import type { WorkspaceSidecar } from './governance/workspace-sidecar.ts';
import type { Models } from './model.ts';
import { leastOf } from './paid-reply.ts';
import type { RunRecords } from './records.ts';
import type { RunParts } from './run-parts.ts';
import type { Toolbox, ToolResult } from './tools/tool.ts';
import { createWorkbench, type Workbench, type WorkbenchDeps } from './tools/workbench.ts';
import type { StoredRun } from './waiting.ts';

export interface BeginDeps extends Pick<RunParts, 'rates'> {
  readonly models: Pick<Models, 'problem'>;
  readonly workbench: WorkbenchDeps;
  readonly records: Pick<RunRecords, 'begin'>;
  /**
   * Throws `rate_limited` when less than `least` µ¢ of the user's money for the day remains. `least` is the minimum
   * cost of the first model call.
   */
  readonly admit: (caller: Pick<Actor, 'workspaceId' | 'sub'>, least: number) => Promise<void>;
  /**
   * Opens those tools of the workspace's servers that match the names and wildcards in `enabledTools`. `held` returns
   * the servers of the policy that is held when `held` is called.
   */
  readonly openToolbox: (workspaceId: number, enabledTools: readonly string[], held: () => readonly WorkspaceServer[]) => Promise<Toolbox>;
  readonly newId: () => string;
  /** Called after each decision on a call, with its duration in ms. */
  readonly decided?: RootRun['decided'];
}

/** The request to run an agent. */
export interface AgentAsk extends RunAsk {
  readonly agentId: string;
}

/** An active run, with the data that its child runs need. */
export interface RunNode {
  readonly run: RunRef;
  readonly agent: Agent;
  readonly governed: GovernedAgentRun;
  readonly sub: string;
  /** The root run's id. */
  readonly conversationId: string;
  readonly sidecar: WorkspaceSidecar;
  /** Aborting it ends the run. */
  readonly stop: AbortController;
}

export interface RunBeginning {
  readonly node: RunNode;
  readonly workbench: Workbench;
}

interface BeginRun {
  /** Rejects with `AppError` when the run is refused. */
  root(actor: Actor, ask: AgentAsk, sidecar: WorkspaceSidecar): Promise<RunBeginning>;
  /**
   * Begins a run of another agent below `above`. If the other agent cannot run, returns the reason as a text for the
   * agent above.
   */
  below(above: RunNode, task: Task): Promise<RunBeginning | string>;
  /**
   * Opens the tools of a root run that has waited, with the agent and the policy as they are now. The model and the system prompt
   * stay those of its beginning. Rejects with `AppError` if the run cannot continue.
   */
  resumed(run: RunRef, stored: StoredRun, sidecar: WorkspaceSidecar): Promise<RunBeginning>;
}

const clientName = 'tollgate';
const rootTier: Tier = 'api';

/** `runTask` runs a task that a run delegates. It rejects only with the signal's reason. */
export function createBeginRun(
  deps: BeginDeps,
  runTask: (above: RunNode, task: Task, signal: AbortSignal) => Promise<ToolResult>,
): BeginRun {
  async function root(actor: Actor, ask: AgentAsk, sidecar: WorkspaceSidecar): Promise<RunBeginning> {
    const agent = sidecar.state?.agents.find(({ id }) => id === ask.agentId);
    if (agent === undefined) throw notFound('there is no such agent');
    const { pins, workspaceId } = actor;
    if (pins.agent !== null && pins.agent !== agent.id && pins.agent !== agent.name)
      throw forbidden(`this key is for the agent ${JSON.stringify(pins.agent)} only`);
    const problem = deps.models.problem(agent.model);
    if (problem !== null) throw badRequest(problem);
    const id = deps.newId();
    const { tier, client } = pins;
    const caller = { caller: actor, tier: tier ?? rootTier, client: client ?? clientName, decided: deps.decided };
    const governed = governRun(sidecar.governing, { runId: id, agentId: agent.id, ...caller });
    const halted = governed.halted();
    if (halted !== null) throw forbidden(halted);
    await deps.admit(actor, leastOf(deps.rates, agent, ask));
    const node: RunNode = {
      run: { workspaceId, id },
      agent,
      governed,
      sub: actor.sub,
      conversationId: id,
      sidecar,
      stop: new AbortController(),
    };
    const begun = await begin(node, null, requestOf(governed, ask));
    if (begun === null) throw notFound('there is no such agent');
    return begun;
  }

  async function resumed(run: RunRef, stored: StoredRun, sidecar: WorkspaceSidecar): Promise<RunBeginning> {
    const { agentId, caller, tier, client, model, used, activeMs } = stored;
    const now = sidecar.state?.agents.find(({ id }) => id === agentId);
    if (now === undefined) throw notFound('the agent of the run was deleted while the run waited for a person');
    const problem = deps.models.problem(model);
    if (problem !== null) throw badRequest(`the run cannot continue: ${problem}`);
    const earlier = { used, activeMs };
    const governed = governRun(sidecar.governing, { runId: run.id, agentId, caller, tier, client, decided: deps.decided, earlier });
    const agent = { ...now, model };
    const node: RunNode = { run, agent, governed, sub: caller.sub, conversationId: run.id, sidecar, stop: new AbortController() };
    return { node, workbench: await openTools(node) };
  }

  async function openTools(node: RunNode): Promise<Workbench> {
    const { run, agent, governed, sidecar } = node;
    const toolbox = await deps.openToolbox(run.workspaceId, agent.enabledTools, () => sidecar.state?.servers ?? []);
    const judges = { governed, modelProblem: (model: string) => deps.models.problem(model) };
    const agents = agentTools(judges, sidecar.state?.agents ?? [], (task, signal) => runTask(node, task, signal));
    return createWorkbench(deps.workbench, toolbox, agents);
  }

  /** Opens the tools and records the beginning of the run. Returns null when the run above has ended. */
  async function begin(node: RunNode, parentRunId: string | null, request: unknown): Promise<RunBeginning | null> {
    const { run, agent, governed, sub } = node;
    const workbench = await openTools(node);
    try {
      const budget = microcentsFromCents(governed.caps.maxBudgetCents);
      const { id: agentId, name: agentName, model } = agent;
      if (await deps.records.begin({ ...run, agentId, agentName, sub, parentRunId, model, budget, request })) return { node, workbench };
    } catch (error) {
      await workbench.close();
      throw error;
    }
    await workbench.close();
    return null;
  }

  async function below(above: RunNode, { agentId, task, scopes }: Task): Promise<RunBeginning | string> {
    const agent = above.sidecar.state?.agents.find(({ id }) => id === agentId);
    if (agent === undefined || !above.governed.mayDelegateTo(agentId)) return 'Tasks can no longer be delegated to this agent.';
    const problem = deps.models.problem(agent.model);
    if (problem !== null) return `The agent cannot run: ${problem}`;
    const id = deps.newId();
    const governed = above.governed.delegate({ runId: id, agentId, ...(scopes === undefined ? {} : { scopes }) });
    const node: RunNode = { ...above, run: { ...above.run, id }, agent, governed, stop: new AbortController() };
    return (await begin(node, above.run.id, { input: governed.kept(task) })) ?? 'The task was not started: the run has ended.';
  }

  return { root, below, resumed };
}

/** Returns the request in the form in which it is stored. */
function requestOf(governed: GovernedAgentRun, { input, context, stream }: RunAsk): unknown {
  const kept = Object.entries(context).map(([key, value]) => [governed.kept(key), governed.kept(value)] as const);
  return {
    input: governed.kept(input),
    ...(kept.length === 0 ? {} : { context: Object.fromEntries(kept) }),
    ...(stream ? { stream } : {}),
  };
}
