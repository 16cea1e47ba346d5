import { expect, test } from 'vitest';
import { explainLink } from '../../../../sidecar/engine/link/explain.ts';

test.each([
  [
    'Last error: 80:error:0A:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps:1601:SSL alert number 116\n',
    /^the control plane requires a certificate of this sidecar: .* \(Last error: .* 116\)$/,
  ],
  [
    'Last error: Error: unable to verify the first certificate',
    /^the certificate of the control plane was not issued by an authority that this sidecar trusts/,
  ],
  ['ssl3_get_record:wrong version number', /^this port of the control plane uses plain text/],
  ['No connection established. Last error: Failed to connect (2026-11-22T04:46:55.642Z). Resolution note: ', /it may require TLS/],
  ['connect ECONNREFUSED 127.0.0.1:1', /^connect ECONNREFUSED 127\.0\.0\.1:1$/],
])('%j', (problem, words) => {
  expect(explainLink(problem)).toMatch(words);
});
