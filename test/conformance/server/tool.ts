// A tool of the suite's server.
import type { CallToolResult, InputRequiredResult, ServerContext, Tool } from '@modelcontextprotocol/server';

export interface SuiteTool {
  readonly definition: Tool;
  readonly call: (args: Readonly<Record<string, unknown>>, context: ServerContext) => Promise<CallToolResult | InputRequiredResult>;
}

export const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

type Properties = Readonly<Record<string, { readonly type: string; readonly 'x-mcp-header'?: string }>>;

export function suiteTool(
  name: string,
  description: string,
  call: SuiteTool['call'],
  properties: Properties = {},
  required: readonly string[] = [],
): SuiteTool {
  return { definition: { name, description, inputSchema: { type: 'object', properties, required: [...required] } }, call };
}
