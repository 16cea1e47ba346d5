// Governs the tools of a framework. The result is the same set, but each call of a tool is decided and recorded. A tool
// is recognised by its form, and no framework is loaded. A tool that runs elsewhere (at a provider or in a browser) cannot
// be stopped here. It must be named in `ungoverned`, otherwise it is refused. Any other form is refused too, because a
// tool that is returned unchanged would run without a decision.
import { AppError } from '@tollgate/proto/contract';
import { copyWith, type Method } from './copy-with.ts';
import { governedExecute } from './execute-tool.ts';
import type { Guard } from './guarded.ts';
import { governedInvoke, isFunctionTool } from './invoke-tool.ts';
import { guardStructuredTool, isStructuredTool } from './langchain-tool.ts';

/** Tools by name, as of the AI SDK and Mastra, or a list of tools, as of the OpenAI Agents SDK and LangChain.js. */
export type ToolSet = Readonly<Record<string, object>> | readonly object[];

export interface GuardToolSetOptions {
  /**
   * The server that the tools come from. In the policy, the tool `search` of the server `docs` is `docs.search`.
   * Absent: the policy uses the tool's own name.
   */
  readonly server?: string;
  /** Names of tools that run elsewhere and stay unchanged. No policy decides about their actions. */
  readonly ungoverned?: readonly string[];
  /**
   * What a denied call does. `tell` (default): the denial is the result of the tool, as a text for the model. `throw`:
   * the tool throws `ToolDenied`. Tools with `execute` always throw it, and their framework tells the model.
   */
  readonly onDenied?: 'tell' | 'throw';
}

export function guardToolSet(guard: Guard, tools: ToolSet, { server, ungoverned = [], onDenied = 'tell' }: GuardToolSetOptions): ToolSet {
  const asked = { guard, tells: tells(onDenied), nameOf: (name: string) => (server === undefined ? name : `${server}.${name}`) };
  const read = isList(tools) ? tools.map((tool) => readListed(asked, tool)) : readRecord(tools).map((entry) => readNamed(asked, entry));
  const names = new Set(read.map(({ name }) => name));
  const unknown = ungoverned
    .filter((name) => !names.has(name))
    .map((name) => `ungoverned names ${quoted(name)}, which is no tool of the set`);
  const results = read.map((one) => resultOf(one, ungoverned.includes(one.name)));
  const problems = [...unknown, ...results.flatMap(({ problem }) => (problem === null ? [] : [problem]))];
  if (problems.length > 0) {
    const message = `guardTools: ${problems.join('; ')}`;
    throw read.some(({ kind }) => kind === 'unrecognised')
      ? new TypeError(message)
      : new AppError({ code: 'bad_request', publicMessage: message });
  }
  return isList(tools) ? results.map(({ tool }) => tool) : Object.fromEntries(results.map(({ name, tool }) => [name, tool]));
}

function tells(onDenied: unknown): boolean {
  if (onDenied !== 'tell' && onDenied !== 'throw') throw new TypeError('guardTools: onDenied must be "tell" or "throw"');
  return onDenied === 'tell';
}

const isList = (tools: ToolSet): tools is readonly object[] => Array.isArray(tools);
const quoted = (name: string): string => JSON.stringify(name);

interface Asked {
  readonly guard: Guard;
  readonly tells: boolean;
  /** Returns the name in the policy. */
  readonly nameOf: (name: string) => string;
}

type ReadTool =
  | { readonly kind: 'governed'; readonly name: string; readonly tool: object; readonly by: string }
  /** It runs elsewhere. `why` follows the words `cannot be governed here, because`. */
  | { readonly kind: 'elsewhere'; readonly name: string; readonly tool: object; readonly why: string }
  /** `why` follows the words `is not recognised:`. */
  | { readonly kind: 'unrecognised'; readonly name: string; readonly why: string };

function resultOf(read: ReadTool, isNamed: boolean): { readonly name: string; readonly tool: object; readonly problem: string | null } {
  const { name } = read;
  switch (read.kind) {
    case 'governed':
      return {
        name,
        tool: read.tool,
        problem: isNamed ? `ungoverned names ${quoted(name)}, which has ${read.by} that can be governed` : null,
      };
    case 'elsewhere': {
      const problem = `the tool ${quoted(name)} cannot be governed here, because ${read.why}; leave it out, or name it in ungoverned`;
      return { name, tool: read.tool, problem: isNamed ? null : problem };
    }
    case 'unrecognised':
      return { name, tool: {}, problem: `the tool ${quoted(name)} is not recognised: ${read.why}` };
  }
}

function readRecord(tools: object): readonly (readonly [string, unknown])[] {
  const prototype: unknown = typeof tools === 'object' && tools !== null ? Object.getPrototypeOf(tools) : undefined;
  if (prototype !== null && prototype !== Object.prototype)
    throw new TypeError('guardTools: takes a list of tools, an object with a tool for each name, or an MCP client');
  return Object.entries(tools);
}

/** Reads a tool of the AI SDK or of Mastra. */
function readNamed({ guard, nameOf }: Asked, [name, tool]: readonly [string, unknown]): ReadTool {
  if (typeof tool !== 'object' || tool === null) return { kind: 'unrecognised', name, why: 'it is no object' };
  const execute: unknown = 'execute' in tool ? tool.execute : undefined;
  if (typeof execute === 'function') {
    const governed = copyWith(tool, { execute: governedExecute(guard, nameOf(name), execute as Method) });
    return { kind: 'governed', name, tool: governed, by: 'an execute' };
  }
  if (isFunctionTool(tool) || isStructuredTool(tool))
    return { kind: 'unrecognised', name, why: 'it has invoke, and such tools are given as a list: guardTools([…])' };
  const isProviders = 'type' in tool && typeof tool.type === 'string' && tool.type.startsWith('provider');
  if (execute !== undefined || !(isProviders || 'inputSchema' in tool))
    return { kind: 'unrecognised', name, why: 'it has neither an execute nor an inputSchema, as tools of the AI SDK and Mastra have' };
  return { kind: 'elsewhere', name, tool, why: isProviders ? "the model's provider executes it" : 'it has no execute' };
}

/** Reads a tool of the OpenAI Agents SDK or of LangChain.js. */
function readListed({ guard, nameOf, tells }: Asked, tool: unknown): ReadTool {
  if (typeof tool !== 'object' || tool === null) return { kind: 'unrecognised', name: String(tool), why: 'it is no object' };
  const type = 'type' in tool && typeof tool.type === 'string' ? tool.type : null;
  const name = 'name' in tool && typeof tool.name === 'string' ? tool.name : (type ?? 'unnamed');
  if (isFunctionTool(tool))
    return {
      kind: 'governed',
      name,
      tool: copyWith(tool, { invoke: governedInvoke(guard, nameOf(name), tool.invoke, tells) }),
      by: 'an invoke',
    };
  if (isStructuredTool(tool))
    return { kind: 'governed', name, tool: guardStructuredTool(guard, nameOf(name), tool, tells), by: 'an invoke' };
  if ('execute' in tool)
    return { kind: 'unrecognised', name, why: 'it has execute, and such tools are given by name: guardTools({ name: tool })' };
  if (type === 'hosted_tool' || (type !== null && isData(tool)))
    return { kind: 'elsewhere', name, tool, why: "the model's provider executes it" };
  return {
    kind: 'unrecognised',
    name,
    why: 'it is neither a function tool of the OpenAI Agents SDK nor a structured tool of LangChain.js',
  };
}

/** Whether it has nothing that this process could run. */
function isData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function';
  const prototype: unknown = Object.getPrototypeOf(value);
  return (Array.isArray(value) || prototype === Object.prototype || prototype === null) && Object.values(value).every(isData);
}
