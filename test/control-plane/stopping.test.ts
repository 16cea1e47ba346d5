// How a control plane is stopped, and which connections it waits for.
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { watchConnections } from '../../control-plane/http/connections.ts';
import { listenForStop } from '../../control-plane/app/stop-signals.ts';

test('the first signal stops; a repetition within a second has no effect, and a later one ends the process immediately', () => {
  const clock = { now: 5_000 };
  const process = new EventEmitter();
  const again: string[] = [];
  const { signal, close } = listenForStop(
    process as unknown as NodeJS.Process,
    () => clock.now,
    (name) => void again.push(name),
  );
  expect(signal.aborted).toBe(false);
  process.emit('SIGINT', 'SIGINT');
  expect(signal.reason).toBe('SIGINT');
  clock.now = 6_000;
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  expect(again).toEqual([]);
  clock.now = 6_001;
  process.emit('SIGTERM', 'SIGTERM');
  expect(again).toEqual(['SIGTERM']);
  close();
  expect([process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')]).toEqual([0, 0]);
});

test('at a stop, connections without a request in progress are closed immediately, also unused ones; the others after their answer', async () => {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/slow') waiting.push(response);
    else response.end('ok');
  });
  const connections = watchConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const open = async (path: string | null): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    if (path !== null) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    return socket;
  };
  const silent = await open(null);
  const kept = await open('/');
  await once(kept, 'data');
  const slow = await open('/slow');
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));

  const left = [silent, kept].map((socket) => once(socket.resume(), 'close'));
  let slowLeft = false;
  const slowClosed = once(slow, 'close').then(() => {
    slowLeft = true;
  });
  connections.closeIdle();
  await Promise.all(left);
  expect(slowLeft).toBe(false);
  const answer = once(slow, 'data');
  waiting[0]?.end('at last');
  expect(String(await answer)).toContain('at last');
  await slowClosed;
});
