// Checks the form of issued certificates with OpenSSL and Node.
import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority, makeClient, makeServer } from '../../control-plane/certificates/x509/certificate.ts';
import { ipOctets } from '../../control-plane/certificates/x509/ip-octets.ts';
import { needs } from '../support/installed.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('Tollgate 2026-01-01T00:00:00.000Z', validity);
const uri = 'tollgate://cluster/ns/agents/sa/default/pod/app-6d4cf56db6-x2x9k';

function verify(certificate: string, ...words: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ca.pem'), authority.certificate);
  writeFileSync(join(folder, 'leaf.pem'), certificate);
  return execFileSync('openssl', ['verify', '-x509_strict', ...words, '-CAfile', 'ca.pem', 'leaf.pem'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

test("a client certificate is valid in OpenSSL's strict mode, for clients and for nothing else", needs('openssl'), () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = makeClient(authority, { publicKey, uri, validity });
  expect(verify(certificate, '-purpose', 'sslclient')).toContain('leaf.pem: OK');
  expect(() => verify(certificate, '-purpose', 'sslserver')).toThrow();
  const read = new X509Certificate(certificate);
  expect([read.subjectAltName, read.ca, read.checkPrivateKey(privateKey)]).toEqual([`URI:${uri}`, false, true]);
});

test('a server certificate is valid for its DNS names and addresses, of both families, and for no others', needs('openssl'), () => {
  const { certificate, key } = makeServer(authority, { dnsNames: ['tollgate.svc'], ipAddresses: ['10.1.2.3', 'fd00::1:0'], validity });
  expect(verify(certificate, '-purpose', 'sslserver', '-verify_hostname', 'tollgate.svc')).toContain('OK');
  for (const address of ['10.1.2.3', 'fd00::1:0', 'fd00:0:0:0:0:0:1:0']) expect(verify(certificate, '-verify_ip', address)).toContain('OK');
  expect(() => verify(certificate, '-verify_ip', '10.1.2.4')).toThrow();
  expect(() => verify(certificate, '-purpose', 'sslclient')).toThrow();
  const only = makeServer(authority, { dnsNames: [], ipAddresses: ['::1'], validity });
  expect(new X509Certificate(only.certificate).checkIP('::1')).toBe('::1');
  expect(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))).toBe(true);
});

test.each([
  ['1.2.3.4', '01020304'],
  ['::', '00'.repeat(16)],
  ['::1', `${'00'.repeat(15)}01`],
  ['2001:db8::ff00:42:8329', '20010db8000000000000ff0000428329'],
  ['::ffff:1.2.3.4', '00000000000000000000ffff01020304'],
  ['fe80:0:0:0:1:2:3:4', 'fe800000000000000001000200030004'],
  ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
])('%s is written as %s', (address, hex) => {
  expect(ipOctets(address).toString('hex')).toBe(hex);
});

test('a text that is not an address is rejected', () => {
  for (const text of ['', 'tollgate', '1.2.3', '1.2.3.256', 'fe80::1%eth0']) expect(() => ipOctets(text)).toThrow();
});
