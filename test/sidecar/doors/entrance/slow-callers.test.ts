// A slow sender holds a connection no longer than a request may take, and the server does not wait for a caller without
// a good key.
import { once } from 'node:events';
import { connect } from 'node:net';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { createEntrance } from '../../../../sidecar/doors/entrance/entrance.ts';
import { registerHostHooks } from '../../../../sidecar/doors/coding-agents/host-hooks.ts';
import { exportSidecar } from '../../../../sidecar/app/metrics/sidecar.ts';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { keyText } from '../../../support/snapshots.ts';
import { silentLog } from '../../../support/silent-log.ts';

/** Sends the head of a request with a body, and half of the body. Returns the first answer. */
async function halfSent(port: number, path: string, key: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.setEncoding('utf8');
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`;
  socket.write(`${head}{"tool_name":`);
  const [back]: readonly unknown[] = await once(socket, 'data');
  return String(back);
}

const paths = ['/govern/tool-use', '/govern/tool-output', '/hooks/claude-code', '/tools/billing/x', '/mcp/github'];

async function start(requestTimeoutMs?: number): Promise<number> {
  const tool = {
    origin: 'http://127.0.0.1:1',
    basePath: '',
    headers: {},
    forwardHeaders: [],
    methods: ['POST'],
    nameByMethod: false,
    timeoutMs: 1_000,
  } as const;
  const { app } = createTestServer(await createTestSidecar(), {
    httpTools: new Map([['billing', tool]]),
    toolServers: { find: () => null },
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
  });
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

test.each(paths)('%s: a body that does not arrive is cut off with 408', async (path) => {
  expect(await halfSent(await start(200), path, keyText('key1'))).toMatch(/^HTTP\/1\.1 408 /);
});

test.each(paths.filter((path) => !path.startsWith('/hooks/')))(
  '%s: an invalid key is refused before the body has arrived',
  async (path) => {
    expect(await halfSent(await start(), path, keyText('absent'))).toMatch(/^HTTP\/1\.1 401 /);
  },
);

test('a host is refused in its own format, which its body selects, and is not waited for longer than a decision takes', async () => {
  const sidecar = await createTestSidecar();
  const app = fastify();
  onTestFinished(() => app.close());
  registerHostHooks(app, createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(new Registry(), sidecar) }), 50);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const back = await halfSent(Number(port), '/hooks/claude-code', keyText('absent'));
  expect(back).toMatch(/^HTTP\/1\.1 200 [^]*x-tollgate-answer: deny\r\n[^]*key_revoked: the key is unknown/);
  expect(await halfSent(Number(port), '/hooks/absent', keyText('key1'))).toMatch(/^HTTP\/1\.1 404 /);
});
