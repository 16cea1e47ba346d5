// The server that the conformance suite expects: tools, prompts and resources with the names that it uses.
import {
  fromJsonSchema,
  type JsonSchemaType,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from '@modelcontextprotocol/server';
import { askingTools } from './asking-tools.ts';
import { needingTools, stateCodec } from './needing-tools.ts';
import { prompts } from './prompts.ts';
import { readResource, resources, resourceTemplate } from './resources.ts';
import type { SuiteTool } from './tool.ts';
import { tools } from './tools.ts';

export interface Changes {
  readonly toolsChanged: () => void;
  readonly promptsChanged: () => void;
}

/** Builds one for a session of the older revision, or for a request of the newer. */
export function buildServer(changes: Changes): McpServer {
  const mcp = new McpServer(
    { name: 'tollgate-conformance-server', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: (state, context) => stateCodec.verify(state, context) },
    },
  );
  // Registered one by one, so that the server validates the headers of a call by its tool's schema.
  for (const { definition, call } of [...tools, ...askingTools, ...needingTools, ...triggers(changes)]) {
    const { name, description = '', inputSchema } = definition;
    mcp.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema as JsonSchemaType) }, (args, context) =>
      call(Object(args), context),
    );
  }
  servePrompts(mcp.server);
  serveResources(mcp.server);
  mcp.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return mcp;
}

function triggers({ toolsChanged, promptsChanged }: Changes): readonly SuiteTool[] {
  const trigger = (name: string, change: () => void): SuiteTool => ({
    definition: { name, description: 'Tells who listens of a change', inputSchema: { type: 'object' } },
    call: () => {
      change();
      return Promise.resolve({ content: [] });
    },
  });
  return [trigger('test_trigger_tool_change', toolsChanged), trigger('test_trigger_prompt_change', promptsChanged)];
}

function servePrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: prompts.map(({ definition }) => definition) }));
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = prompts.find(({ definition }) => definition.name === params.name);
    if (prompt === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
    return prompt.get(params.arguments ?? {}, context);
  });
}

function serveResources(server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: resources.map(({ definition }) => definition) }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [resourceTemplate] }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri));
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
}
