// A TCP port in front of one of several others. Turned to another one, it cuts what is open, so that a program that
// holds a connection moves as if its address had been given to another machine.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Forwarder = Awaited<ReturnType<typeof startForwarder>>;

/** `to`: `host:port`. */
export async function startForwarder(to: string) {
  let target = new URL(`tcp://${to}`);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
  });
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    turnTo: (next: string): void => {
      target = new URL(`tcp://${next}`);
      cut();
    },
    close: async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
