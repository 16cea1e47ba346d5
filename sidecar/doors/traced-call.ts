// Determines the trace of a call, for its entries. The trace comes from the span made for the call, or from the
// caller's headers if calls are not traced here. An invalid header gives no trace.
import type { TraceIds } from '@tollgate/proto/contract';
import type { CallSpan } from '../telemetry/tracing.ts';

type Headers = Readonly<Record<string, unknown>>;

export const traceOfCall = (span: CallSpan | undefined, headers: Headers): TraceIds | null =>
  span === undefined ? traceNamedBy(headers) : span.trace;

// https://www.w3.org/TR/trace-context/#traceparent-header: versions after 00 may append fields, and version ff is
// invalid.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Returns the trace that the headers name. `headers` are request headers with names in lower case, or `_meta`. */
export function traceNamedBy({ traceparent }: Headers): TraceIds | null {
  if (typeof traceparent !== 'string') return null;
  const [, traceId, spanId, more] = form.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (more !== undefined && traceparent.startsWith('00'))) return null;
  return { traceId, spanId };
}
