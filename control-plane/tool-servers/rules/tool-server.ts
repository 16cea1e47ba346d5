// Tool servers: MCP servers that provide tools to a workspace's agents. Defines what is stored of a server, and what it
// can report about its tools. The values of its headers, or of its program's environment, are secrets. They are only in
// `secrets` of a definition.
import {
  type CompiledTarget,
  childPath,
  nameProblem,
  NotJson,
  toolDefinitionDigest,
  type ToolHints,
  toolHintsOf,
} from '@tollgate/proto/contract';
import { cleanJson } from '../../base/clean-json.ts';
import { isObject, type JsonSchema, problem, type Problem } from '@tollgate/proto/shape';

/**
 * The name of the server for delegation: each agent to which a run can delegate tasks is called as a tool of this
 * server. No other server can have this name.
 */
export const agentsServer = 'agents';

export const toolServerBounds = {
  serversInWorkspace: 100,
  tools: 1_000,
  /** The maximum size of one tool's description and schemas, as JSON. */
  toolBytes: 64 * 1024,
  /** The maximum size of all tools of a server together. */
  toolsBytes: 1_048_576,
  secrets: 32,
  secretLength: 8_192,
  urlLength: 2_000,
  args: 100,
  argLength: 4_096,
  requiredScopes: 200,
} as const;

/**
 * The address or program of a server, with the names of the headers or environment variables that it additionally
 * receives.
 */
export type Target = CompiledTarget;

export type Secrets = Readonly<Record<string, string>>;

/** By tool name without the server's name. A tool that is not listed requires no scope. */
export type ToolScopes = readonly (readonly [tool: string, requiredScopes: readonly string[]])[];

export interface ToolServerDefinition {
  readonly name: string;
  readonly target: Target;
  /** The values of the headers or environment variables that `target` names. */
  readonly secrets: Secrets;
  readonly scopes: ToolScopes;
}

/** A tool as its server describes it. */
export interface DiscoveredTool {
  /** Without the server's name. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of type object. */
  readonly inputSchema: JsonSchema;
  /**
   * `toolDefinitionDigest` of everything that the server reports about the tool; null if it was discovered before
   * digests were stored.
   */
  readonly digest: string | null;
  /** What the definition says of the tool's behaviour. Absent: it gives no hints, or an older release discovered it. */
  readonly hints?: ToolHints;
  /** The schema that the tool promises for `structuredContent`. Absent: the tool promises none. */
  readonly outputSchema?: JsonSchema;
}

export interface RegisteredToolServer {
  readonly name: string;
  readonly target: Target;
  readonly scopes: ToolScopes;
  /** Digests of the admitted definitions, by tool name without the server's name, sorted. */
  readonly admitted: readonly (readonly [tool: string, digest: string])[];
  /** The hints of admitted definitions, where they are known, in the order of `admitted`. */
  readonly hints: readonly (readonly [tool: string, digest: string, hints: ToolHints])[];
  /** The revision of the workspace at the last write of this server. */
  readonly revision: number;
  readonly discoveredAt: Date;
  readonly createdAt: Date;
}

export interface ToolServer extends RegisteredToolServer {
  readonly tools: readonly DiscoveredTool[];
}

/** A server in a list of servers. It contains no schemas of tools. A request for a single server returns them. */
export interface ListedToolServer extends RegisteredToolServer {
  readonly tools: readonly Pick<DiscoveredTool, 'name' | 'description' | 'digest'>[];
}

/**
 * Returns one problem for each tool that has scopes in the definition although the server does not have such a tool.
 */
export const undiscovered = ({ scopes }: Pick<ToolServerDefinition, 'scopes'>, tools: readonly DiscoveredTool[]): readonly Problem[] =>
  scopes
    .filter(([tool]) => !tools.some(({ name }) => name === tool))
    .flatMap(([tool]) => problem(childPath('tools', tool), 'must be a tool of the server'));

/** Returns the tools that a server listed, or the problem with the list. */
export function checkTools(
  server: string,
  listed: readonly unknown[],
): { readonly tools: readonly DiscoveredTool[] } | { readonly problem: string } {
  const { tools: toolsMax, toolBytes, toolsBytes } = toolServerBounds;
  if (listed.length > toolsMax) return { problem: `has more than ${toolsMax} tools` };
  const tools: DiscoveredTool[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const [at, one] of listed.entries()) {
    const tool = toolFrom(one);
    if (tool === null)
      return { problem: `describes tool ${at + 1} of its list incorrectly: it needs a name, and an inputSchema of type object` };
    if ('problem' in tool) return { problem: `describes tool ${at + 1} of its list in a way that ${tool.problem}` };
    const wrong = nameProblem(`${server}.${tool.name}`) ?? nameProblem(tool.name);
    if (wrong !== null) return { problem: `gives tool ${at + 1} of its list a name that ${wrong}` };
    if (seen.has(tool.name)) return { problem: `lists the tool ${JSON.stringify(tool.name)} twice` };
    const size = Buffer.byteLength(JSON.stringify(tool));
    if (size > toolBytes) return { problem: `describes ${JSON.stringify(tool.name)} in ${size} bytes; at most ${toolBytes} are taken` };
    bytes += size;
    if (bytes > toolsBytes) return { problem: `describes its tools in more than ${toolsBytes} bytes` };
    seen.add(tool.name);
    tools.push(tool);
  }
  return { tools };
}

function toolFrom(value: unknown): DiscoveredTool | { readonly problem: string } | null {
  if (!isObject(value)) return null;
  const clean = cleanJson(value, new Set());
  if (!isObject(clean)) return null;
  const { name, description = '', inputSchema, outputSchema } = clean;
  const hints = toolHintsOf(clean);
  if (typeof name !== 'string' || typeof description !== 'string' || !isObject(inputSchema) || inputSchema['type'] !== 'object')
    return null;
  const promised = isObject(outputSchema) ? { outputSchema } : {};
  try {
    // The digest is computed from what the server sent, not from the form that can be stored, because sidecars see what
    // the server sent.
    const digest = toolDefinitionDigest(value);
    return { name, description, inputSchema, ...promised, ...(hints === null ? {} : { hints }), digest };
  } catch (error) {
    if (error instanceof NotJson) return { problem: error.message };
    throw error;
  }
}
