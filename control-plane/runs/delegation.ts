// Offers other agents as tools: one `agents.<name>` for each agent of the workspace that this run may delegate to. The
// call is decided like any other call. Then the other agent runs below this run. It gets no tools or scopes that the
// chain does not have, and no more money than the chain has.
import { nameProblem } from '@tollgate/proto/contract';
import type { Agent } from '../agents/rules/agent.ts';
import { isObject } from '@tollgate/proto/shape';
import type { GovernedAgentRun } from './governance/governed.ts';
import { agentsPrefix } from './governance/run-view.ts';
import type { RunTool, ToolResult } from './tools/tool.ts';
import type { AgentTools } from './tools/workbench.ts';

/** The task for another agent. */
export interface Task {
  readonly agentId: string;
  readonly task: string;
  /** The agent may use only these scopes; absent: all scopes of its chain. */
  readonly scopes?: readonly string[];
}

const taskSchema: RunTool['inputSchema'] = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      pattern: '\\S',
      description: 'What the agent is to do, with everything it needs to know: it sees nothing else.',
    },
    scopes: { type: 'array', items: { type: 'string' }, description: 'The only scopes it may use for this; absent: all it has.' },
  },
  required: ['task'],
  additionalProperties: false,
};

interface Judges {
  readonly governed: Pick<GovernedAgentRun, 'mayDelegateTo' | 'chainProblem'>;
  /** The reason, in words, why an agent with that model cannot run here. Null: the agent can run. */
  readonly modelProblem: (model: string) => string | null;
}

const modelWords = (problem: string | null): string | null => (problem === null ? null : `the agent cannot run: ${problem}`);

/** `runTask` rejects only with the reason of its signal. */
export function agentTools(
  { governed, modelProblem }: Judges,
  agents: readonly Agent[],
  runTask: (task: Task, signal: AbortSignal) => Promise<ToolResult>,
): AgentTools {
  const names = toolNamesOf(agents.filter(({ id, model }) => governed.mayDelegateTo(id) && modelProblem(model) === null));
  const idOf = new Map([...names].map(([agent, name]) => [name, agent.id]));
  return {
    tools: [...names].map(([agent, name]) => ({ name, description: descriptionOf(agent), inputSchema: taskSchema })),
    refusal: (name) => {
      const named = agents.find((agent) => [agent.name, agent.id].some((one) => `${agentsPrefix}${one}` === name));
      return named === undefined || idOf.has(name) ? null : (governed.chainProblem(named.id) ?? modelWords(modelProblem(named.model)));
    },
    call: async (name, input, { signal }) => {
      const agentId = idOf.get(name);
      const task = agentId === undefined ? null : taskOf(agentId, input);
      return task === null ? { output: 'There is no such agent, or no task for it.', isError: true } : runTask(task, signal);
    },
  };
}

/**
 * Returns the tool name for each agent. The tool name contains the agent's name if two conditions are met: this name is
 * valid in a tool name, and no other agent has it as name or id. Otherwise the tool name contains the agent's id.
 */
function toolNamesOf(agents: readonly Agent[]): ReadonlyMap<Agent, string> {
  const taken = new Map<string, number>();
  for (const said of agents.flatMap(({ id, name }) => (id === name ? [id] : [id, name]))) taken.set(said, (taken.get(said) ?? 0) + 1);
  return new Map(
    agents.map((agent) => {
      const byName = `${agentsPrefix}${agent.name}`;
      return [agent, taken.get(agent.name) === 1 && nameProblem(byName) === null ? byName : `${agentsPrefix}${agent.id}`];
    }),
  );
}

function descriptionOf({ name, description }: Agent): string {
  const intro = `Delegates a task to the agent ${JSON.stringify(name)} and returns its result.`;
  return description === '' ? intro : `${intro} Its description: ${description}`;
}

function taskOf(agentId: string, input: unknown): Task | null {
  if (!isObject(input) || typeof input['task'] !== 'string' || input['task'].trim() === '') return null;
  const { task, scopes } = input;
  if (scopes === undefined) return { agentId, task };
  return Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string') ? { agentId, task, scopes } : null;
}
