// The requests and answers of the gateway benches, the same for every measured program.
import { toolName } from '../world.ts';

export const benchKey = `gsk_bench_${'b'.repeat(40)}`;

/** Has the size of a coding agent's request. */
export const hookQuestion = JSON.stringify({
  tool_name: toolName(7),
  tool_input: { path: '/srv/data/report.json', limit: 100, flags: ['r', 'nofollow'], note: 'monthly report' },
  session_id: 'b1c9e7b2-5a0e-4a7e-9a1f-0d6b8a0c1e11',
  call_id: 'call-1',
  cwd: '/srv',
  hook_event_name: 'PreToolUse',
  agent_tier: 'api',
  agent_name: 'worker',
  client: { name: 'bench', version: '1.0' },
});

/** Has the form of a sidecar's answer. */
export const hookAnswer = {
  decision: 'allow',
  reason: `allowed: the workspace allows api calls of "${toolName(7)}" (tools["${toolName(7)}"].api)`,
  request_id: 'd6f5a1f0-6a0f-4a8e-8c55-6a4c0d7b1f2e',
};

/** The HTTP tool behind the proxy, and the MCP server with one of its tools. */
export const httpTool = 'orders';
export const [mcpServer = '', mcpTool = ''] = toolName(7).split('.');

const revision = '2026-07-28';

export const mcpHeaders = {
  'mcp-protocol-version': revision,
  'mcp-method': 'tools/call',
  'mcp-name': mcpTool,
  accept: 'application/json, text/event-stream',
};

export const mcpQuestion = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: mcpTool,
    arguments: { path: '/srv/data/report.json', limit: 100, note: 'monthly report' },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});

export const mcpAnswer = { jsonrpc: '2.0', id: 1, result: { resultType: 'complete', content: [{ type: 'text', text: 'ok' }] } };

export const mcpTools = {
  jsonrpc: '2.0',
  id: 1,
  result: { resultType: 'complete', tools: [{ name: mcpTool, inputSchema: { type: 'object' } }], ttlMs: 60_000, cacheScope: 'public' },
};

/** 100 MB in pieces. */
export function* largeAnswer(): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < 100 * 1024 * 1024; sent += piece.length) yield piece;
}
