// The door for other gateways, Envoy (ext_authz) and agentgateway (ExtMcp), over gRPC on a port of their
// own. They are other programs beside this one, so what they speak is plain text, and where they speak is loopback unless
// the operator says otherwise.
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { authorizationService, extMcpService } from '@tollgate/proto/mesh';
import { type ExtAuthzDeps, extAuthz } from './ext-authz.ts';
import { extMcp } from './ext-mcp.ts';

interface Address {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

export interface Mesh {
  /** `host:port`. */
  readonly address: string;
  /** Answers what was asked, then ends; cuts what is open after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

// A result may be of any size; what is out of our bounds is denied, and not lost as an error of the connection.
const messageBytesMax = 16 * 1024 * 1024;

/** Rejects where the address cannot be had. */
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
