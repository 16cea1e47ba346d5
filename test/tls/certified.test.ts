// Which subject a client's certificate names.
import { expect, test } from 'vitest';
import { type CertifiedPeer, certificateProblem, parseUri, uriOf } from '../../control-plane/access/rules/certified.ts';

const ofKey: CertifiedPeer = { kind: 'key', workspace: 'acme', keyId: '01J8Z0-x_y' };
const ofPod: CertifiedPeer = { kind: 'pod', namespace: 'agents', serviceAccount: 'runner.v1', pod: 'app-0' };

test('a name is read as it was written', () => {
  for (const one of [ofKey, ofPod]) expect(parseUri(uriOf(one))).toEqual(one);
});

test.each([
  { ...ofKey, workspace: 'acme/key/x' },
  { ...ofKey, keyId: 'a, URI:tollgate://workspace/other/key/b' },
  { ...ofKey, keyId: '' },
  { ...ofPod, namespace: 'a/sa/b' },
  { ...ofPod, pod: '' },
] as const)('an invalid name is never written into a certificate: %j', (one) => {
  expect(() => uriOf(one)).toThrow();
});

test.each([
  ['of the workspace', `URI:${uriOf(ofKey)}`, true],
  ['of another', 'URI:tollgate://workspace/other/key/a', false],
  ['of both', `URI:${uriOf(ofKey)}, URI:tollgate://workspace/other/key/a`, false],
  ['of a workspace whose name begins alike', 'URI:tollgate://workspace/acme-2/key/a', false],
  ['of a pod', `URI:${uriOf(ofPod)}`, true],
  ['of another key', 'DNS:app, URI:spiffe://cluster.local/ns/agents/sa/default', true],
  ['without a name', '', true],
  ['of a form that we do not know', 'URI:tollgate://workspace/acme', false],
  ['in quotes, as Node writes what could be several', 'URI:"tollgate://workspace/other/key/a, URI:x"', false],
] as const)('a certificate %s', (_, names, isGood) => {
  expect(certificateProblem(names, 'acme') === null).toBe(isGood);
});
