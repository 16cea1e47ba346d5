// The Kubernetes API over TLS, for a pod that runs longer than the cluster keeps its authority.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createKubernetes } from '../../control-plane/injector/kubernetes-api.ts';
import { makeAuthority, makeServer } from '../../control-plane/certificates/x509/certificate.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };

test('a replaced authority of the cluster is trusted from the next connection on, and only then', async () => {
  const [before, after] = [makeAuthority('before', validity), makeAuthority('after', validity)];
  const { certificate: cert, key } = makeServer(after, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], validity });
  let told = 0;
  const server = createServer({ cert, key }, (_request, response) => {
    told += 1;
    response.end('{}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
  const [tokenFile, caFile] = [join(folder, 'token'), join(folder, 'ca.crt')];
  writeFileSync(tokenFile, 'token');
  writeFileSync(caFile, before.certificate);
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const kubernetes = createKubernetes({ url: `https://127.0.0.1:${port}`, tokenFile, caFile, namespace: 'tollgate' });
  onTestFinished(async () => {
    await kubernetes.close();
    await new Promise((done) => server.close(done));
    rmSync(folder, { recursive: true });
  });
  await expect(kubernetes.ask('GET', '/api')).rejects.toThrow(/certificate/);
  expect(told).toBe(0);
  writeFileSync(caFile, after.certificate);
  expect(await kubernetes.ask('GET', '/api')).toEqual({ status: 200, body: {} });
});
