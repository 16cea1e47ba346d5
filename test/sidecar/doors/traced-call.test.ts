import { expect, test } from 'vitest';
import { traceNamedBy, traceOfCall } from '../../../sidecar/doors/traced-call.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const ids = { traceId, spanId };

test.each([
  `00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-00`,
  `cc-${traceId}-${spanId}-01`,
  `cc-${traceId}-${spanId}-01-what.the-future`,
])('%s names a trace, sampled or not, in any version', (traceparent) => expect(traceNamedBy({ traceparent })).toEqual(ids));

test.each([
  ['nothing', undefined],
  ['no text', [`00-${traceId}-${spanId}-01`]],
  ['two, as Node joins what stands twice', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ['no flags', `00-${traceId}-${spanId}`],
  ['more than its version has', `00-${traceId}-${spanId}-01-more`],
  ['the version that is none', `ff-${traceId}-${spanId}-01`],
  ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['what would end the text of an entry', `00-${traceId}-${spanId.slice(0, 14)}",-01`],
])('%s names no trace', (_what, traceparent) => expect(traceNamedBy({ traceparent })).toBeNull());

test("an existing span takes precedence over the caller's trace, even if it was not sampled", () => {
  const headers = { traceparent: `00-${traceId}-${spanId}-01` };
  const span = { decided: () => undefined, headers: () => ({}), end: () => undefined };
  expect(traceOfCall(undefined, headers)).toEqual(ids);
  expect(traceOfCall({ ...span, trace: { traceId, spanId: 'c'.repeat(16) } }, headers)).toEqual({ traceId, spanId: 'c'.repeat(16) });
  expect(traceOfCall({ ...span, trace: null }, headers)).toBeNull();
});
