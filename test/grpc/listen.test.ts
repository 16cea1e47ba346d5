import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { listenEverywhere } from '../../control-plane/grpc/listen.ts';

const failed = (error: Error): never => {
  throw error;
};

test('a server given a name listens on each address of the name that this machine has, all on one port', async () => {
  const came: (string | undefined)[] = [];
  const accept = (socket: Socket): void => {
    came.push(socket.localAddress);
    socket.end();
  };
  const { port, close } = await listenEverywhere('localhost', 0, { accept, failed });
  onTestFinished(close);
  const own = new Set(Object.values(networkInterfaces()).flatMap((of) => of?.map(({ address }) => address) ?? []));
  const addresses = [...new Set((await lookup('localhost', { all: true })).map(({ address }) => address))].filter((one) => own.has(one));
  expect(addresses).not.toEqual([]);
  for (const host of addresses) await once(connect({ host, port }).resume(), 'close');
  expect(came).toEqual(addresses);
});

test('an address of another machine is an error, and so is a port that is in use', async () => {
  // 192.0.2.0/24 is reserved for documentation and belongs to no machine.
  await expect(listenEverywhere('192.0.2.1', 0, { accept: () => undefined, failed })).rejects.toThrow('EADDRNOTAVAIL');
  const other = createServer();
  onTestFinished(() => void other.close());
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const address = other.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await expect(listenEverywhere('127.0.0.1', port, { accept: () => undefined, failed })).rejects.toThrow('EADDRINUSE');
});
