// Provides the gRPC endpoint for other gateways, Envoy (ext_authz) and agentgateway (ExtMcp), on its own port. The
// gateways normally run on the same machine. Therefore connections are not encrypted, and the port is bound to loopback
// if the operator does not configure another address.
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { authorizationService, extMcpService } from '@tollgate/proto/mesh';
import { type ExtAuthzDeps, extAuthz } from './ext-authz.ts';
import { extMcp } from './ext-mcp.ts';

interface Address {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface Mesh {
  /** The bound address, as `host:port`. */
  readonly address: string;
  /** Answers the requests in progress and then ends. Open calls are cut off after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

// A result may have any size. If it exceeds our limits, it must be denied and must not fail as an error of the
// connection. So this limit is high.
const messageBytesMax = 16 * 1024 * 1024;

/** Starts the endpoint. Rejects if the address cannot be bound. */
export async function startMesh(deps: ExtAuthzDeps, { host, port }: Address): Promise<Mesh> {
  const server = new Server({ 'grpc.max_receive_message_length': messageBytesMax, 'grpc.max_send_message_length': messageBytesMax });
  server.addService(authorizationService, { ...extAuthz(deps) });
  server.addService(extMcpService, { ...extMcp(deps) });
  const name = host.includes(':') ? `[${host}]` : host;
  const bound = await new Promise<number>((done, fail) => {
    server.bindAsync(`${name}:${port}`, ServerCredentials.createInsecure(), (error, found) => (error === null ? done(found) : fail(error)));
  });
  return {
    address: `${name}:${bound}`,
    close: (drainMs) =>
      new Promise((done) => {
        const timer = setTimeout(() => server.forceShutdown(), drainMs);
        server.tryShutdown(() => {
          clearTimeout(timer);
          done();
        });
      }),
  };
}
