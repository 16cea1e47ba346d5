// The request to each program: the same tool call, in the format of each.
import { type Request, sessionMark } from './wrk.ts';

const tool = 'server7.tool_7';
const input = { path: '/srv/data/report.json', limit: 100, flags: ['r', 'nofollow'], note: 'monthly report' };

/** A call as a hook client asks; `worker` has caps, `free` has none. */
export const hookBody = (session: string, agent: 'worker' | 'free' = 'worker', of = tool): string =>
  JSON.stringify({
    tool_name: of,
    tool_input: input,
    session_id: session,
    call_id: 'call-1',
    cwd: '/srv',
    hook_event_name: 'PreToolUse',
    agent_tier: 'api',
    agent_name: agent,
    client: { name: 'bench', version: '1.0' },
  });

/** A new session every 40 calls. */
const callsPerSession = 40;

export const hookRequest = ({ url, key }: { readonly url: string; readonly key: string }, agent: 'worker' | 'free'): Request => ({
  url: `${url}/govern/tool-use`,
  headers: { authorization: `Bearer ${key}` },
  body: hookBody(sessionMark, agent),
  callsPerSession,
});

/** OPA is asked with the same bytes about the same tool. */
export const opaRequest = (url: string): Request => ({
  url: `${url}/v1/data/tollgate/allow`,
  headers: {},
  body: `{"input":${hookBody(sessionMark)}}`,
  callsPerSession,
});

/** Cerbos has its own form: a principal, a resource and an action. */
export const cerbosRequest = (url: string): Request => ({
  url: `${url}/api/check/resources`,
  headers: {},
  body: JSON.stringify({
    requestId: sessionMark,
    principal: { id: 'owner', roles: ['worker'], attr: { session: sessionMark } },
    resources: [{ resource: { kind: 'tool', id: tool, attr: input }, actions: ['api'] }],
  }).replace(`"session":"${sessionMark}"`, '"session":"run-1"'),
  callsPerSession,
});

export const httpBody = JSON.stringify(input);

export const mcpRevisions = ['2025-11-25', '2026-07-28'] as const;
export type McpRevision = (typeof mcpRevisions)[number];

const clientInfo = { name: 'bench', version: '1.0' };

/** The handshake of the older revision; the newer has none. */
export const initializeBody = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
});

export const mcpHeaders = (revision: McpRevision): Readonly<Record<string, string>> => ({
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': revision,
  ...(revision === '2026-07-28' ? { 'mcp-method': 'tools/call', 'mcp-name': 'tool_7' } : {}),
});

export const mcpBody = (revision: McpRevision): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'tool_7',
      arguments: input,
      ...(revision === '2026-07-28'
        ? {
            _meta: {
              'io.modelcontextprotocol/protocolVersion': revision,
              'io.modelcontextprotocol/clientInfo': clientInfo,
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          }
        : {}),
    },
  });
