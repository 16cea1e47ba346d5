// agentgateway's ExtMcp: each MCP message is asked about before it goes to a server, and each result before it goes back.
// A request leaves an id with the gateway (`tollgate_call`), which its configuration hands back with the result: results
// come without headers, and nobody else says whose they are.
//
// States of a call: permitted (its id waits for the result, among `pendingMax`), told (the id is forgotten).
import type { ExtMcpHandlers, McpRequest__Output, McpRequestResult, McpResponseResult } from '@tollgate/proto/mesh';
import { LRUCache } from 'lru-cache';
import type { Headers } from '../caller-headers.ts';
import { type ClientMessage, isFields, parseMessage } from '../mcp/wire/message.ts';
import { awaitedCall } from '../../govern/verdict.ts';
import { parseStrict } from '../strict-json.ts';
import { answerCall, decided, type MeshDeps, malformed, type Refusal, runOf } from './asking.ts';
import { headersOf, metadataText } from './checked-request.ts';
import { aside, denied, mutated, refused } from './mcp-answer.ts';
import { mcpAsk, withInput } from './mcp-ask.ts';
import { checkResult, type Pending } from './mcp-result.ts';

const pendingMax = 10_000;

export function extMcp(deps: MeshDeps): ExtMcpHandlers {
  const pending: Pending = new LRUCache({ max: pendingMax });
  return {
    CheckRequest: ({ request }, callback) =>
      void answerCall<McpRequestResult>(deps, checkRequest(deps, pending, request), refused, callback),
    CheckResponse: ({ request }, callback) =>
      void answerCall<McpResponseResult>(deps, checkResult(deps, pending, request), refused, callback),
  };
}

async function checkRequest(deps: MeshDeps, pending: Pending, request: McpRequest__Output): Promise<McpRequestResult> {
  const headers = callerHeaders(request);
  const found = runOf(deps, headers, 'agentgateway');
  if ('refusal' in found) return refused(found.refusal);
  const { run } = found;
  const message = messageOf(request);
  if ('refusal' in message) return refused(message.refusal);
  const [service = '', ...others] = request.serviceNames;
  const ask = mcpAsk(message, service);
  switch (ask.kind) {
    case 'unknown':
      return refused(malformed(ask.problem).refusal);
    case 'pass':
      return { ...aside(headers, null), pass: {} };
    case 'tools': {
      const id = deps.sidecar.govern.newId();
      pending.set(id, { run, permit: null });
      return { ...aside(headers, id), pass: {} };
    }
    default: {
      if (service === '' || others.length > 0) return refused(malformed('a call is for one server').refusal);
      // Without it nobody knows whether what comes of the call will be shown.
      const hidesOutput = metadataText(request.metadataContext, 'tollgate_phase') !== 'full';
      const verdict = await decided(deps, { run, call: { tool: ask.tool, input: ask.input, hidesOutput }, forwards: isFields, headers });
      if (!verdict.allowed) return denied(verdict);
      pending.set(verdict.requestId, { run, permit: awaitedCall(verdict) });
      const changed = verdict.decision.transform === 'redact' && verdict.findings.length > 0;
      const params = changed && message.kind !== 'response' ? withInput(ask.kind, message.params, verdict.input) : null;
      return { ...aside(headers, verdict.requestId), ...(params === null ? { pass: {} } : mutated(JSON.stringify(params))) };
    }
  }
}

/** The key may come as metadata, where the gateway keeps headers to itself. */
function callerHeaders({ headers, metadataContext }: McpRequest__Output): Headers {
  const shown = headersOf(headers.map(({ key, value }) => [key, value.toString('latin1')] as const));
  const authorization = metadataText(metadataContext, 'tollgate_authorization');
  return authorization === null ? shown : { ...shown, authorization };
}

/** The message as JSON-RPC, read as strictly as at our own door. */
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
