// Handles one call through the proxy. The call is decided from the body of its request, before the tool server receives
// it. The policy's rules for outcomes apply to its outcome. Reads are decided in the same way, under the name of the
// method. The tool server receives the trace of a call in headers over HTTP, and always in `_meta`, with the protocol's
// names. A tool server that is a program can receive the trace only in `_meta`.
import { bounds } from '@tollgate/proto/contract';
import { recordedForCaller, recordedInTurn, takenBack } from '../../../engine/govern/recorded.ts';
import { deliver } from '../../../engine/govern/deliver.ts';
import { type JudgedCall, judge, type ToolCall } from '../../../engine/govern/govern.ts';
import type { Decision } from '../../../engine/decide/decision.ts';
import { refuse } from '../../../engine/decide/refusal.ts';
import { offers } from '../../../engine/govern/offers.ts';
import { type AwaitedCall, awaitedCall, type Denial, denialOf, type Permit } from '../../../engine/govern/verdict.ts';
import type { Sidecar } from '../../sidecar.ts';
import type { CallSpan, CallTracing, TraceHeaders } from '../../../telemetry/tracing.ts';
import type { Headers } from '../../entrance/caller-headers.ts';
import { besidesIn, headersBesides, paramsBesides } from '../../besides.ts';
import { denialMeta, toldDenial } from '../../denial-body.ts';
import { traceOfCall } from '../../traced-call.ts';
import type { DecisionMetrics } from '../../../telemetry/decision-metrics.ts';
import { isAdmitted } from '../list/catalog.ts';
import type { ParamHeader } from '../../../upstream/wire/header-values.ts';
import { memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import { policyName, type Viewer } from '../list/list.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import type { Era } from '../../../upstream/wire/methods.ts';
import type { HeldRequest } from './held.ts';
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
  /** The request of the client, which waits while a person is asked about its call. */
  readonly held: HeldRequest;
}

/** Returns the text that answers a refused request of this kind. */
type Refusal = (id: RpcId, era: Era, denial: Denial) => string;

/** A refused call is answered with a tool result, which the model reads. */
const refusedCall: Refusal = (id, era, denial) =>
  refusedResultText(id, era, toldDenial(denial), hasMeta(denial) ? denialMeta(denial) : undefined);
const hasMeta = ({ remedies, decision }: Denial): boolean => remedies.length > 0 || decision.approval !== null;
const refusedRead: Refusal = (id, _era, denial) => errorText(id, rpcErrors.params, toldDenial(denial));

/**
 * Decides a call and prepares it for the tool server. Throws `RpcRefusal` if it must not be forwarded. `declared`:
 * arguments that are repeated in headers. `definition`: how the tool is defined now.
 */
export async function prepareCall(
  judging: Judging,
  message: ClientRequest,
  name: string,
  declared: readonly ParamHeader[],
  definition: Definition,
): Promise<PreparedRequest> {
  const { id, params } = message;
  const args = params['arguments'] ?? {};
  const tool = policyName(judging.server, name);
  const call = { tool, input: args, isOwnInput: true, ...definitionFlaw(judging, name, tool) };
  const judged = await decided(judging, call, params, (param) => calledParams.has(param));
  const { verdict, span } = await stillDefined(judging, judged, definition, () => definitionFlaw(judging, name, tool).flaw);
  if (!verdict.allowed) {
    const text = isAbsent(judging, verdict, name)
      ? errorText(id, rpcErrors.params, `Unknown tool: ${name.slice(0, bounds.nameLength)}`)
      : refusedCall(id, judging.era, verdict);
    throw new RpcRefusal(200, text);
  }
  const isChanged = verdict.decision.transform === 'redact' || verdict.decision.approval !== null || span !== undefined;
  return {
    message: isChanged ? changedCall(judging, message, verdict, span) : message,
    declared,
    ...traceOf(verdict, span),
    pending: outcomeOf(judging, { call: awaitedCall(verdict), span }, message, refusedCall),
  };
}

/** The params of a call that policy knows: as the name of the tool, and as the input. */
const calledParams = new Set(['name', 'arguments']);

interface Definition {
  /** Requests the list of tools of the server, if it may have changed. */
  readonly refresh: () => Promise<void>;
  /** Whether the server is still defined as it was when the call came. */
  readonly isSame: () => boolean;
}

/**
 * Looks again at the definition of a tool whose call a person has approved, because it may have changed while the call
 * waited. A call of a changed tool is not made.
 */
async function stillDefined(
  { sidecar }: Judging,
  judged: JudgedMcpCall,
  { refresh, isSame }: Definition,
  flawOf: () => ToolCall['flaw'],
): Promise<JudgedMcpCall> {
  const { verdict, notMade } = judged;
  if (!verdict.allowed || verdict.decision.approval === null || notMade === undefined) return judged;
  const takeBack = (why: Decision): Promise<Denial> => {
    judged.span?.end();
    return takenBack(sidecar, notMade(why));
  };
  try {
    if (isSame()) await refresh();
  } catch (error) {
    await takeBack(refuse('internal_error', 'the definition of the tool could not be read'));
    throw error;
  }
  const flaw = isSame() ? flawOf() : otherServer;
  return flaw === undefined ? judged : { ...judged, verdict: await takeBack(refuse(flaw.code, flaw.words)) };
}

const otherServer: ToolCall['flaw'] = {
  code: 'tool_definition_changed',
  words: 'its tool server was changed or removed while the call waited for a person',
};

/**
 * Returns the call as the tool server receives it: redacted if the policy says so, and with the trace of our span. A call
 * that a person has approved has nothing that the person was not shown.
 */
function changedCall({ run }: Judging, message: ClientRequest, permit: Permit, span: CallSpan | undefined): ClientRequest {
  const { params } = message;
  const others = redactedParams(run, permit, params, ['name', 'arguments', 'requestState']);
  return {
    ...message,
    params: {
      ...others,
      ...metaFor(others['_meta'], permit, span),
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
  const call = { ...readCall(judging, message), isOwnInput: true };
  const { verdict, span } = await decided(judging, call, message.params, (param) => param !== 'requestState');
  if (!verdict.allowed) throw new RpcRefusal(200, refusedRead(message.id, judging.era, verdict));
  const others = redactedParams(judging.run, verdict, meta === undefined ? {} : { _meta: meta }, []);
  const given = metaFor(others['_meta'], verdict, span);
  const params = { ...(isFields(verdict.input) ? verdict.input : {}), ...others, ...given, ...stateOf(message.params) };
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
  /** Gives back what the permitted call has counted. Undefined: nothing was counted. */
  readonly notMade: JudgedCall['notMade'];
}

/**
 * Decides and records one call. A trace that the `_meta` of the params names has priority over a trace in the headers.
 * `inInput`: the names of the params that the input has.
 */
async function decided(
  judgingCall: Judging,
  call: ToolCall,
  params: ClientRequest['params'],
  inInput: (name: string) => boolean,
): Promise<JudgedMcpCall> {
  const { sidecar, run, metrics, tracing, requestHeaders, held } = judgingCall;
  const startedAt = sidecar.govern.clock.now();
  const meta = params['_meta'];
  const named = isFields(meta) && typeof meta['traceparent'] === 'string' ? meta : requestHeaders;
  const span = tracing?.begin(call.tool, named);
  const asked: ToolCall = {
    ...call,
    trace: traceOfCall(span, named),
    // Most calls are not asked for.
    get besides() {
      return besidesIn({ headers: sessionBesides(judgingCall), params: paramsBesides(params, inInput, true) });
    },
  };
  const onHeld = (approvalId: string): void => held.begin(approvalId);
  const judging = judge(sidecar.govern, run, asked, { forwards: true, holdMs: held.holdMs, waiter: held, onHeld });
  const judged = judging instanceof Promise ? await judging : judging;
  const isAsked = judged.result.decision.approval !== null;
  // A call that was asked for may have waited for minutes, so its client may have left.
  const verdict = await (isAsked ? recordedForCaller(sidecar, judged, held) : recordedInTurn(sidecar, judged));
  held.release();
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, run);
  return { verdict, span, notMade: judged.notMade?.bind(judged) };
}

/** Returns the session at the tool server, unless the approval is for it already because it is the session of the call. */
const sessionBesides = ({ era, requestHeaders, run }: Judging): Readonly<Record<string, unknown>> =>
  era === 'modern' ? {} : headersBesides({ 'mcp-session-id': requestHeaders['mcp-session-id'] }, run.facts.sessionId);

type ForTool = { readonly decision: Pick<Permit['decision'], 'transform' | 'approval'> };

const traceOf = (permit: ForTool, span: CallSpan | undefined): Pick<PreparedRequest, 'trace'> =>
  span === undefined ? {} : { trace: traceHeaders(permit, span) };

/** Callers can put any text into a trace state, so it is left out if the policy redacts, or if a person has approved the call. */
const dropsState = ({ decision }: ForTool): boolean => decision.transform === 'redact' || decision.approval !== null;

/** Returns the `_meta` for the tool server, with the trace of our span in place of the client's trace. Empty: there is none. */
function metaFor(meta: unknown, permit: ForTool, span: CallSpan | undefined): { readonly _meta?: object } {
  const { traceparent, tracestate: _state, ...others } = isFields(meta) ? meta : {};
  if (span !== undefined) return { _meta: { ...others, ...traceHeaders(permit, span) } };
  if (!isFields(meta)) return {};
  return { _meta: permit.decision.approval === null ? meta : { ...others, ...(traceparent === undefined ? {} : { traceparent }) } };
}

/** Returns the headers with the trace. */
function traceHeaders(permit: ForTool, span: CallSpan): TraceHeaders {
  const { traceparent, ...state } = span.headers();
  return { ...(dropsState(permit) ? {} : state), ...(traceparent === undefined ? {} : { traceparent }) };
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
