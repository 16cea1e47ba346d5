// What the socket of a sidecar takes of its connections.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listenLocally } from '../../../sidecar/app/local-socket.ts';

test('the socket has a fixed part of the connections of the process, and closes what is above it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const http = createServer((_, response) => response.end());
  http.maxConnections = 10;
  const warned: string[] = [];
  const local = await listenLocally(http, join(folder, 'it'), { warn: (_, message) => void warned.push(message) }, 2);
  onTestFinished(async () => {
    http.closeAllConnections();
    await local.close();
  });
  const opened = await Promise.all(
    [1, 2].map(async () => {
      const socket = connect(join(folder, 'it'));
      onTestFinished(() => void socket.destroy());
      socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      await once(socket, 'data');
      return socket;
    }),
  );
  const further = connect(join(folder, 'it'));
  await once(further.resume(), 'close');
  expect([http.maxConnections, opened.map(({ closed }) => closed), warned]).toEqual([8, [false, false], []]);
});
