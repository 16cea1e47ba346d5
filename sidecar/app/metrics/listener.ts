// Serves `GET /metrics` on addresses beyond loopback, for a Prometheus that cannot reach the port for agents. The
// metrics hold no secret. All other requests get 404.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

export interface MetricsListener {
  readonly port: number;
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;
/** Only a few clients scrape. */
const connectionsMax = 50;

/** Listens on all interfaces, with IPv6 and IPv4 if this machine has both. Rejects if the port is in use. */
export async function listenForMetrics(registry: Pick<Registry, 'contentType' | 'metrics'>, port: number): Promise<MetricsListener> {
  const answer = answering(registry);
  const server = await listen(answer, port, '::').catch((error: unknown) => {
    if (!hasNoIpv6(error)) throw error;
    return listen(answer, port, '0.0.0.0');
  });
  const address = server.address();
  return {
    port: isAddressInfo(address) ? address.port : port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const isAddressInfo = (address: AddressInfo | string | null): address is AddressInfo => typeof address === 'object' && address !== null;

const hasNoIpv6 = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes(String(error.code));

async function listen(answer: RequestListener, port: number, host: string): Promise<Server> {
  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs / 2, connectionsCheckingInterval: 1_000 },
    answer,
  );
  server.maxConnections = connectionsMax;
  server.listen({ port, host });
  await once(server, 'listening');
  return server;
}

const answering =
  (registry: Pick<Registry, 'contentType' | 'metrics'>): RequestListener =>
  ({ method, url = '' }, response) => {
    // The body of this request is not read, so the connection is closed.
    if (method !== 'GET' || url.split('?')[0] !== '/metrics') return void response.writeHead(404, { connection: 'close' }).end();
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
