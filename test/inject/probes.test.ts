// Runs what the kubelet runs in a sidecar's container, and checks that probes and hooks work.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { inject } from '../../deploy/inject/inject.ts';
import { readSettings } from '../../deploy/inject/settings.ts';

type Exec = { readonly exec: { readonly command: readonly string[] } };

interface Hooks {
  readonly startupProbe?: Exec;
  readonly livenessProbe: Exec;
  readonly lifecycle?: { readonly postStart: Exec; readonly preStop: Exec };
}

/** A sidecar that is alive at once, and ready after this many requests. */
async function sidecarReadyAfter(asks: number) {
  let asked = 0;
  const server = createServer((request, response) => {
    const isReady = request.url === '/readyz' && (asked += 1) > asks;
    response.writeHead(request.url === '/healthz' || isReady ? 200 : 503).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, asked: () => asked, server };
}

function hooksOf(mode: string, port: number, more: object = {}): Hooks {
  const read = readSettings({ image: 'sidecar:1', controlPlane: 'tollgate:8081', mode, port, ...more });
  if ('problems' in read) throw new Error('the settings have problems');
  const done = inject({ spec: { containers: [{ name: 'app' }] } }, read.settings);
  if (done.kind !== 'injected') throw new Error('it was not injected');
  const [sidecar] = (mode === 'native' ? done.pod.spec.initContainers : done.pod.spec.containers) ?? [];
  return sidecar as unknown as Hooks;
}

async function exitOf({ exec: { command } }: Exec): Promise<unknown> {
  const [program, ...words] = command;
  expect(program).toBe('node');
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  return code;
}

/** Returns how long the script of a hook waits: each timer that it sets, in ms. */
function waitsOf({ exec: { command } }: Exec): readonly number[] {
  const waits: number[] = [];
  const [, , script = ''] = command;
  runInNewContext(script, { setTimeout: (_run: () => void, ms: number) => void waits.push(ms) });
  return waits;
}

test('a native sidecar has started when it is ready, and is alive as long as it answers', async () => {
  const sidecar = await sidecarReadyAfter(1);
  const { startupProbe, livenessProbe } = hooksOf('native', sidecar.port);
  if (startupProbe === undefined) throw new Error('there is no startup probe');
  expect(await exitOf(startupProbe)).toBe(1);
  expect(await exitOf(startupProbe)).toBe(0);
  expect(await exitOf(livenessProbe)).toBe(0);
  sidecar.server.close();
  sidecar.server.closeAllConnections();
  expect(await exitOf(livenessProbe)).toBe(1);
});

test('with a plain sidecar the next container waits until it is ready, or fails; it waits before it ends with the pod', async () => {
  const late = await sidecarReadyAfter(2);
  const { lifecycle } = hooksOf('plain', late.port, { drainSeconds: 1 });
  if (lifecycle === undefined) throw new Error('there are no hooks');
  expect(await exitOf(lifecycle.postStart)).toBe(0);
  expect(late.asked()).toBe(3);
  expect(await exitOf(lifecycle.preStop)).toBe(0);
  expect(waitsOf(lifecycle.preStop)).toEqual([1_000]);
  const never = await sidecarReadyAfter(Number.POSITIVE_INFINITY);
  const given = hooksOf('plain', never.port, { startSeconds: 1 }).lifecycle?.postStart;
  expect(given === undefined ? 'none' : await exitOf(given)).toBe(1);
});
