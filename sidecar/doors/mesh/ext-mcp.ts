// Implements agentgateway's ExtMcp. The gateway asks about each MCP message before it goes to a server, and about each
// result before it goes back. When a request is permitted, our answer to the gateway contains an id (`tollgate_call`).
// The gateway's configuration returns this id with the result, because results come without headers and nothing else
// identifies their caller.
//
// States of a call: permitted (its id waits for the result, see pending-results.ts) → reported (the id is deleted).
import type { ExtMcpHandlers, McpRequest__Output, McpRequestResult, McpResponse__Output, McpResponseResult } from '@tollgate/proto/mesh';
import { bounds } from '@tollgate/proto/contract';
import type { GovernedRun } from '../../engine/govern/run.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import { type ClientMessage, parseMessage } from '../../upstream/wire/message.ts';
import { parseStrict } from '../../engine/json/strict-json.ts';
import { answering, type MeshDeps, malformed, type Refusal, runOf, withMemory } from './asking.ts';
import { metadataText } from './checked-request.ts';
import { denied, forwardedWith, mutated, refused } from './mcp-answer.ts';
import { type GovernedAsk, goesToAll, mcpAsk } from './mcp-ask.ts';
import { callerHeaders } from './mcp-caller.ts';
import { decideForServers } from './mcp-request.ts';
import { checkResult } from './mcp-result.ts';
import { createPendingResults, type PendingResults } from './pending-results.ts';

export function extMcp(deps: MeshDeps): ExtMcpHandlers {
  const pending = createPendingResults();
  const onRequest = (request: McpRequest__Output, gone: AbortSignal): Promise<McpRequestResult> =>
    checkRequest(deps, pending, request, gone);
  // The call has already been made. Its outcome is recorded even if the gateway no longer waits for the answer.
  const onResponse = (response: McpResponse__Output): Promise<McpResponseResult> => checkResult(deps, pending, response);
  return {
    CheckRequest: answering<McpRequest__Output, McpRequestResult>(deps, onRequest, refused),
    CheckResponse: answering<McpResponse__Output, McpResponseResult>(deps, onResponse, refused),
  };
}

async function checkRequest(
  deps: MeshDeps,
  pending: PendingResults,
  request: McpRequest__Output,
  gone: AbortSignal,
): Promise<McpRequestResult> {
  const headers = callerHeaders(request);
  const found = runOf(deps, headers, 'agentgateway');
  if ('refusal' in found) return refused(found.refusal);
  const { run } = found;
  const text = request.mcpRequest ?? Buffer.alloc(0);
  return withMemory(
    deps,
    { run, text, most: bounds.jsonNodes, gone },
    () => checkOf(deps, pending, { request, run, headers, gone }),
    refused,
  );
}

interface Checking {
  readonly request: McpRequest__Output;
  readonly run: GovernedRun;
  readonly headers: Headers;
  readonly gone: AbortSignal;
}

async function checkOf(deps: MeshDeps, pending: PendingResults, { request, run, headers, gone }: Checking): Promise<McpRequestResult> {
  const message = messageOf(request);
  if ('refusal' in message) return refused(message.refusal);
  const { serviceNames, metadataContext } = request;
  const ask = mcpAsk(message, serviceNames[0] ?? '');
  switch (ask.kind) {
    case 'unknown':
      return refused(malformed(ask.problem).refusal);
    case 'pass':
      return { ...forwardedWith(headers, null), pass: {} };
    case 'tools': {
      const id = deps.sidecar.govern.newId();
      pending.put(id, { run, permits: null });
      return { ...forwardedWith(headers, id), pass: {} };
    }
    default: {
      const asks = asksOf(message, serviceNames);
      if (asks === null) return refused(malformed(`a ${request.method} must name ${rangeOf(message)}`).refusal);
      // Only with this metadata is it certain that the gateway will also show the result of the call.
      const hidesOutput = metadataText(metadataContext, 'tollgate_phase') !== 'full';
      const decided = await decideForServers(deps, { run, gone, headers, hidesOutput }, message, asks);
      if ('denial' in decided) return denied(decided.denial);
      const { permits, requestId, changed } = decided;
      pending.put(requestId, { run, permits });
      const isApproved = [...permits.values()].some(({ decision }) => decision.approval !== null);
      return { ...forwardedWith(headers, requestId, isApproved), ...(changed === null ? { pass: {} } : mutated(JSON.stringify(changed))) };
    }
  }
}

/** The maximum number of servers for one request. Each server gets its own entry. */
const serversMax = 64;

const mayBeMany = (message: ClientMessage): boolean => message.kind === 'request' && goesToAll(message.method);

const rangeOf = (message: ClientMessage): string => (mayBeMany(message) ? `1 to ${serversMax} servers` : 'one server');

/** Returns the questions to decide, by server. Null: the number of servers is not allowed for this message. */
function asksOf(message: ClientMessage, servers: readonly string[]): ReadonlyMap<string, GovernedAsk> | null {
  if (servers.length === 0 || servers.includes('') || servers.length > (mayBeMany(message) ? serversMax : 1)) return null;
  const asks = new Map<string, GovernedAsk>();
  for (const server of servers) {
    const ask = mcpAsk(message, server);
    if (ask.kind === 'call' || ask.kind === 'read') asks.set(server, ask);
  }
  return asks;
}

/** Returns the message as JSON-RPC, parsed as strictly as at the sidecar's own endpoint. */
function messageOf({ method, mcpRequest }: McpRequest__Output): ClientMessage | { readonly refusal: Refusal } {
  const params = mcpRequest === undefined || mcpRequest.length === 0 ? Buffer.from('{}') : mcpRequest;
  const alone = parseStrict(params);
  if ('problem' in alone) return malformed(`params ${alone.problem}`);
  const id = method.startsWith('notifications/') ? '' : '"id":0,';
  const message = parseMessage(
    Buffer.concat([Buffer.from(`{"jsonrpc":"2.0",${id}"method":${JSON.stringify(method)},"params":`), params, Buffer.from('}')]),
  );
  return 'bad' in message ? malformed(message.bad.problem) : message;
}
