// Handles a result that returns through agentgateway. The result of a permitted call is recorded and redacted. A list
// is reduced to what its caller may see. A result of an unknown request is refused.
import type { McpResponse__Output, McpResponseResult, Struct__Output } from '@tollgate/proto/mesh';
import { Unseen } from '../../engine/govern/call-input.ts';
import { deliver, unannounced } from '../../engine/govern/deliver.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { recordedInTurn } from '../../engine/govern/recorded.ts';
import { type AwaitedCall, denialOf } from '../../engine/govern/verdict.ts';
import { isFields } from '../../upstream/wire/message.ts';
import { listedBy } from '../../upstream/wire/methods.ts';
import { messageNodes } from '../../upstream/wire/server-message.ts';
import { parseStrict, type StrictJson } from '../../engine/json/strict-json.ts';
import { type MeshDeps, malformed, type Refusal, runOf, withMemory } from './asking.ts';
import { metadataText } from './checked-request.ts';
import { denied, mutated, refused } from './mcp-answer.ts';
import { isShownAfterwards, mcpAsk } from './mcp-ask.ts';
import { callerHeaders } from './mcp-caller.ts';
import { ofServers, shownTools } from './mcp-list.ts';
import type { PendingResults, Waiting } from './pending-results.ts';

export async function checkResult(deps: MeshDeps, pending: PendingResults, response: McpResponse__Output): Promise<McpResponseResult> {
  const { method, metadataContext, mcpResponse } = response;
  const ask = mcpAsk({ kind: 'request', id: 0, method, params: { name: '' }, hasParams: true }, '');
  if (ask.kind === 'unknown') return refused(malformed(ask.problem).refusal);
  if (ask.kind === 'pass') return { pass: {} };
  const waiting = takeWaiting(pending, metadataContext) ?? (isShownAfterwards(method) ? unannouncedCall(deps, response) : null);
  if (waiting !== null && 'refusal' in waiting) return refused(waiting.refusal);
  if (waiting === null || (waiting.permits === null) !== (ask.kind === 'tools')) return refused(malformed(unknownCall).refusal);
  const { run } = waiting;
  return withMemory(deps, { run, text: mcpResponse, most: messageNodes }, () => resultOf(deps, response, waiting), unread(deps, waiting));
}

/**
 * Refuses a result that could not be read. The call has already been made, so an entry records that its result was not
 * read.
 */
const unread =
  ({ sidecar }: MeshDeps, { run, permits }: Waiting) =>
  async (refusal: Refusal): Promise<McpResponseResult> => {
    for (const permit of permits?.values() ?? []) {
      const durationMs = sidecar.govern.clock.now() - permit.decidedAt;
      await recordedInTurn(sidecar, deliver(sidecar.govern, run, permit, { output: refusal.words, isError: true, durationMs }));
    }
    return refused(refusal);
  };

async function resultOf(
  deps: MeshDeps,
  { method, mcpResponse, serviceNames }: McpResponse__Output,
  waiting: Waiting,
): Promise<McpResponseResult> {
  const text = mcpResponse.toString('utf8');
  const read = parseResult(mcpResponse);
  const result = 'value' in read && isFields(read.value) ? read.value : null;
  if (result === null) return refused(malformed(`the result ${'problem' in read ? read.problem : 'is not an object'}`).refusal);
  const list = { result, text, servers: serviceNames };
  if (waiting.permits === null) return shownTools(deps.sidecar.govern, waiting.run, list);
  const { run, permits } = waiting;
  if (serviceNames.every((server) => permits.has(server))) return delivered(deps, { run, permits }, { output: result, json: text });
  const field = listedBy(method);
  const shown = field === null ? null : ofServers(list, field, new Set(permits.keys()));
  if (shown === null) return refused(malformed('the result is from a server that the request did not name, and is not a list').refusal);
  const answer = await delivered(deps, { run, permits }, { output: JSON.parse(shown), json: shown });
  return answer.pass === undefined ? answer : mutated(shown);
}

interface Result {
  readonly output: unknown;
  readonly json: string;
}

/** Applies the policy to the result, for each of its servers in turn. A result that does not change passes. */
async function delivered(
  { sidecar }: MeshDeps,
  { run, permits }: { readonly run: GovernedRun; readonly permits: ReadonlyMap<string, AwaitedCall> },
  shown: Result,
): Promise<McpResponseResult> {
  let going = shown;
  for (const permit of permits.values()) {
    const durationMs = sidecar.govern.clock.now() - permit.decidedAt;
    const isError = isFields(going.output) && going.output['isError'] === true;
    const outcome = { ...going, isError, durationMs };
    const { action, decision, json, output } = await recordedInTurn(sidecar, deliver(sidecar.govern, run, permit, outcome));
    if (decision !== null) return denied(denialOf(permit.tool, permit.requestId, decision, []));
    if (action !== 'pass') going = { output, json: json ?? JSON.stringify(output) };
  }
  return going === shown ? { pass: {} } : mutated(going.json);
}

/**
 * Handles the result of a request that the gateway did not ask about. The server has already answered the request, so
 * the policy for the request is applied to the answer.
 */
function unannouncedCall(deps: MeshDeps, response: McpResponse__Output): Waiting | { readonly refusal: Refusal } {
  const { method, serviceNames } = response;
  const [server = '', ...others] = serviceNames;
  if (server === '' || others.length > 0) return malformed(`a ${method} must name one server`);
  const headers = callerHeaders(response);
  if (headers['authorization'] === undefined) return malformed(noKey(method));
  const found = runOf(deps, headers, 'agentgateway');
  if ('refusal' in found) return found;
  const { govern } = deps.sidecar;
  const call = unannounced(govern, found.run, { tool: `${server}.${method}`, input: new Unseen('args'), isOwnInput: true });
  return { run: found.run, permits: new Map([[server, { ...call, decidedAt: govern.clock.now() }]]) };
}

const noKey = (method: string): string =>
  `the gateway does not ask about ${method} before it sends it, and its result has no key: the gateway must send the key as metadata, tollgate_authorization`;

const unknownCall =
  'no call waits for this result: the gateway must ask about its request too, and send the value of mcpGuardrails.tollgate_call as metadata, tollgate_call';

function takeWaiting(pending: PendingResults, metadata: Struct__Output | null): Waiting | null {
  const id = metadataText(metadata, 'tollgate_call');
  return id === null ? null : pending.take(id);
}

// The text of a result stays as it was written, as at the sidecar's own endpoint. So its numbers may exceed what a
// double can hold.
const limits = { depth: 256, nodes: messageNodes, exactNumbers: false };

const parseResult = (bytes: Uint8Array): StrictJson => parseStrict(bytes, limits);
