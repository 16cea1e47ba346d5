// Who sends slowly keeps no connection for longer than a request may take, and who shows no good key is not waited for.
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

/** The head of a request with a body, and half of the body; what comes back first. */
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

test.each(paths)('%s: a body that does not come is cut off with 408', async (path) => {
  expect(await halfSent(await start(200), path, keyText('key1'))).toMatch(/^HTTP\/1\.1 408 /);
});

test.each(paths.filter((path) => !path.startsWith('/hooks/')))(
  '%s: a key that is not good is told so before the body is there',
  async (path) => {
    expect(await halfSent(await start(), path, keyText('nobody'))).toMatch(/^HTTP\/1\.1 401 /);
  },
);

test('a host is refused in its own words, which its body chooses, and is not waited for longer than for a decision', async () => {
  const sidecar = await createTestSidecar();
  const app = fastify();
  onTestFinished(() => app.close());
  registerHostHooks(app, createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(new Registry(), sidecar) }), 50);
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const back = await halfSent(Number(port), '/hooks/claude-code', keyText('nobody'));
  expect(back).toMatch(/^HTTP\/1\.1 200 [^]*x-tollgate-answer: deny\r\n[^]*key_revoked: the key is unknown/);
  expect(await halfSent(Number(port), '/hooks/nobody', keyText('key1'))).toMatch(/^HTTP\/1\.1 404 /);
});
