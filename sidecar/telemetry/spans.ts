// Creates spans by the conventions of OpenTelemetry for generative AI: agent, model and tool, the number of tokens, the
// decision, and the result. No span contains what was said, sent or answered, or whose key was used.
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span as ApiSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { TraceIds } from '@tollgate/proto/contract';
import { layerOf } from './decision-layer.ts';
import type { CallOutcome, CallSpan, CallTracing, Operation, Span, TraceHeaders, Tracing } from './tracing.ts';

export interface Spans {
  readonly tracing: Tracing;
  readonly calls: CallTracing;
  /**
   * Runs the work as part of the trace that the headers of a request name. If they name none, the work starts a new
   * trace.
   */
  readonly inTrace: <T>(headers: Readonly<Record<string, unknown>>, work: () => T) => T;
}

/** Creates spans with `tracer`. Uses the context manager and the propagation that are registered in OpenTelemetry. */
export function createSpans(tracer: Tracer): Spans {
  return {
    tracing: {
      span: (operation, subject, attributes, work) => {
        const within = context.active();
        return tracer.startActiveSpan(`${operation} ${subject}`, optionsOf(operation, copied(attributes)), async (span) => {
          const fail = (type: string): void => failed(span, type);
          const set: Span['set'] = (more) => void span.setAttributes(copied(more));
          try {
            return await work({ set, fail, headers: () => headersOf(context.active()), trace: idsOf(span, within) });
          } catch (error) {
            // The message of the error may quote the conversation, so only its name is used.
            fail(error instanceof Error ? error.name : 'unknown');
            throw error;
          } finally {
            span.end();
          }
        });
      },
    },
    calls: {
      begin: (tool, headers) => {
        const parent = propagation.extract(ROOT_CONTEXT, headers);
        const attributes = { 'gen_ai.tool.name': tool, 'gen_ai.tool.type': 'function' };
        const span = tracer.startSpan(`execute_tool ${tool}`, optionsOf('execute_tool', attributes), parent);
        return callSpan(span, parent);
      },
    },
    inTrace: (headers, work) => context.with(propagation.extract(ROOT_CONTEXT, headers), work),
  };
}

function callSpan(span: ApiSpan, parent: Context): CallSpan {
  const within = trace.setSpan(parent, span);
  let isOver = false;
  const end = (outcome?: CallOutcome): void => {
    if (isOver) return;
    isOver = true;
    if (outcome !== undefined) span.setAttribute('tollgate.output', outcome.action);
    if (outcome?.isError === true) failed(span, 'tool_error');
    span.end();
  };
  return {
    decided: (verdict, run) => {
      const { allowed, requestId, decision } = verdict;
      const { agent, revision } = (verdict.allowed ? verdict : run).decidedBy;
      span.setAttributes({
        'tollgate.decision': decision.decision,
        'tollgate.code': decision.code,
        'tollgate.layer': layerOf(decision),
        'tollgate.revision': revision,
        // Links the span to its entries in the audit log.
        'tollgate.request_id': requestId,
        ...(agent === '' ? {} : { 'gen_ai.agent.name': agent }),
      });
      if (allowed) return;
      failed(span, decision.code);
      end();
    },
    headers: () => headersOf(within),
    trace: idsOf(span, parent),
    end,
  };
}

/**
 * Returns the ids of the span if it is sampled. A span that is not sampled does not reach a collector. In that case,
 * returns the ids of the remote caller's span, which a collector may have. Null: there are no ids.
 */
function idsOf(span: ApiSpan, parent: Context): TraceIds | null {
  const around = trace.getSpanContext(parent);
  const found = span.isRecording() ? span.spanContext() : around?.isRemote === true ? around : undefined;
  if (found === undefined || !isSpanContextValid(found)) return null;
  return { traceId: found.traceId, spanId: found.spanId };
}

const failed = (span: ApiSpan, type: string): void => void span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });

const optionsOf = (operation: Operation, attributes: Attributes): { readonly kind: SpanKind; readonly attributes: Attributes } => ({
  kind: kinds[operation],
  attributes: { 'gen_ai.operation.name': operation, ...attributes },
});

const kinds: Readonly<Record<Operation, SpanKind>> = {
  invoke_agent: SpanKind.INTERNAL,
  chat: SpanKind.CLIENT,
  execute_tool: SpanKind.INTERNAL,
};

function headersOf(within: Context): TraceHeaders {
  const headers: Record<string, string> = {};
  propagation.inject(within, headers);
  // Baggage is not forwarded: it may contain data that is for Tollgate and not for a tool server.
  const { traceparent, tracestate } = headers;
  return { ...(traceparent === undefined ? {} : { traceparent }), ...(tracestate === undefined ? {} : { tracestate }) };
}

const copied = (attributes: Parameters<Span['set']>[0]): Attributes =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]));
