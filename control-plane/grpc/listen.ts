// Listens on every address of a host name, as grpc-js does, and passes each new connection to `accept`.
import { lookup } from 'node:dns/promises';
import { createServer, isIP, type Server, type Socket } from 'node:net';

interface GrpcListener {
  readonly port: number;
  /** Accepts no more connections; existing ones stay open. */
  readonly close: () => void;
}

interface ConnectionHandler {
  readonly accept: (socket: Socket) => void;
  /** Called for errors after the start. */
  readonly failed: (error: Error) => void;
}

/** Some of the addresses can be missing on this machine. Port 0 results in the same port for all addresses. */
export async function listenEverywhere(host: string, port: number, accepting: ConnectionHandler): Promise<GrpcListener> {
  const addresses = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  const servers: Server[] = [];
  const close = (): void => {
    for (const server of servers) server.close();
  };
  let absent: unknown = null;
  for (const address of new Set(addresses)) {
    try {
      servers.push(await listen(address, portOf(servers[0]) ?? port, accepting));
    } catch (error) {
      if (!isAbsent(error)) {
        close();
        throw error;
      }
      absent = error;
    }
  }
  if (servers.length === 0) throw absent ?? new Error(`the host name ${host} has no IP address`);
  return { port: portOf(servers[0]) ?? port, close };
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT');

async function listen(address: string, port: number, { accept, failed }: ConnectionHandler): Promise<Server> {
  const server = createServer(accept);
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(port, address, () => {
      server.off('error', fail);
      done();
    });
  });
  server.on('error', failed);
  return server;
}

function portOf(server: Server | undefined): number | null {
  const address = server?.address() ?? null;
  return address === null || typeof address === 'string' ? null : address.port;
}
