// Spans of runs by the conventions of OpenTelemetry for generative AI: which agent, model and tool, how many tokens, how it ended. What
// was said, sent or answered stands in none of them.
import { type Attributes, context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { Operation, Span, Tracing } from '../runs/tracing.ts';

export interface Telemetry {
  readonly tracing: Tracing;
  /** Does the work as part of the trace that the headers of a request name; of a new one where they name none. */
  readonly inTrace: <T>(headers: Readonly<Record<string, unknown>>, work: () => T) => T;
}

/** Uses the context manager and the propagation that were registered. */
export function createTelemetry(tracer: Tracer): Telemetry {
  return {
    tracing: {
      span: (operation, subject, attributes, work) =>
        tracer.startActiveSpan(
          `${operation} ${subject}`,
          { kind: kinds[operation], attributes: { 'gen_ai.operation.name': operation, ...copied(attributes) } },
          async (span) => {
            const fail = (type: string): void => void span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
            try {
              return await work({ set: (more) => void span.setAttributes(copied(more)), fail, headers: traceHeaders });
            } catch (error) {
              // Its message may quote what was said.
              fail(error instanceof Error ? error.name : 'unknown');
              throw error;
            } finally {
              span.end();
            }
          },
        ),
    },
    inTrace: (headers, work) => context.with(propagation.extract(ROOT_CONTEXT, headers), work),
  };
}

const kinds: Readonly<Record<Operation, SpanKind>> = {
  invoke_agent: SpanKind.INTERNAL,
  chat: SpanKind.CLIENT,
  execute_tool: SpanKind.INTERNAL,
};

function traceHeaders(): ReturnType<Span['headers']> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  // Baggage may hold what the caller would tell us, and no tool server.
  const { traceparent, tracestate } = headers;
  return { ...(traceparent === undefined ? {} : { traceparent }), ...(tracestate === undefined ? {} : { tracestate }) };
}

const copied = (attributes: Parameters<Span['set']>[0]): Attributes =>
  Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]));
