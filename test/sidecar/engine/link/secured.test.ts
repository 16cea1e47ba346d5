// Streams over TLS with certificates on both sides, against a real gRPC server: the effect of changed linkCredentials
// on open streams and on later ones.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ServerCredentials, type ServiceError } from '@grpc/grpc-js';
import { createPolicyClient } from '@tollgate/proto';
import { expect, onTestFinished, test } from 'vitest';
import { createCredentialsCell, type Material } from '../../../../sidecar/engine/link/tls/credentials.ts';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { type Authority, issue, makeAuthority } from '../../../support/authorities.ts';
import { type PolicyServer, startPolicyServer } from '../../../support/policy-server.ts';

const authority = makeAuthority('one');
const names = ['localhost', '127.0.0.1'];

async function serve({ by = authority, named = names }: { readonly by?: Authority; readonly named?: readonly string[] } = {}) {
  const { certificate, key } = issue(by, { names: named });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  return startPolicyServer({ credentials: ServerCredentials.createSsl(Buffer.from(authority.certificate), [pair], true) });
}

const materialOf = (own: Material['own'], authorities = authority.certificate): Material => ({ authorities, own });

function connect(server: Pick<PolicyServer, 'address'>, held: Material | null, shows = true) {
  const cell = createCredentialsCell(shows);
  if (held !== null) cell.take(held);
  const channel = createChannel({ controlPlane: server.address, key: 'gsk_acme_x', plaintext: true, linkCredentials: cell.credentials });
  /** Opens a stream on a separate connection, as sidecars do. */
  const open = () => {
    const client = createPolicyClient(channel.address, channel.credentials(), { ...channel.options, 'grpc.use_local_subchannel_pool': 1 });
    const stream = client.sync(channel.metadata());
    const ended = new Promise<string>((done) => stream.on('error', ({ details }: ServiceError) => done(details)));
    stream.write({ hello: { sidecarId: 'sidecar-1' } });
    const close = (): void => {
      stream.cancel();
      client.close();
    };
    onTestFinished(close);
    return { stream, ended, close };
  };
  return { cell, open };
}

const printOf = ({ certificate }: { readonly certificate: string }): string => new X509Certificate(certificate).fingerprint256;

test('an open stream continues over a change of certificate, and the next one shows the new certificate', async () => {
  const server = await serve();
  const [first, second] = [issue(authority), issue(authority)];
  const { cell, open } = connect(server, materialOf(first));
  const { stream } = open();
  const before = await server.accept();
  cell.take(materialOf(second));
  open();
  const after = await server.accept();
  expect([before.shown, after.shown]).toEqual([printOf(first), printOf(second)]);
  const heard = new Promise((done) => stream.on('data', done));
  before.send({ heartbeat: {} });
  await expect(heard).resolves.toMatchObject({ message: 'heartbeat' });
});

test('a stream that is opened before there is a certificate waits for it', async () => {
  const server = await serve();
  const { cell, open } = connect(server, null);
  open();
  const own = issue(authority);
  cell.take(materialOf(own));
  expect((await server.accept()).shown).toBe(printOf(own));
});

test('a stream that was closed before there was a certificate does not connect when there is one', async () => {
  const server = await serve();
  const counter = await countConnections(server);
  const { cell, open } = connect(counter, null);
  const givenUp = Array.from({ length: 5 }, open);
  // Until they wait: an address is resolved in a turn of the event loop.
  await setImmediate();
  for (const { close } of givenUp) close();
  await Promise.all(givenUp.map(({ ended }) => ended));
  open();
  cell.take(materialOf(issue(authority)));
  await server.accept();
  expect(counter.count()).toBe(1);
});

/** A proxy to that server which counts the connections. */
async function countConnections({ address }: PolicyServer) {
  let count = 0;
  const [host = '', port = ''] = address.split(':');
  const way = createServer((socket) => {
    count += 1;
    const onward = createConnection(Number(port), host);
    socket.pipe(onward).pipe(socket);
    for (const one of [socket, onward]) one.on('error', () => one.destroy());
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  onTestFinished(() => void way.close());
  const bound = way.address();
  return { address: `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`, count: () => count };
}

test('a control plane of another authority is not connected to', async () => {
  const server = await serve({ by: makeAuthority('one') });
  const { open } = connect(server, materialOf(issue(authority)));
  await expect(open().ended).resolves.toMatch(/unable to verify|self-signed|signature/);
});

test('a control plane of another name is not connected to', async () => {
  const server = await serve({ named: ['elsewhere.example', '10.0.0.1'] });
  const { open } = connect(server, materialOf(issue(authority)));
  await expect(open().ended).resolves.toContain("not in the cert's list");
});

test('the next connection trusts the authorities that were set last', async () => {
  const next = makeAuthority('next');
  const server = await serve({ by: next });
  const own = issue(authority);
  const { cell, open } = connect(server, materialOf(own));
  await open().ended;
  cell.take(materialOf(own, `${authority.certificate}${next.certificate}`));
  open();
  expect((await server.accept()).shown).toBe(printOf(own));
});

test.each([
  ['that has expired', () => issue(authority, { until: new Date(Date.now() - 60_000) })],
  ['of another authority', () => issue(makeAuthority('one'))],
])('a certificate %s is rejected, and a good one in its place is not', async (_, bad) => {
  const server = await serve();
  const { cell, open } = connect(server, materialOf(bad()));
  await expect(open().ended).resolves.toMatch(/No connection established|ECONNRESET|closed|alert/);
  const own = issue(authority);
  cell.take(materialOf(own));
  open();
  expect((await server.accept()).shown).toBe(printOf(own));
});

test('with authorities alone the control plane is checked, on loopback too, and no certificate is shown', async () => {
  const { certificate, key } = issue(authority, { names });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const server = await startPolicyServer({ credentials: ServerCredentials.createSsl(null, [pair], false) });
  const { open } = connect(server, materialOf(null), false);
  open();
  expect((await server.accept()).shown).toBeNull();
  const foreign = connect(server, materialOf(null, makeAuthority('one').certificate), false);
  await expect(foreign.open().ended).resolves.toMatch(/unable to verify|self-signed|signature/);
});
