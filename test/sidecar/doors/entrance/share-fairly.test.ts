// Callers without a good key, and floods, at a real server: all pending requests are bounded, and requests without a
// good key take nothing from callers with one.
import { connect } from 'node:net';
import { fastify } from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BodyMemory } from '../../../../sidecar/doors/entrance/body-memory.ts';
import { recognised, shareFairly } from '../../../../sidecar/doors/entrance/share-fairly.ts';

interface Options {
  readonly bodiesBytes?: number;
  readonly unknownBytes?: number;
  /** The route looks keys up later. */
  readonly isLater?: boolean;
}

/** Good keys begin with `good`. */
const keyIn = (authorization = ''): string | null => /^(?:bearer +)?(good-\w+)$/i.exec(authorization)?.[1] ?? null;

async function start({ bodiesBytes = 1_000, unknownBytes = 1_000, isLater = false }: Options = {}) {
  const app = fastify({ bodyLimit: 100_000 });
  let read = 0;
  shareFairly(app, {
    clock: { now: () => 0 },
    bodies: new BodyMemory({ bytes: bodiesBytes }),
    unknownBytes,
    missing: (_request, reply) => void reply.code(404).send({ error: 'there is none' }),
    ...(isLater ? {} : { whose: keyIn }),
  });
  app.addHook('preValidation', async (request) => {
    if (request.body !== undefined) read += 1;
  });
  const held: (() => void)[] = [];
  const looked: (() => void)[] = [];
  app.get('/', () => ({ ok: true }));
  app.post('/', () => new Promise((answer) => void held.push(() => answer({ ok: true }))));
  app.post('/guarded', {
    onRequest: async (request, reply) => {
      if (isLater) await new Promise<void>((done) => void looked.push(done));
      const key = keyIn(request.headers.authorization);
      if (key === null) return reply.code(401).send({ error: 'a key is needed' });
      recognised(request, key);
      return undefined;
    },
    handler: () => new Promise((answer) => void held.push(() => answer({ ok: true }))),
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    for (const release of [...looked, ...held]) release();
    await app.close();
  });
  const post = (authorization: string, bytes: number, path = '/'): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify('x'.repeat(bytes - 2)),
    });
  const connections = (): Promise<number> =>
    new Promise((done, fail) => app.server.getConnections((error, count) => (error === null ? done(count) : fail(error))));
  return { url, held, looked, post, read: () => read, connections };
}

/** Sends this many requests at once on one connection. Returns all answers until the server closes it. */
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

test('a connection that sends requests without waiting is closed once one of them is queued', async () => {
  const { url } = await start();
  // Two callers: from now on the process is shared.
  await Promise.all(['good-ann', 'good-bob'].map((authorization) => fetch(url, { headers: { authorization } })));
  const answered = await pipelined(url, 'good-flood', 1_000);
  expect(answered.split('HTTP/1.1 200').length - 1).toBeLessThan(5);
  expect((await fetch(url, { headers: { authorization: 'good-ann' } })).status).toBe(200);
});

test('a caller can have at most as many bytes in progress as it leaves to others, gets 429 beyond that, and can use them again after the answers', async () => {
  const { post, held } = await start();
  const first = post('good-flood', 500);
  await expect.poll(() => held.length).toBe(1);
  const refused = await post('good-flood', 100);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ decision: 'deny', action: 'block', kind: 'retry', error: expect.any(String) });
  const other = post('good-honest', 200);
  await expect.poll(() => held.length).toBe(2);
  for (const release of held) release();
  expect((await first).status).toBe(200);
  expect((await other).status).toBe(200);
  const again = post('good-flood', 500);
  await expect.poll(() => held.length).toBe(3);
  held.at(-1)?.();
  expect((await again).status).toBe(200);
});

test('a caller that writes its key in several ways is one caller', async () => {
  const { post, held } = await start();
  const first = post('Bearer good-flood', 500);
  await expect.poll(() => held.length).toBe(1);
  for (const written of ['good-flood', 'bearer good-flood', 'BEARER    good-flood']) expect((await post(written, 100)).status).toBe(429);
  held[0]?.();
  expect((await first).status).toBe(200);
});

test('all requests without a good key are one caller with a small budget of its own, however many keys are invented', async () => {
  const { post, held } = await start();
  // With a budget for each shown key, these requests would take the 1,000 bytes of all.
  let refused = 0;
  const made = Array.from({ length: 30 }, async (_, at) => {
    const answer = await post(`made-up-${at}`, 100);
    if (answer.status === 429) refused += 1;
    return answer;
  });
  await expect.poll(() => [held.length, refused], { timeout: 20_000 }).toEqual([10, 20]);
  const honest = post('good-ann', 500);
  await expect.poll(() => held.length, { timeout: 20_000 }).toBe(11);
  for (const release of held) release();
  expect((await honest).status).toBe(200);
  const statuses = (await Promise.all(made)).map(({ status }) => status);
  expect([statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length]).toEqual([10, 20]);
});

test('of a request without a good key only a small body is read, and for an unknown route nothing is read', async () => {
  const { post, read } = await start({ unknownBytes: 200_000 });
  expect((await post('made-up', 65_537)).status).toBe(429);
  expect((await post('good-ann', 400, '/nowhere')).status).toBe(404);
  expect((await post('made-up', 90_000, '/nowhere')).status).toBe(404);
  expect((await post('made-up', 100, '/guarded')).status).toBe(401);
  expect(read()).toBe(0);
});

test('where keys are looked up later, a request waits in the budget for unknown keys and is read in its own; then its key is known, until it is refused', async () => {
  const { post, held, looked } = await start({ isLater: true, unknownBytes: 300 });
  const first = post('good-ann', 400, '/guarded');
  // The request uses no more of the budget than its unread bytes. Together with it, a second one does not fit.
  await expect.poll(() => looked.length).toBe(0);
  expect((await first).status).toBe(429);
  const small = post('good-ann', 200, '/guarded');
  await expect.poll(() => looked.length).toBe(1);
  expect((await post('made-up', 200, '/guarded')).status).toBe(429);
  looked.shift()?.();
  await expect.poll(() => held.length).toBe(1);
  held.shift()?.();
  expect((await small).status).toBe(200);
  // The key is known: its own budget is larger.
  const large = post('good-ann', 400, '/guarded');
  await expect.poll(() => looked.length).toBe(1);
  expect((await post('good-ann', 200, '/guarded')).status).toBe(429);
  const unknown = post('made-up', 200, '/guarded');
  await expect.poll(() => looked.length).toBe(2);
  for (const release of looked.splice(0)) release();
  await expect.poll(() => held.length).toBe(1);
  held.shift()?.();
  expect([(await large).status, (await unknown).status]).toEqual([200, 401]);
});

test('requests without a good key share one turn', async () => {
  const turns: (() => void)[] = [];
  const app = fastify();
  const begun: string[] = [];
  shareFairly(app, {
    bodies: new BodyMemory(),
    clock: { now: () => 0 },
    nextTurn: (run) => void turns.push(run),
    whose: keyIn,
    missing: () => undefined,
  });
  app.get('/:name', async (request) => {
    begun.push(request.url);
    return {};
  });
  app.get('/health', { config: { takesNoTurn: true } }, async () => ({}));
  onTestFinished(() => app.close());
  const get = (url: string, authorization: string) => app.inject({ url, headers: { authorization } });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((next) => setImmediate(next));
  };
  const nextTurn = async (): Promise<void> => {
    turns.shift()?.();
    await settle();
  };
  // Two callers: from now on the process is shared.
  await Promise.all([get('/first', 'good-ann'), get('/second', 'good-bob')]);
  await nextTurn();
  begun.length = 0;
  const asked = ['made-up-1', 'made-up-2', 'made-up-3', 'good-ann'].map((key) => get(`/${key}`, key));
  expect((await get('/health', 'made-up-4')).statusCode).toBe(200);
  await settle();
  expect(begun).toEqual(['/made-up-1', '/good-ann']);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  await Promise.all(asked);
  expect(begun).toEqual(['/made-up-1', '/good-ann', '/made-up-2', '/made-up-3']);
});

const patient = { timeout: 20_000 };

test('a caller that disconnects while its key is looked up uses no budget', async () => {
  const { url, post, held, looked, connections } = await start({ isLater: true });
  const { hostname, port } = new URL(url);
  for (let left = 1; left <= 3; left += 1) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      `POST /guarded HTTP/1.1\r\nHost: a\r\nAuthorization: good-ann\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`,
    );
    await expect.poll(() => looked.length, patient).toBe(left);
    const closed = new Promise((done) => socket.once('close', done));
    socket.destroy();
    await closed;
  }
  // The server notices the disconnect before it looks up the keys.
  await expect.poll(() => connections(), patient).toBe(0);
  for (const release of looked.splice(0)) release();
  const honest = post('good-ann', 450, '/guarded');
  await expect.poll(() => looked.length, patient).toBe(1);
  looked.shift()?.();
  await expect.poll(() => held.length, patient).toBe(1);
  held.shift()?.();
  expect((await honest).status).toBe(200);
});

test('a form counts by its fields, each of which is a value', async () => {
  const app = fastify();
  onTestFinished(() => app.close());
  shareFairly(app, {
    clock: { now: () => 0 },
    bodies: new BodyMemory({ bytes: 10_000, waitMs: 10 }),
    missing: () => undefined,
    whose: keyIn,
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const held: (() => void)[] = [];
  app.post('/', () => new Promise((answer) => void held.push(() => answer({ ok: true }))));
  const send = (fields: number): Promise<{ readonly statusCode: number }> =>
    app.inject({
      method: 'POST',
      url: '/',
      headers: { authorization: 'good-key', 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'a=&'.repeat(fields - 1),
    });
  const first = send(60);
  await vi.waitUntil(() => held.length === 1);
  // 60 more fields would fit at their wire size.
  expect((await send(60)).statusCode).toBe(429);
  for (const release of held) release();
  expect((await first).statusCode).toBe(200);
});

test('a body whose values do not fit in the budget waits until a request of its caller ends, and uses nothing if its caller disconnects', async () => {
  const app = fastify();
  const bodies = new BodyMemory({ bytes: 10_000, waitMs: 600_000 });
  shareFairly(app, { clock: { now: () => 0 }, bodies, missing: () => undefined, whose: keyIn });
  // As doors that parse a body after they reserved budget for it.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const held: (() => void)[] = [];
  app.post('/', () => new Promise((answer) => void held.push(() => answer({ ok: true }))));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const waits = vi.spyOn(bodies, 'waitForMore');
  onTestFinished(async () => {
    for (const release of held) release();
    await app.close();
  });
  const leaving = new AbortController();
  const send = (signal?: AbortSignal): Promise<number> =>
    fetch(url, {
      method: 'POST',
      headers: { authorization: 'good-key', 'content-type': 'application/json' },
      body: JSON.stringify(Array.from({ length: 60 }, () => 0)),
      ...(signal === undefined ? {} : { signal }),
    }).then(
      ({ status }) => status,
      () => 0,
    );
  const first = send();
  await expect.poll(() => held.length, patient).toBe(1);
  const left = send(leaving.signal);
  await expect.poll(() => waits.mock.calls.length, patient).toBe(1);
  const second = send();
  await expect.poll(() => waits.mock.calls.length, patient).toBe(2);
  leaving.abort();
  expect([await left, held.length]).toEqual([0, 1]);
  await waits.mock.results[0]?.value;
  held[0]?.();
  expect(await first).toBe(200);
  await expect.poll(() => held.length, patient).toBe(2);
  held[1]?.();
  expect(await second).toBe(200);
  await expect.poll(() => bodies.take('good-key', 5_000), patient).toBe(true);
});
