// Passes the trace of a call to its tool server: in headers over HTTP, and always in `_meta`, with the protocol's
// names. A program can receive it only in `_meta`.
import type { Permit } from '../../../engine/govern/verdict.ts';
import type { CallSpan, TraceHeaders } from '../../../telemetry/tracing.ts';
import type { Prepared } from './pending.ts';
import { isFields } from '../../../upstream/wire/message.ts';

type Redacting = { readonly decision: Pick<Permit['decision'], 'transform'> };

export const traceOf = (permit: Redacting, span: CallSpan | undefined): Pick<Prepared, 'trace'> =>
  span === undefined ? {} : { trace: traceHeaders(permit, span) };

/** Replaces the client's own trace data. */
export function tracedMeta(meta: unknown, permit: Redacting, span: CallSpan): object {
  const { traceparent: _, tracestate: _state, ...others } = isFields(meta) ? meta : {};
  return { ...others, ...traceHeaders(permit, span) };
}

/** If the policy redacts, the trace state is not forwarded, because callers can put any text into it. */
function traceHeaders({ decision }: Redacting, span: CallSpan): TraceHeaders {
  const { traceparent, ...state } = span.headers();
  return { ...(decision.transform === 'redact' ? {} : state), ...(traceparent === undefined ? {} : { traceparent }) };
}
