// Implements Envoy's ext_authz. Each request is decided as the call of a tool. Envoy forwards the request, or answers
// it with the denial that it receives from here. This protocol can change only the headers of a request, and it does
// not show the answer to a request. Therefore a redaction by the policy becomes a denial. A failure is a denial too,
// because a gateway could treat an error as permission.
import { status as grpc } from '@grpc/grpc-js';
import { bounds } from '@tollgate/proto/contract';
import type { AuthorizationHandlers, CheckRequest__Output, CheckResponse } from '@tollgate/proto/mesh';
import type { ToolCall } from '../../engine/govern/govern.ts';
import { type GovernedRun, heldBy } from '../../engine/govern/run.ts';
import type { Permit } from '../../engine/govern/verdict.ts';
import { besidesIn, headersBesides } from '../besides.ts';
import { type DenialAnswer, denialAnswer, refusalBody, retryHeader } from '../denial-body.ts';
import { Unseen } from '../../engine/govern/call-input.ts';
import { type Body, parseContentType } from '../http/body.ts';
import { type HttpTool, methods } from '../../upstream/http-tool-definition.ts';
import { overrideProblem } from '../http/head.ts';
import { namedHeaders, readHttpInput } from '../http/input.ts';
import { decodeHeaderValue } from '../../upstream/wire/header-values.ts';
import { parseMessage } from '../../upstream/wire/message.ts';
import {
  answering,
  decided,
  forwardedHeaders,
  headersToRemove,
  type MeshDeps,
  malformed,
  type Refusal,
  runOf,
  withMemory,
} from './asking.ts';
import { type CheckedRequest, readChecked, toolOfPath } from './checked-request.ts';
import { besidesOf, calledBy, mcpAsk } from './mcp-ask.ts';

export interface ExtAuthzDeps extends MeshDeps {
  /** The tools that a path may name, by name. */
  readonly httpTools: ReadonlyMap<string, HttpTool>;
}

export const extAuthz = (deps: ExtAuthzDeps): AuthorizationHandlers => ({
  Check: answering<CheckRequest__Output, CheckResponse>(deps, (request, gone) => check(deps, request, gone), refused),
});

async function check(deps: ExtAuthzDeps, { attributes }: CheckRequest__Output, gone: AbortSignal): Promise<CheckResponse> {
  const checked = readChecked(attributes);
  if (checked === null) return refused(malformed('the check request holds no HTTP request').refusal);
  const found = runOf(deps, checked.headers, 'envoy');
  if ('refusal' in found) return refused(found.refusal);
  const { run } = found;
  const answer = (): CheckResponse | Promise<CheckResponse> => {
    const asked = callOf(checked, deps.httpTools, heldBy(deps.sidecar.govern.cell).shownHeaders);
    if ('refusal' in asked) return refused(asked.refusal);
    return asked.call === null
      ? passed(checked, null)
      : answered(deps, checked, { run, gone, call: asked.call, params: asked.params ?? {} });
  };
  const type = String(checked.headers['content-type'] ?? '');
  return withMemory(deps, { run, text: checked.body ?? Buffer.alloc(0), type, most: bounds.jsonNodes, gone }, answer, refused);
}

interface Asking {
  readonly run: GovernedRun;
  readonly call: ToolCall;
  /** What of the params of an MCP message is not in the input. */
  readonly params: Params;
  readonly gone: AbortSignal;
}

async function answered(deps: ExtAuthzDeps, checked: CheckedRequest, { run, call, params, gone }: Asking): Promise<CheckResponse> {
  const hidesOutput = !checked.route.outputsElsewhere;
  const { headers } = checked;
  const verdict = await decided(deps, {
    run,
    call: { ...call, hidesOutput, alsoForwarded: forwardedHeaders(headers) },
    besides: () => besidesIn({ headers: headersBesides(forwardedHeaders(headers), run.facts.sessionId), params }),
    gone,
    forwards: false,
    headers,
  });
  return verdict.allowed ? passed(checked, verdict) : denied(denialAnswer(verdict));
}

type AuthzCall = { readonly call: ToolCall | null; readonly params?: Params } | { readonly refusal: Refusal };
type Params = Readonly<Record<string, unknown>>;

/** Returns the call that a request makes. Null in `call`: the request makes no call and passes. */
function callOf(checked: CheckedRequest, httpTools: ReadonlyMap<string, HttpTool>, shownHeaders: ReadonlySet<string>): AuthzCall {
  const { route, target, headers } = checked;
  // Many servers read `_` in a header name as `-`.
  const names = new Set(Object.keys(headers).map((name) => name.replaceAll('_', '-')));
  const problem = overrideProblem((name) => names.has(name));
  if (problem !== null) return malformed(problem);
  if (route.mcpServer !== null) return mcpCallOf(checked, route.mcpServer);
  if (route.tool !== null)
    return httpCallOf(checked, { name: route.tool, prefix: '', methods, byMethod: route.nameByMethod, shownHeaders });
  const named = toolOfPath(target, httpTools);
  if (named !== null) {
    const { name, prefix, tool } = named;
    return httpCallOf(checked, { name, prefix, methods: tool.methods, byMethod: tool.nameByMethod, shownHeaders });
  }
  return malformed('the route names no tool: give it tollgate_tool or tollgate_mcp_server in context_extensions');
}

interface RoutedTool {
  readonly name: string;
  readonly prefix: string;
  /** The accepted methods in exact spelling. `post` is not accepted, although some servers treat it as `POST`. */
  readonly methods: readonly string[];
  readonly byMethod: boolean;
  readonly shownHeaders: ReadonlySet<string>;
}

function httpCallOf({ method, target, headers, body }: CheckedRequest, routed: RoutedTool): AuthzCall {
  const { name, prefix, methods: taken, byMethod, shownHeaders } = routed;
  if (!taken.includes(method)) return malformed(`the method must be one of ${taken.join(', ')}`);
  const contentType = headers['content-type'];
  const encoding = headers['content-encoding'] ?? 'identity';
  if (typeof contentType === 'object' || typeof encoding !== 'string')
    return malformed('the header content-type or content-encoding appears twice');
  // A compressed body is not read. The input contains only its size and digest.
  const type = encoding.toLowerCase() === 'identity' ? contentType : 'application/octet-stream';
  const asked = readHttpInput({
    method,
    target,
    prefix,
    byMethod,
    contentType: type,
    forwarded: {},
    named: namedHeaders(shownHeaders, pairsOf(headers)),
    body: body ?? new Uint8Array(0),
  });
  if ('problem' in asked) return malformed(asked.problem);
  const input = {
    ...asked.input,
    ...(body === null || mayBeNoForm(asked.body.form, body) ? { body: new Unseen('args.body') } : {}),
    ...(hasOldSeparator(target) ? { query: new Unseen('args.query') } : {}),
  };
  return { call: { tool: byMethod ? `${name}.${method}` : name, input, isOwnInput: true, shownHeaders } };
}

// Envoy forwards the bytes of the caller, unlike the HTTP tools of a sidecar, which write them again. Some servers read JSON
// or XML whatever the content type says, and some separate parameters at a semicolon too.
const mayBeNoForm = (form: Body['form'], bytes: Uint8Array): boolean =>
  form === 'fields' && /^[{["<]/.test(Buffer.from(bytes.subarray(0, 1)).toString('latin1'));

const hasOldSeparator = (target: string): boolean => /\?.*;/.test(target);

const pairsOf = (headers: CheckedRequest['headers']): readonly (readonly [string, string])[] =>
  Object.entries(headers).flatMap(([name, values = []]) => [values].flat().map((value) => [name, value] as const));

function mcpCallOf({ method, headers, body }: CheckedRequest, server: string): AuthzCall {
  // GET opens a stream, and DELETE ends a session.
  if (method === 'GET' || method === 'DELETE')
    return body !== null && body.length === 0 ? { call: null } : malformed(`${method} has no body`);
  if (method !== 'POST') return malformed('the method must be POST, GET or DELETE');
  if (body === null) return malformed('the body is missing or incomplete: the gateway must send the whole body with its check request');
  const contentType = headers['content-type'];
  const type = typeof contentType === 'string' ? parseContentType(contentType) : null;
  const isJson = type?.essence === 'application/json' && (type.charset ?? 'utf-8') === 'utf-8';
  if (!isJson || headers['content-encoding'] !== undefined) return malformed('the body must be application/json, in UTF-8 and not encoded');
  const message = parseMessage(body);
  if ('bad' in message) return malformed(message.bad.problem);
  const ask = mcpAsk(message, server);
  const differing = message.kind === 'response' ? null : differingHeader(headers, message.method, message.params);
  if (differing !== null) return malformed(`${differing} and the body differ`);
  if (ask.kind === 'unknown') return malformed(ask.problem);
  if ((ask.kind !== 'call' && ask.kind !== 'read') || message.kind === 'response') return { call: null };
  return { call: calledBy(ask), params: besidesOf(ask, message.params) };
}

/**
 * Returns the name of a header that contradicts the body, or null. Some servers use these headers instead of the body.
 */
function differingHeader(headers: CheckedRequest['headers'], method: string, params: Readonly<Record<string, unknown>>): string | null {
  if (headers['mcp-method'] !== undefined && headers['mcp-method'] !== method) return 'Mcp-Method';
  const name = headers['mcp-name'];
  if (name === undefined) return null;
  const decoded = typeof name === 'string' ? decodeHeaderValue(name) : null;
  return decoded !== null && (decoded === params['name'] || decoded === params['uri']) ? null : 'Mcp-Name';
}

const header = (key: string, value: string) => ({ header: { key, value }, appendAction: 'OVERWRITE_IF_EXISTS_OR_ADD' as const });

const passed = ({ headers }: CheckedRequest, permit: Permit | null): CheckResponse => ({
  status: { code: grpc.OK },
  okResponse: {
    headers: permit === null ? [] : [header('x-tollgate-request-id', permit.requestId)],
    headersToRemove: [...headersToRemove(headers, permit !== null && permit.decision.approval !== null)],
  },
});

function denied({ status, headers, body }: DenialAnswer): CheckResponse {
  const code = { 401: grpc.UNAUTHENTICATED, 429: grpc.RESOURCE_EXHAUSTED, 400: grpc.INVALID_ARGUMENT, 503: grpc.UNAVAILABLE }[status];
  return {
    status: { code: code ?? grpc.PERMISSION_DENIED, message: body.error },
    deniedResponse: {
      status: { code: status },
      headers: [header('content-type', 'application/json'), ...Object.entries(headers).map(([key, value]) => header(key, value))],
      body: JSON.stringify(body),
    },
  };
}

const refused = ({ status, code, words, retryAfterMs }: Refusal): CheckResponse =>
  denied({ status, headers: retryHeader(retryAfterMs), body: refusalBody(code, words, retryAfterMs) });
