// Each endpoint, asked about one call as its clients ask. Where an endpoint lets a caller claim agent, tier and client,
// the claim names another agent: a key's pins replace it. The outcome of a call is reported only where it must be.
import type { ServiceError } from '@grpc/grpc-js';
import type { HostName } from '@tollgate/proto/contract';
import type { CheckResponse, McpRequestResult } from '@tollgate/proto/mesh';
import { request } from 'undici';
import { spellingsOf } from '../../sidecar/doors/coding-agents/spelled.ts';
import { hostNamed } from '../../../proto/hosts/index.ts';
import { answerOf, httpCheck, mcpRequest, text } from '../../sidecar/doors/mesh/asked-by-a-gateway.ts';
import { metaOf, modernHeaders } from '../../sidecar/doors/mcp/proxied.ts';
import { field } from '../rest.ts';
import { type Method, methods, server } from './policies.ts';
import type { Armed, Stand } from './stand.ts';

interface Call {
  readonly caller: Armed;
  readonly method: Method;
  /** Part of every input, so that its entries are found. */
  readonly number: number;
}

export interface Answered {
  readonly decision: 'allow' | 'deny';
  /** `sessionId` of its entry. */
  readonly session: string;
}

export type Door = (call: Call) => Promise<Answered>;

export const doorsOf = (stand: Stand): ReadonlyMap<string, Door> =>
  new Map([
    ['library', library],
    ['hook of the sidecar', hook(stand.origin, 'hook')],
    ['hook of the control plane', hook(stand.rest.origin, 'plane')],
    ['run of the control plane', run(stand)],
    ...hostDoors(stand),
    ['MCP 2025-11-25', mcp(stand, false)],
    ['MCP 2026-07-28', mcp(stand, true)],
    ['HTTP', http(stand)],
    ...envoyDoors(stand),
    ['agentgateway', agentgateway(stand)],
  ]);

const toolOf = (method: Method): string => `${server}.${method}`;
const inputOf = ({ number }: Call) => ({ case: number });
/** For a tool whose input is a request: the input is its method, path and query. */
const pathOf = ({ number }: Call): string => `/box?case=${number}`;

const library: Door = async (call) => {
  const { allowed } = await call.caller.run.decide({ tool: toolOf(call.method), input: inputOf(call) });
  return { decision: allowed ? 'allow' : 'deny', session: 'library' };
};

interface Posted {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly method?: Method;
}

async function send(url: string, { key }: Armed, { headers = {}, body, method = 'POST' }: Posted) {
  const sent = await request(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: sent.statusCode, text: await sent.body.text() };
}

const hook =
  (origin: string, session: string): Door =>
  async (call) => {
    const { status, text: answer } = await send(`${origin}/govern/tool-use`, call.caller, {
      body: {
        tool_name: toolOf(call.method),
        tool_input: inputOf(call),
        session_id: session,
        hook_event_name: 'PreToolUse',
        agent_name: 'other',
        agent_tier: 'subagent',
        client: { name: 'other', version: '1' },
        accepts: ['modified_input'],
      },
    });
    const { decision } = JSON.parse(answer) as Partial<Answered>;
    if (status !== 200 || decision === undefined) throw new Error(`a hook was answered ${status} ${answer}`);
    return { decision, session };
  };

/** The input is sent to `demo/echo`, which makes the call. */
const run =
  ({ rest, agentId }: Stand): Door =>
  async (call) => {
    const input = `call ${toolOf(call.method)} ${JSON.stringify(inputOf(call))}`;
    const answer = await rest.run(agentId, { input }, call.caller.key);
    if (answer.status !== 200) throw new Error(`a run was answered ${answer.status} ${JSON.stringify(answer.body)}`);
    const output = field(answer, 'output');
    if (!/ (?:gave|failed): /.test(output)) throw new Error(`a run did not call: ${output}`);
    return { decision: output.includes(' gave: ') ? 'allow' : 'deny', session: field(answer, 'id') };
  };

/**
 * The names by which hosts ask about a server's tool, except a Cursor that names no server: its name may also mean
 * another server's tool.
 */
const waysOf = (method: Method) => spellingsOf(server, method).filter(({ way }) => !way.startsWith('without it'));

function hostDoors({ origin }: Stand): readonly (readonly [string, Door])[] {
  return waysOf(methods[0]).map(({ host, way }, at) => {
    const session = `${host} ${at}`;
    const door: Door = async (call) => {
      const asked = waysOf(call.method)[at]?.input;
      const input = inputOf(call);
      const body = { ...asked, ...hostFields(host, session, input) };
      const { status, text: answer } = await send(`${origin}/hooks/${host}`, call.caller, { body });
      if (status !== 200) throw new Error(`${host} was answered ${status} ${answer}`);
      return { decision: hostNamed(host)?.before.denies(answer) === true ? 'deny' : 'allow', session };
    };
    return [`${host} ${way}`, door];
  });
}

function hostFields(host: HostName, session: string, input: object): object {
  if (host === 'copilot-cli') return { sessionId: session, toolArgs: input };
  if (host === 'opencode') return { sessionID: session, args: input };
  if (host === 'cline') return { conversationId: session, input };
  return { session_id: session, tool_input: input, ...(host === 'cursor' ? { conversation_id: session } : {}) };
}

const said = (session: string) => ({
  'x-tollgate-agent': 'other',
  'x-tollgate-tier': 'subagent',
  'x-tollgate-session': session,
});

const mcp =
  ({ origin }: Stand, isModern: boolean): Door =>
  async (call) => {
    const session = isModern ? 'mcp modern' : 'mcp';
    const params = { name: call.method, arguments: inputOf(call), ...(isModern ? { _meta: metaOf() } : {}) };
    const { status, text: answer } = await send(`${origin}/mcp/${server}`, call.caller, {
      headers: { ...said(session), ...(isModern ? modernHeaders('tools/call', call.method) : { 'mcp-protocol-version': '2025-11-25' }) },
      body: { jsonrpc: '2.0', id: call.number, method: 'tools/call', params },
    });
    const { result, error } = JSON.parse(answer) as { readonly result?: { readonly isError?: true }; readonly error?: unknown };
    if (status >= 500 || (result === undefined && error === undefined)) throw new Error(`MCP was answered ${status} ${answer}`);
    return { decision: result !== undefined && result.isError !== true ? 'allow' : 'deny', session };
  };

const http =
  ({ origin }: Stand): Door =>
  async (call) => {
    const url = `${origin}/tools/${server}${pathOf(call)}`;
    const { status, text: answer } = await send(url, call.caller, { method: call.method, headers: said('http') });
    if (![200, 403, 429].includes(status)) throw new Error(`the HTTP tool was answered ${status} ${answer}`);
    return { decision: status === 200 ? 'allow' : 'deny', session: 'http' };
  };

/**
 * The caller declares that answers are redacted elsewhere: otherwise a redacting rule denies, since Envoy shows no
 * answers.
 */
const outputs = { tollgate_outputs: 'elsewhere' };

function envoyDoors({ envoy }: Stand): readonly (readonly [string, Door])[] {
  const check = (session: string, asked: (call: Call) => Parameters<typeof httpCheck>[0]): Door => {
    return async (call) => {
      const { headers, ...more } = asked(call) ?? {};
      const own = { authorization: `Bearer ${call.caller.key}`, ...said(session) };
      const answer = await unary<CheckResponse>((done) => envoy.Check(httpCheck({ ...more, headers: { ...headers, ...own } }), done));
      const { status, body } = answerOf(answer);
      if (![200, 403, 429].includes(status)) throw new Error(`Envoy was answered ${status} ${body}`);
      return { decision: status === 200 ? 'allow' : 'deny', session };
    };
  };
  const json = { 'content-type': 'application/json' };
  return [
    [
      'Envoy, by path',
      check('envoy path', (call) => ({
        method: call.method,
        path: `/tools/${server}${pathOf(call)}`,
        headers: { 'content-length': '0' },
        route: outputs,
      })),
    ],
    [
      'Envoy, by route',
      check('envoy route', (call) => ({
        method: call.method,
        path: pathOf(call),
        headers: { 'content-length': '0' },
        route: { ...outputs, tollgate_tool: server, tollgate_name_by_method: 'true' },
      })),
    ],
    [
      'Envoy, of MCP',
      check('envoy mcp', (call) => ({
        path: '/mcp',
        headers: json,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: call.method, arguments: inputOf(call) } }),
        route: { ...outputs, tollgate_mcp_server: server },
      })),
    ],
  ];
}

const agentgateway =
  (stand: Stand): Door =>
  async (call) => {
    const session = 'agentgateway';
    const metadata = { tollgate_authorization: `Bearer ${call.caller.key}`, tollgate_phase: 'full' };
    const asked = mcpRequest(
      'tools/call',
      { name: call.method, arguments: inputOf(call) },
      {
        serviceNames: [server],
        headers: [],
        metadataContext: text({ ...metadata, tollgate_agent: 'other', tollgate_tier: 'subagent', tollgate_session: session }),
      },
    );
    const { result, error } = await unary<McpRequestResult & { readonly result?: string }>((done) =>
      stand.agentgateway.CheckRequest(asked, done),
    );
    if (result === 'error' && !['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED'].includes(String(error?.code)))
      throw new Error(`agentgateway was answered ${JSON.stringify(error)}`);
    return { decision: result === 'error' ? 'deny' : 'allow', session };
  };

const unary = <T>(ask: (done: (error: ServiceError | null, answer?: T) => void) => unknown): Promise<T> =>
  new Promise((done, fail) => {
    ask((error, answer) => (answer === undefined ? fail(error ?? new Error('no answer')) : done(answer)));
  });
