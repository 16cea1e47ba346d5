// Tool servers: MCP servers that a workspace's agents get tools from. What is known of one, and what it may say of its
// tools. The values of its headers, or of its program's environment, are secrets: they are in `secrets` of a definition
// and nowhere else.
import { type CompiledTarget, childPath, nameProblem, NotJson, toolDefinitionDigest } from '@tollgate/proto/contract';
import { cleanJson } from '../clean-json.ts';
import { isObject, type JsonSchema, type Problem, problem } from '../shape.ts';

/** The agents that a run may hand tasks to are called as the tools of a server of this name: no other one may have it. */
export const agentsServer = 'agents';

export const toolServerBounds = {
  serversInWorkspace: 100,
  tools: 1_000,
  /** Of one tool's description and schemas, as JSON. */
  toolBytes: 64 * 1024,
  /** Of all tools of a server. */
  toolsBytes: 1_048_576,
  secrets: 32,
  secretLength: 8_192,
  urlLength: 2_000,
  args: 100,
  argLength: 4_096,
  requiredScopes: 200,
} as const;

/** Where a server is, with the names of what it is sent besides. */
export type Target = CompiledTarget;

export type Secrets = Readonly<Record<string, string>>;

/** By tool name without the server's; tools that are not here require no scope. */
export type ToolScopes = readonly (readonly [tool: string, requiredScopes: readonly string[]])[];

export interface ToolServerDefinition {
  readonly name: string;
  readonly target: Target;
  /** Values of `headers` or `env`. */
  readonly secrets: Secrets;
  readonly scopes: ToolScopes;
}

/** As its server describes it. */
export interface DiscoveredTool {
  /** Without the server's. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of type object. */
  readonly inputSchema: JsonSchema;
  /** `toolDefinitionDigest` of all that the server says of it; null where it was discovered before digests were kept. */
  readonly digest: string | null;
  /** What it promises of `structuredContent`; absent: nothing. */
  readonly outputSchema?: JsonSchema;
}

export interface RegisteredToolServer {
  readonly name: string;
  readonly target: Target;
  readonly scopes: ToolScopes;
  /** Digests of the definitions that were admitted, by tool name without the server's, sorted. */
  readonly admitted: readonly (readonly [tool: string, digest: string])[];
  /** That of the last write of it. */
  readonly revision: number;
  readonly discoveredAt: Date;
  readonly createdAt: Date;
}

export interface ToolServer extends RegisteredToolServer {
  readonly tools: readonly DiscoveredTool[];
}

/** As it is listed with others: a tool's schema is for who asks for this server. */
export interface ListedToolServer extends RegisteredToolServer {
  readonly tools: readonly Pick<DiscoveredTool, 'name' | 'description' | 'digest'>[];
}

/** Scopes that a definition asks for tools that its server does not have. */
export const undiscovered = ({ scopes }: Pick<ToolServerDefinition, 'scopes'>, tools: readonly DiscoveredTool[]): readonly Problem[] =>
  scopes
    .filter(([tool]) => !tools.some(({ name }) => name === tool))
    .flatMap(([tool]) => problem(childPath('tools', tool), 'is not a tool that the server has'));

/** Tools as a server listed them, or what is wrong with them. */
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
      return { problem: `describes tool ${at + 1} of its list as none: it needs a name, and an inputSchema of type object` };
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
  if (typeof name !== 'string' || typeof description !== 'string' || !isObject(inputSchema) || inputSchema['type'] !== 'object')
    return null;
  const promised = isObject(outputSchema) ? { outputSchema } : {};
  try {
    // Of what the server said, and not of what can be stored of it: sidecars see the former.
    return { name, description, inputSchema, ...promised, digest: toolDefinitionDigest(value) };
  } catch (error) {
    if (error instanceof NotJson) return { problem: error.message };
    throw error;
  }
}
