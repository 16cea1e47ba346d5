// Strangers and floods at a real server: what waits is bounded, whoever sent it.
import { connect } from 'node:net';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { shareFairly } from '../../../sidecar/gateway/share-fairly.ts';

async function start(bodiesBytes = 1_000) {
  const app = fastify({ bodyLimit: 10_000 });
  shareFairly(app, { clock: { now: () => 0 }, bodiesBytes });
  const held: (() => void)[] = [];
  app.get('/', () => ({ ok: true }));
  app.post('/', () => new Promise((answer) => void held.push(() => answer({ ok: true }))));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    for (const release of held) release();
    await app.close();
  });
  const post = (caller: string, bytes: number): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { authorization: caller, 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(bytes - 2)),
    });
  return { url, held, post };
}

/** What a connection is answered until the server closes it, when it sends so many requests at once. */
function pipelined(url: string, caller: string, times: number): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((done) => {
    let text = '';
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${caller}\r\n\r\n`.repeat(times)),
    );
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    socket.on('error', () => undefined).on('close', () => done(text));
  });
}

test('a connection that sends requests without waiting is closed once one of them waits in turn', async () => {
  const { url } = await start();
  // Two callers: the process is shared from now on.
  await Promise.all(['ann', 'bob'].map((authorization) => fetch(url, { headers: { authorization } })));
  const answered = await pipelined(url, 'flood', 1_000);
  expect(answered.split('HTTP/1.1 200').length - 1).toBeLessThan(5);
  expect((await fetch(url, { headers: { authorization: 'ann' } })).status).toBe(200);
});

test('a caller has at most as many bytes under way as it leaves to all others, is told to come later, and has them again once answered', async () => {
  const { post, held } = await start(1_000);
  const first = post('flood', 500);
  await expect.poll(() => held.length).toBe(1);
  const refused = await post('flood', 100);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ decision: 'deny', action: 'block', kind: 'retry', error: expect.any(String) });
  const other = post('honest', 200);
  await expect.poll(() => held.length).toBe(2);
  for (const release of held) release();
  expect((await first).status).toBe(200);
  expect((await other).status).toBe(200);
  const again = post('flood', 500);
  await expect.poll(() => held.length).toBe(3);
  held.at(-1)?.();
  expect((await again).status).toBe(200);
});

test('a caller that writes its key in several ways is one caller', async () => {
  const { post, held } = await start(1_000);
  const first = post('Bearer flood', 500);
  await expect.poll(() => held.length).toBe(1);
  for (const written of ['flood', 'bearer flood', 'BEARER    flood']) expect((await post(written, 100)).status).toBe(429);
  held[0]?.();
  expect((await first).status).toBe(200);
});
