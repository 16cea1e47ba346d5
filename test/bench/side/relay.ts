// A TCP relay on loopback that simulates a network: data arrives later, in order. The delay is that of a round trip,
// half of it in each direction.
import { connect, createServer, type Socket } from 'node:net';
import type { Closing } from './stage.ts';

/** Returns the address to connect to in place of `target` (`host:port`). */
export async function startRelay(target: string, roundTripMs: number, closing: Closing): Promise<string> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  const there = Math.floor(roundTripMs / 2);
  const server = createServer((inner) => {
    const outer = connect({ host, port: Number(port), noDelay: true });
    inner.setNoDelay(true);
    passOn(inner, outer, there);
    passOn(outer, inner, roundTripMs - there);
    for (const socket of [inner, outer]) sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.add(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return `127.0.0.1:${address.port}`;
}

/** Timers of one delay fire in the order in which they were set. */
function passOn(from: Socket, to: Socket, ms: number): void {
  const later = (work: () => void): void => void (ms === 0 ? work() : setTimeout(work, ms));
  from.on('data', (bytes) => later(() => void (to.writable && to.write(bytes))));
  from.on('end', () => later(() => void to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => later(() => void to.destroy()));
}
