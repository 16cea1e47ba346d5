import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Counter, Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { listenForMetrics } from '../../../../sidecar/app/metrics/listener.ts';

async function start() {
  const registry = new Registry();
  new Counter({ name: 'calls_total', help: 'Calls', registers: [registry] }).inc(2);
  const listener = await listenForMetrics(registry, 0);
  onTestFinished(() => listener.close().catch(() => undefined));
  return listener;
}

test('metrics are read without a key, on every address of the machine', async () => {
  const { port } = await start();
  const others = Object.values(networkInterfaces()).flatMap(
    (all) => all?.filter(({ family, internal }) => family === 'IPv4' && !internal) ?? [],
  );
  for (const host of ['127.0.0.1', ...others.slice(0, 1).map(({ address }) => address)]) {
    const answer = await fetch(`http://${host}:${port}/metrics?x=1`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('calls_total 2');
  }
});

test('the listener serves nothing else', async () => {
  const { port } = await start();
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/healthz'],
    ['GET', '/metrics/'],
    ['GET', '//metrics'],
    ['POST', '/metrics'],
    ['POST', '/govern/tool-use'],
  ] as const) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect([path, answer.status, await answer.text()]).toEqual([path, 404, '']);
  }
});

test('a port that is in use is reported, and a closed one is free', async () => {
  const other = createServer().listen({ port: 0, host: '::' });
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(listenForMetrics(new Registry(), port)).rejects.toThrow(/EADDRINUSE/);
  other.close();
  await once(other, 'close');
  const listener = await listenForMetrics(new Registry(), port);
  await fetch(`http://127.0.0.1:${port}/metrics`);
  await listener.close();
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
});
