// Connections of the gRPC server over real sockets. A client without a key must not use up the server for others, and
// its connection is closed soon.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, constants, type Settings } from 'node:http2';
import { connect } from 'node:net';
import { AppError, policyNeeds } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { holderSecret } from '../support/lease-names.ts';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import { type ConnectionBounds, connectionBounds } from '../../control-plane/grpc/connections.ts';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';
import { startGrpcServer } from '../../control-plane/grpc/server.ts';
import { createStreamSeats } from '../../control-plane/grpc/stream-seats.ts';
import { makeAuthority, makeClient, makeServer } from '../../control-plane/certificates/x509/certificate.ts';
import { createChannel } from '../../sidecar/engine/link/channel.ts';
import { openQuotaStream } from '../../sidecar/engine/link/quota-stream.ts';

const good = 'Bearer good';
const actor = { workspaceId: 1, slug: 'acme', scopes: ['sidecar.sync'] } as unknown as Actor;

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };

/** An authority, the certificate that it gave the server, and what a client presents. */
function makeTls() {
  const authority = makeAuthority('test', validity);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { certificate, key } = makeServer(authority, { dnsNames: ['localhost'], validity });
  return {
    source: { current: { certificate, key, authorities: [authority.certificate] }, onChange: () => () => undefined },
    client: {
      servername: 'localhost',
      ca: authority.certificate,
      cert: makeClient(authority, { publicKey, uri: 'tollgate://workspace/acme/key/k', validity }),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    },
  };
}

type Tls = ReturnType<typeof makeTls>;

async function serve(bounds: Partial<ConnectionBounds>, tls: Tls | null = null) {
  const registry = new Registry();
  const lines: object[] = [];
  const notCalled = (): never => {
    throw new Error('this function must not be called');
  };
  const server = await startGrpcServer(
    {
      publisher: { follow: notCalled, live: () => null } as never,
      needs: policyNeeds,
      roster: { enters: notCalled },
      wallTime: Date.now,
      random: () => 0.5,
      metrics: createGrpcMetrics(registry),
      log: { info: () => undefined, warn: (fields) => void lines.push(fields) },
      authenticate: async (header) => {
        if (header !== good) throw new AppError({ code: 'unauthenticated', publicMessage: 'no' });
        return actor;
      },
      stillStands: async () => actor,
      ingest: notCalled,
      ledger: { open: notCalled },
      approvalLedger: { open: notCalled, openLocal: notCalled },
      seats: createStreamSeats({ ofWorkspace: 10, ofKey: 10 }),
    },
    {
      host: '127.0.0.1',
      port: 0,
      bounds: { ...connectionBounds, ...bounds },
      tls: tls === null ? null : { source: tls.source, connectionMs: 3_600_000, graceMs: 1_000 },
    },
  );
  onTestFinished(() => server.close());
  const metric = async (name: string): Promise<string> =>
    (await registry.getSingleMetricAsString(name))
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .join('\n');
  return { port: server.port, close: () => server.close(), lines, metric };
}

/** Opens a connection that sends nothing. `served`: the server began to talk to it. */
function open(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  socket.on('error', () => undefined);
  const ended = new Promise((done) => socket.once('close', done));
  const served = Promise.race([once(socket, 'data').then(() => true), ended.then(() => false)]);
  onTestFinished(() => void socket.destroy());
  return { socket, ended, served };
}

/** Opens a connection with a policy stream, which stays open where the key is good. */
async function openStream(port: number, authorization: string, tls: Tls | null = null) {
  const session = connectHttp2(`http${tls === null ? '' : 's'}://127.0.0.1:${port}`, tls?.client ?? {}).on('error', () => undefined);
  onTestFinished(() => session.destroy());
  const ended = new Promise((done) => session.once('close', done));
  const [settings] = await once(session, 'remoteSettings');
  const headers = { ':method': 'POST', ':path': '/tollgate.v1.PolicyService/Sync', te: 'trailers', 'content-type': 'application/grpc' };
  const stream = session.request({ ...headers, authorization }).on('error', () => undefined);
  return { session, stream, ended, settings: settings as Settings };
}

/** Returns whether this many connections are served at the same time. */
const areServed = async (port: number, count: number): Promise<boolean> => {
  const withoutKey = Array.from({ length: count }, () => open(port));
  const served = await Promise.all(withoutKey.map((one) => one.served));
  for (const { socket } of withoutKey) socket.destroy();
  return served.every((one) => one);
};

test('connections without a good key are bounded for each network and for all networks together', async () => {
  const { port, lines, metric } = await serve({ withoutKey: 3, withoutKeyOfNetwork: 2 });
  const [first] = [open(port), open(port)];
  await expect.poll(() => metric('tollgate_grpc_connections')).toBe('tollgate_grpc_connections 2');
  expect(await open(port).served).toBe(false);
  expect(await open(port, '127.0.0.2').served).toBe(true);
  expect(await open(port, '127.0.0.3').served).toBe(false);
  expect(lines).toEqual([{ why: 'network', network: '127.0.0.1', refused: 1 }]);
  expect(await metric('tollgate_grpc_connections_refused_total')).toBe(
    'tollgate_grpc_connections_refused_total{why="network"} 1\ntollgate_grpc_connections_refused_total{why="strangers"} 1',
  );
  first?.socket.destroy();
  await expect.poll(() => open(port).served).toBe(true);
});

test('a connection no longer counts as one without a key after one of its streams was admitted', async () => {
  const { port } = await serve({ withoutKey: 2 });
  const { session } = await openStream(port, good);
  await expect.poll(() => areServed(port, 2)).toBe(true);
  expect(session.destroyed).toBe(false);
});

test('the number of all connections is bounded, with or without a good key', async () => {
  const { port, lines } = await serve({ all: 2, withoutKey: 2 });
  await openStream(port, good);
  expect(await open(port).served).toBe(true);
  expect(await open(port).served).toBe(false);
  expect(lines).toEqual([{ why: 'connections', network: '127.0.0.1', refused: 1 }]);
});

test.each([
  ['in plain text', () => null],
  ['over TLS', makeTls],
])('%s, a connection that shows no good key in time is always closed; with a good key it stays as long as its stream', async (_, make) => {
  const tls = make();
  const { port, lines, metric } = await serve({ uselessMs: 300 }, tls);
  const kept = await openStream(port, good, tls);
  const silent = open(port);
  const wrong = await openStream(port, 'Bearer wrong', tls);
  await Promise.all([silent.ended, wrong.ended]);
  expect(lines).toEqual([{ why: 'no_key', network: '127.0.0.1', refused: 1 }]);
  expect(await metric('tollgate_grpc_connections_refused_total')).toBe('tollgate_grpc_connections_refused_total{why="no_key"} 2');
  expect(kept.session.destroyed).toBe(false);
  kept.stream.close(constants.NGHTTP2_CANCEL);
  await kept.ended;
  expect(await metric('tollgate_grpc_connections_refused_total')).toBe('tollgate_grpc_connections_refused_total{why="no_key"} 2');
  await expect.poll(() => metric('tollgate_grpc_connections')).toBe('tollgate_grpc_connections 0');
});

test('a connection has at most a hundred streams', async () => {
  const { port } = await serve({});
  expect((await openStream(port, 'Bearer wrong')).settings.maxConcurrentStreams).toBe(100);
});

test('a sidecar whose key is rejected closes its connection, which does not count as closed by the server', async () => {
  const { port, metric } = await serve({ uselessMs: 60_000 });
  const channel = createChannel({ controlPlane: `127.0.0.1:${port}`, key: 'wrong', plaintext: true, linkCredentials: null });
  const lost = new Promise((done) =>
    openQuotaStream(channel, { sidecarId: 's', holderSecret: holderSecret('b') })({
      opened: () => undefined,
      lost: (_, barred) => done(barred),
      recalled: () => undefined,
    }),
  );
  expect(await lost).toBe(true);
  await expect.poll(() => metric('tollgate_grpc_connections')).toBe('tollgate_grpc_connections 0');
  expect(await metric('tollgate_grpc_connections_refused_total')).toBe('');
});

test.each([
  ['in plain text', () => null],
  ['over TLS', makeTls],
])('%s, a silent connection does not delay a server that stops', async (_, make) => {
  const { port, close, metric } = await serve({ uselessMs: 60_000 }, make());
  const silent = open(port);
  await expect.poll(() => metric('tollgate_grpc_connections')).toBe('tollgate_grpc_connections 1');
  await close();
  await silent.ended;
  await expect.poll(() => metric('tollgate_grpc_connections')).toBe('tollgate_grpc_connections 0');
});
