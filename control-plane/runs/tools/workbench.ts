// Combines the tools that the agent of one run can call, by the names that its model knows: tools of the workspace's
// servers, and other agents.
import { nameProblem } from '@tollgate/proto/contract';
import type { ToolCall } from '@tollgate/sidecar/engine';
import { isObject } from '@tollgate/proto/shape';
import { untilAborted } from '../../base/until-aborted.ts';
import type { GovernedAgentRun } from '../governance/governed.ts';
import { agentsPrefix } from '../governance/run-view.ts';
import type { OfferedTool, RequestedCall } from '../model.ts';
import type { Aliases } from './aliases.ts';
import { parseArguments, shownAgainAs } from './call-arguments.ts';
import type { RunTool, Toolbox, ToolContext, ToolResult } from './tool.ts';

export interface WorkbenchDeps {
  readonly aliases: (names: readonly string[]) => Aliases;
  /** Returns how a call's arguments violate the tool's schema, in words for the model; null: no problem. */
  readonly argumentsProblem: (schema: RunTool['inputSchema'], input: unknown) => string | null;
}

export interface Workbench {
  /** Returns the tools that policy allows this caller to call now. */
  offered(governed: Pick<GovernedAgentRun, 'offers'>): readonly OfferedTool[];
  /** Converts a requested call to the form on which policy decides. */
  read(call: RequestedCall, reading: ReadingRules): ReadCall;
  /** Rejects only with the signal's reason. */
  call(name: string, input: unknown, context: ToolContext): Promise<ToolResult>;
  close(): Promise<void>;
}

interface ReadingRules {
  readonly governed: Pick<GovernedAgentRun, 'isHarmless'>;
  /** The tools that were offered to the model when it wrote the reply that contains this call. */
  readonly offered: readonly OfferedTool[];
  /** Whether the reply was cut off and this is the last call in it. */
  readonly cutOff: boolean;
}

export interface ReadCall {
  readonly call: ToolCall;
  /**
   * A text that is added to the words of a denial, for the model only. It says how to correct the call. Null: no hint.
   */
  readonly hint: Hint | null;
}

export interface Hint {
  /** A round gets at most one hint of each kind, because a hint may be long. */
  readonly kind: 'tools' | 'arguments';
  readonly text: string;
}

/** The tools that are other agents. They have the same form as a toolbox. */
export interface AgentTools extends Pick<Toolbox, 'tools' | 'call'> {
  /**
   * Returns in words why the agent with this tool name cannot be given a task: because of the chain, or because of the
   * agent's model. Returns null in three cases: there is no such agent, the agent is offered as a tool, or the reason
   * is another one.
   */
  refusal(name: string): string | null;
}

export function createWorkbench(deps: WorkbenchDeps, toolbox: Toolbox, agents: AgentTools): Workbench {
  // The agents' prefix is reserved. A server that was registered with this prefix before it was reserved contributes no
  // tools.
  const tools = [...toolbox.tools.filter(({ name }) => !name.startsWith(agentsPrefix)), ...agents.tools];
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const aliases = deps.aliases([...byName.keys()]);
  const goneOf = (name: string): string | null => (name.startsWith(agentsPrefix) ? null : toolbox.gone(name));
  return {
    offered: (governed) =>
      tools
        .filter(({ name }) => goneOf(name) === null && governed.offers(name))
        .map(({ name, description, inputSchema }) => ({ alias: aliases.aliasOf(name), description, inputSchema })),
    read: ({ alias, arguments: text }, { governed, offered, cutOff }) => {
      const name = aliases.nameOf(alias);
      const tool = name === null ? undefined : byName.get(name);
      const parsed = parseArguments(text);
      const input = 'value' in parsed ? parsed.value : text;
      if (tool === undefined) {
        const call = unknownCall(alias, input, { governed, agents });
        return { call, hint: { kind: 'tools', text: namesHint(alias, offered) } };
      }
      const gone = goneOf(tool.name);
      if (gone !== null) return { call: malformed(tool.name, input, gone), hint: null };
      if ('problem' in parsed) {
        const isJson = 'value' in parsed;
        const words = cutOff && !isJson ? 'the reply was cut off before the arguments ended' : parsed.problem;
        return { call: malformed(tool.name, input, words), hint: isJson ? null : argumentsHint };
      }
      const problem = deps.argumentsProblem(tool.inputSchema, input);
      if (problem === null) return { call: { tool: tool.name, input, isOwnInput: true }, hint: null };
      const call = malformed(tool.name, input, `the arguments do not fit the tool's schema: ${problem}`);
      return { call, hint: isObject(input) ? null : argumentsHint };
    },
    call: (name, input, context) =>
      name.startsWith(agentsPrefix) ? agents.call(name, input, context) : untilAborted(toolbox.call(name, input, context), context.signal),
    close: () => toolbox.close(),
  };
}

const malformed = (tool: string, input: unknown, words: string): ToolCall => ({ tool, input, flaw: { code: 'call_malformed', words } });

const argumentsHint: Hint = { kind: 'arguments', text: shownAgainAs };
const namesMax = 50;

/** Returns a hint with the names of the tools. The tools of the server that the model probably means come first. */
function namesHint(alias: string, offered: readonly OfferedTool[]): string {
  if (offered.length === 0) return 'There are no tools to call.';
  const server = /^[A-Za-z0-9-]+/.exec(alias)?.[0] ?? '';
  const names = offered.map((tool) => tool.alias);
  const meant = names.filter((name) => name.startsWith(server));
  const first = [...meant, ...names.filter((name) => !name.startsWith(server))].slice(0, namesMax);
  const more = names.length > namesMax ? `, and ${names.length - namesMax} more` : '';
  return `The tools are ${first.join(', ')}${more}.`;
}

interface Judges {
  readonly governed: Pick<GovernedAgentRun, 'isHarmless'>;
  readonly agents: AgentTools;
}

function unknownCall(alias: string, input: unknown, { governed, agents }: Judges): ToolCall {
  const tool = unknownName(alias, governed);
  const refusal = agents.refusal(tool);
  if (refusal !== null) return { tool, input, flaw: { code: 'delegation_denied', words: refusal } };
  return malformed(tool, input, 'there is no tool of this name');
}

/**
 * Returns the name that the model invented. This name may contain anything that the model was told. If it must
 * therefore not be stored in an entry, returns `unknown`.
 */
function unknownName(alias: string, governed: Pick<GovernedAgentRun, 'isHarmless'>): string {
  const name = alias.replace('__', '.');
  return nameProblem(name) === null && governed.isHarmless(alias) && governed.isHarmless(name) ? name : 'unknown';
}
