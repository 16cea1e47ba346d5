// A TCP port in front of a program or of PostgreSQL's socket, controlled by a test. It delays data, cuts open
// connections, freezes them (both ends see an open connection on which nothing arrives), or leads to another program
// from now on.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export type Gate = Awaited<ReturnType<typeof startGate>>;

/** Data that was read from one end and not yet written to the other; beyond this bound reading stops. */
const heldBytesMax = 1024 * 1024;

/** `to`: `host:port`, or the path of a Unix socket. */
export async function startGate(to: string) {
  let target = to;
  let delayMs = 0;
  let frozen: Promise<void> | null = null;
  let thaw = (): void => {};
  const open = new Set<Socket>();

  const pump = (from: Socket, into: Socket): void => {
    let passed = Promise.resolve();
    let held = 0;
    const pass = async (chunk: Buffer, dueAt: number): Promise<void> => {
      await frozen;
      const ms = dueAt - performance.now();
      if (ms > 0) await wait(ms);
      // The callback is also called where the socket is closed by then.
      await new Promise<void>((done) => into.write(chunk, () => done()));
      held -= chunk.length;
      if (held <= heldBytesMax && from.isPaused()) from.resume();
    };
    from.on('data', (chunk: Buffer) => {
      held += chunk.length;
      if (held > heldBytesMax) from.pause();
      const dueAt = performance.now() + delayMs;
      passed = passed.then(() => pass(chunk, dueAt));
    });
    from.on('error', () => {});
    from.on('close', () => {
      open.delete(from);
      // An end that closes while the gate is frozen is not noticed by the other end.
      passed = passed.then(() => frozen ?? undefined).then(() => into.destroySoon());
    });
  };
  const server = createServer((near) => {
    const far = connect(target.startsWith('/') ? { path: target } : portOf(target));
    open.add(near).add(far);
    pump(near, far);
    pump(far, near);
  });
  const cut = (): void => open.forEach((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const melt = (): void => {
    frozen = null;
    thaw();
  };
  return {
    address: `127.0.0.1:${port}`,
    cut,
    /** Nothing passes in either direction, and no connection is closed. */
    freeze: (): void => {
      melt();
      frozen = new Promise((done) => {
        thaw = done;
      });
    },
    thaw: melt,
    /** Every chunk takes this much longer, in either direction. */
    delay: (ms: number): void => {
      delayMs = ms;
    },
    /** Future connections lead to `next`; open connections stay. */
    leadTo: (next: string): void => {
      target = next;
    },
    /** As if the address had been assigned to another machine. */
    turnTo: (next: string): void => {
      target = next;
      cut();
    },
    close: async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      melt();
      cut();
      await closed;
    },
  };
}

function portOf(address: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`tcp://${address}`);
  return { host: hostname, port: Number(port) };
}
