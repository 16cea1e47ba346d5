// A relay on loopback between sidecars and the control plane that can be cut, so that a call is measured without the
// delivery of its entry. Called by surroundings.ts. Once cut, it accepts connections and sends nothing on them: retries
// are then rarer than after refused connections.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

export interface Relay {
  readonly port: number;
  /** Ends all connections; later ones get no answer. */
  cut(): void;
  close(): Promise<void>;
}

export async function openRelay(targetPort: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) {
      sockets.add(from.on('error', () => undefined).resume());
      return;
    }
    const to = connect(targetPort, '127.0.0.1');
    for (const [one, other] of [[from, to] as const, [to, from] as const]) {
      sockets.add(one);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      // `close` notifies the other end.
      one.on('error', () => undefined);
      one.pipe(other);
    }
  });
  const port = await listen(server);
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port,
    cut() {
      isCut = true;
      destroyAll();
    },
    async close() {
      isCut = true;
      const closed = once(server, 'close');
      server.close();
      destroyAll();
      await closed;
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return address.port;
}

/** A port that was free a moment before. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}
