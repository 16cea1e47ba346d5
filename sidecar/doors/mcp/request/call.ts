// Handles one call through the proxy. The call is decided from the body of its request, before the tool server receives
// it. The policy's rules for outcomes apply to its outcome. Reads are decided in the same way, under the name of the
// method. The tool server receives the trace of a call in headers over HTTP, and always in `_meta`, with the protocol's
// names. A tool server that is a program can receive the trace only in `_meta`.
import { bounds } from '@tollgate/proto/contract';
import { recordedInTurn } from '../../../engine/govern/recorded.ts';
import { deliver } from '../../../engine/govern/deliver.ts';
import { judge, type ToolCall } from '../../../engine/govern/govern.ts';
import { offers } from '../../../engine/govern/offers.ts';
import { type AwaitedCall, awaitedCall, type Denial, denialOf, denialText, type Permit } from '../../../engine/govern/verdict.ts';
import type { Sidecar } from '../../sidecar.ts';
import type { CallSpan, CallTracing, TraceHeaders } from '../../../telemetry/tracing.ts';
import type { Headers } from '../../entrance/caller-headers.ts';
import { denialMeta } from '../../denial-body.ts';
import { traceOfCall } from '../../traced-call.ts';
import type { DecisionMetrics } from '../../../telemetry/decision-metrics.ts';
import { isAdmitted } from '../list/catalog.ts';
import type { ParamHeader } from '../../../upstream/wire/header-values.ts';
import { memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import { policyName, type Viewer } from '../list/list.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import type { Era } from '../../../upstream/wire/methods.ts';
import type { Pending, PreparedRequest, ServerResponse } from './pending.ts';
import { passingOf, redactedParams, restored } from './redaction.ts';
import { errorText, type RpcId, RpcRefusal, refusedResultText, rpcErrors } from '../../../upstream/wire/rpc.ts';

export interface Judging extends Viewer {
  readonly sidecar: Sidecar;
  readonly metrics: DecisionMetrics;
  /** Undefined: calls are not traced. */
  readonly tracing: CallTracing | undefined;
  /** The HTTP headers of the client's request. They may contain a trace. */
  readonly requestHeaders: Headers;
  readonly era: Era;
}

/** Returns the text that answers a refused request of this kind. */
type Refusal = (id: RpcId, era: Era, denial: Denial) => string;

/** A refused call is answered with a tool result, which the model reads. */
const refusedCall: Refusal = (id, era, denial) =>
  refusedResultText(id, era, denialText(denial), denial.remedies.length === 0 ? undefined : denialMeta(denial));
const refusedRead: Refusal = (id, _era, denial) => errorText(id, rpcErrors.params, denialText(denial));

/**
 * Decides a call and prepares it for the tool server. Throws `RpcRefusal` if it must not be forwarded. `declared`:
 * arguments that are repeated in headers.
 */
export async function prepareCall(
  judging: Judging,
  message: ClientRequest,
  name: string,
  declared: readonly ParamHeader[],
): Promise<PreparedRequest> {
  const { id, params } = message;
  const args = params['arguments'] ?? {};
  const tool = policyName(judging.server, name);
  const { verdict, span } = await decided(
    judging,
    { tool, input: args, isOwnInput: true, ...definitionFlaw(judging, name, tool) },
    params['_meta'],
  );
  if (!verdict.allowed) {
    const text = isAbsent(judging, verdict, name)
      ? errorText(id, rpcErrors.params, `Unknown tool: ${name.slice(0, bounds.nameLength)}`)
      : refusedCall(id, judging.era, verdict);
    throw new RpcRefusal(200, text);
  }
  return {
    message: verdict.decision.transform === 'redact' || span !== undefined ? changedCall(judging, message, verdict, span) : message,
    declared,
    ...traceOf(verdict, span),
    pending: outcomeOf(judging, { call: awaitedCall(verdict), span }, message, refusedCall),
  };
}

/** Returns the call as the tool server receives it: redacted if the policy says so, and with the trace of our span. */
function changedCall({ run }: Judging, message: ClientRequest, permit: Permit, span: CallSpan | undefined): ClientRequest {
  const { params } = message;
  const others = redactedParams(run, permit, params, ['name', 'arguments', 'requestState']);
  return {
    ...message,
    params: {
      ...others,
      ...(span === undefined ? {} : { _meta: tracedMeta(others['_meta'], permit, span) }),
      name: params['name'],
      ...('arguments' in params ? { arguments: permit.input } : {}),
      ...stateOf(params),
    },
  };
}

/** Returns the call under which policy knows a request that is no call of a tool. */
export function readCall({ server }: Pick<Judging, 'server'>, { method, params }: ClientRequest): Pick<ToolCall, 'tool' | 'input'> {
  const { _meta: _, requestState: _state, ...input } = params;
  return { tool: policyName(server, method), input };
}

/**
 * Decides and prepares the read of a resource or a prompt. The policy knows it under a name such as
 * `<server>.resources/read`.
 */
export async function prepareRead(judging: Judging, message: ClientRequest): Promise<PreparedRequest> {
  const { _meta: meta } = message.params;
  const { verdict, span } = await decided(judging, { ...readCall(judging, message), isOwnInput: true }, meta);
  if (!verdict.allowed) throw new RpcRefusal(200, refusedRead(message.id, judging.era, verdict));
  const others = redactedParams(judging.run, verdict, meta === undefined ? {} : { _meta: meta }, []);
  const traced = span === undefined ? {} : { _meta: tracedMeta(others['_meta'], verdict, span) };
  const params = { ...(isFields(verdict.input) ? verdict.input : {}), ...others, ...traced, ...stateOf(message.params) };
  const pending = outcomeOf(judging, { call: awaitedCall(verdict), span }, message, refusedRead);
  return { message: { ...message, params }, declared: [], ...traceOf(verdict, span), pending };
}

/**
 * Returns the `requestState` of a request. Only the server reads its request state, so the state returns to it
 * unchanged.
 */
const stateOf = ({ requestState }: Readonly<Record<string, unknown>>): object => (requestState === undefined ? {} : { requestState });

interface JudgedMcpCall {
  readonly verdict: Permit | Denial;
  readonly span: CallSpan | undefined;
}

/**
 * Decides and records one call. `meta` is the `_meta` of the request. A trace named in it has priority over a trace in
 * the headers.
 */
async function decided({ sidecar, run, metrics, tracing, requestHeaders }: Judging, call: ToolCall, meta: unknown): Promise<JudgedMcpCall> {
  const startedAt = sidecar.govern.clock.now();
  const named = isFields(meta) && typeof meta['traceparent'] === 'string' ? meta : requestHeaders;
  const span = tracing?.begin(call.tool, named);
  const verdict = await recordedInTurn(
    sidecar,
    judge(sidecar.govern, run, { ...call, trace: traceOfCall(span, named) }, { forwards: true }),
  );
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, run);
  return { verdict, span };
}

type Redacting = { readonly decision: Pick<Permit['decision'], 'transform'> };

const traceOf = (permit: Redacting, span: CallSpan | undefined): Pick<PreparedRequest, 'trace'> =>
  span === undefined ? {} : { trace: traceHeaders(permit, span) };

/** Returns `meta` with the trace of our span in place of the client's trace. */
function tracedMeta(meta: unknown, permit: Redacting, span: CallSpan): object {
  const { traceparent: _, tracestate: _state, ...others } = isFields(meta) ? meta : {};
  return { ...others, ...traceHeaders(permit, span) };
}

/**
 * Returns the headers with the trace. If the policy redacts, the trace state is left out, because callers can put any
 * text into it.
 */
function traceHeaders({ decision }: Redacting, span: CallSpan): TraceHeaders {
  const { traceparent, ...state } = span.headers();
  return { ...(decision.transform === 'redact' ? {} : state), ...(traceparent === undefined ? {} : { traceparent }) };
}

/**
 * Returns the flaw in the tool's definition, if any. For a tool that the caller cannot see it returns none, because a
 * flaw would reveal the tool.
 */
function definitionFlaw({ govern, run, server, catalog }: Judging, name: string, tool: string): Pick<ToolCall, 'flaw'> {
  if (!offers(govern, run, tool)) return {};
  // A server may accept more spellings of a name than the policy does. So only a name that is in the server's list is
  // accepted.
  if (!catalog.tools.has(name)) return { flaw: { code: 'call_malformed', words: unlisted } };
  if (isAdmitted(server, name, catalog.tools.get(name))) return {};
  const words = 'its definition appeared or changed after tools were admitted; it must be admitted first';
  return { flaw: { code: 'tool_definition_changed', words } };
}

const unlisted = 'the tool server lists no tool of that name';

// These codes do not depend on the tool, so they reveal nothing about a hidden tool.
const ofTheMoment = new Set(['workspace_frozen', 'agent_suspended', 'snapshot_missing', 'outage', 'audit_unavailable', 'internal_error']);

const isAbsent = ({ govern, run, catalog }: Judging, { code, tool }: Denial, name: string): boolean =>
  !ofTheMoment.has(code) && (!offers(govern, run, tool) || !catalog.tools.has(name));

interface PermittedCall {
  readonly call: AwaitedCall;
  readonly span: CallSpan | undefined;
}

/**
 * Returns the handling of the answer. It keeps nothing of the request or its input, because it may wait in a session
 * for a long time.
 */
function outcomeOf(judging: Judging, { call, span }: PermittedCall, { id, method }: ClientRequest, refusal: Refusal): Pending {
  const { sidecar, run, era } = judging;
  const durationMs = (): number => sidecar.govern.clock.now() - call.decidedAt;
  return {
    method,
    settle: async (response) => {
      const { transform, storedTransform } = call.decision;
      // The JSON text is needed only for redaction in place.
      const json = transform === 'log' && storedTransform === 'log' ? {} : { json: jsonOf(response) };
      const outcome = { output: response.value, ...json, isError: saysError(response), durationMs: durationMs() };
      const delivery = await recordedInTurn(sidecar, deliver(sidecar.govern, run, call, outcome));
      span?.end({ isError: outcome.isError, action: delivery.action });
      if (delivery.action === 'pass') return response.text;
      if (delivery.decision !== null) return refusal(id, era, denialOf(call.tool, call.requestId, delivery.decision, []));
      const redacted = delivery.json ?? JSON.stringify(delivery.output);
      return restored(response, withMember(response.text, [response.holds], shaped(response, redacted)));
    },
    abandon: async (why) => {
      span?.end({ isError: true, action: 'block' });
      await recordedInTurn(sidecar, deliver(sidecar.govern, run, call, { output: why, isError: true, durationMs: durationMs() }));
    },
    passing: passingOf(run, call),
    ...(call.decision.transform === 'redact' ? { redacting: call.tool } : {}),
  };
}

function jsonOf({ text, holds }: ServerResponse): string {
  const span = memberAt(text, [holds]);
  if (span === null) throw new RangeError('memberAt must find the result or error in the text from which the answer was parsed');
  return text.slice(span.start, span.end);
}

const saysError = ({ holds, value }: ServerResponse): boolean => holds === 'error' || (isFields(value) && value['isError'] === true);

/** If the whole value was replaced, wraps the redaction mark in the shape that a reader expects. */
function shaped({ holds }: ServerResponse, redacted: string): string {
  if (redacted.startsWith('{')) return redacted;
  return holds === 'error' ? `{"code":${rpcErrors.internal},"message":${redacted}}` : `{"content":[{"type":"text","text":${redacted}}]}`;
}
