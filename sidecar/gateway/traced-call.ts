// Which trace a call is part of, for its entries: by the span that was made for it, or where calls are not traced here by what its
// caller says. What a caller says wrongly names none.
import type { TraceIds } from '@tollgate/proto/contract';
import type { CallSpan } from '../telemetry/tracing.ts';

type Headers = Readonly<Record<string, unknown>>;

export const traceOfCall = (span: CallSpan | undefined, headers: Headers): TraceIds | null =>
  span === undefined ? traceNamedBy(headers) : span.trace;

// https://www.w3.org/TR/trace-context/#traceparent-header: versions after 00 may add to it, and ff is none.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Of a request, their names in lower case, or of `_meta`. */
export function traceNamedBy({ traceparent }: Headers): TraceIds | null {
  if (typeof traceparent !== 'string') return null;
  const [, traceId, spanId, more] = form.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || (more !== undefined && traceparent.startsWith('00'))) return null;
  return { traceId, spanId };
}
