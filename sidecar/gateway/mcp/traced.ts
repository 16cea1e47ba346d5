// What a tool server hears of the trace that a call is part of: over HTTP by headers, and always by `_meta`, whose names for it are
// the protocol's; a program has nothing else to hear it by.
import type { Permit } from '../../govern/verdict.ts';
import type { CallSpan, TraceHeaders } from '../../telemetry/tracing.ts';
import type { Prepared } from './pending.ts';
import { isFields } from './wire/message.ts';

type Redacting = { readonly decision: Pick<Permit['decision'], 'transform'> };

export const traceOf = (permit: Redacting, span: CallSpan | undefined): Pick<Prepared, 'trace'> =>
  span === undefined ? {} : { trace: traceHeaders(permit, span) };

/** In the place of what the client said of a trace. */
export function tracedMeta(meta: unknown, permit: Redacting, span: CallSpan): object {
  const { traceparent: _, tracestate: _state, ...others } = isFields(meta) ? meta : {};
  return { ...others, ...traceHeaders(permit, span) };
}

/** Of the state that callers add to a trace nothing goes on where policy redacts: it may say what it likes. */
function traceHeaders({ decision }: Redacting, span: CallSpan): TraceHeaders {
  const { traceparent, ...state } = span.headers();
  return { ...(decision.transform === 'redact' ? {} : state), ...(traceparent === undefined ? {} : { traceparent }) };
}
