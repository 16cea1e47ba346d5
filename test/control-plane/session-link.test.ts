// The one-time link of a start: it opens one session, within a minute, from the same machine.
import { networkInterfaces } from 'node:os';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApp } from '../../control-plane/http/app.ts';
import { Registry } from 'prom-client';
import { createRest, errorOf, field, type Rest } from './rest.ts';

const url = '/api/v1/session/link';
const start = new Date('2026-06-25T12:00:00.000Z');
let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());
beforeEach(() => {
  rest.clock.now = start;
});

const exchange = (token: unknown, headers: Readonly<Record<string, string>> = {}) =>
  rest.ask('POST', url, { key: null, headers, body: { token } });

const later = (ms: number): void => {
  rest.clock.now = new Date(start.getTime() + ms);
};

test('a link opens one session of the first workspace’s owner, which needs no key', async () => {
  const token = rest.deps.links.make();
  const opened = await exchange(token);
  expect(opened.body).toEqual({
    ok: true,
    csrf: expect.any(String),
    expiresAt: '2026-06-26T00:00:00.000Z',
    workspace: 'acme',
    sub: 'owner',
  });
  expect(opened.headers['cache-control']).toBe('no-store');
  const cookie = String(opened.headers['set-cookie']).split(';', 1)[0] ?? '';
  const who = await rest.ask('GET', '/api/v1/session', { key: null, headers: { cookie } });
  expect(who.body).toMatchObject({ sub: 'owner', role: 'owner', workspace: 'acme', scopes: ['*'], csrf: field(opened, 'csrf') });
  const again = await exchange(token);
  expect([again.status, again.headers['set-cookie']]).toEqual([403, undefined]);
  expect(errorOf(again)).toContain('was used already');
});

test('of two uses at once one opens a session', async () => {
  const token = rest.deps.links.make();
  const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(token)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 9 }, () => 403)]);
});

test('a link is valid for 60 s', async () => {
  const token = rest.deps.links.make();
  later(60_000);
  const late = await exchange(token);
  expect([late.status, errorOf(late)]).toEqual([403, expect.stringContaining('is older than a minute')]);
  later(59_999);
  expect((await exchange(token)).status).toBe(200);
});

test('a newer link takes the place of the earlier one', async () => {
  const earlier = rest.deps.links.make();
  const newer = rest.deps.links.make();
  expect(errorOf(await exchange(earlier))).toContain('is not valid');
  expect((await exchange(newer)).status).toBe(200);
});

test('from an address that is not loopback it is refused, and not used up', async () => {
  const token = rest.deps.links.make();
  const body = JSON.stringify({ token });
  const app = createApp({ ...rest.deps, registry: new Registry() });
  for (const remoteAddress of ['10.0.0.7', '::ffff:10.0.0.7', '2001:db8::1', '128.0.0.1']) {
    const answer = await app.inject({ method: 'POST', url, remoteAddress, payload: body, headers: { 'content-type': 'application/json' } });
    expect([remoteAddress, answer.statusCode, answer.json()]).toEqual([
      remoteAddress,
      403,
      { error: 'a link of the console works only on the machine of the control plane; sign in with a key' },
    ]);
  }
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
    expect((await exchange(token, { [name]: '127.0.0.1' })).status).toBe(403);
  const local = await app.inject({
    method: 'POST',
    url,
    remoteAddress: '::ffff:127.0.0.1',
    payload: body,
    headers: { 'content-type': 'application/json' },
  });
  expect(local.statusCode).toBe(200);
  await app.close();
});

test('a real connection from another address of this machine is refused too', async () => {
  const address = Object.values(networkInterfaces())
    .flatMap((some) => some ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  const app = createApp({ ...rest.deps, registry: new Registry() });
  await app.listen({ host: '0.0.0.0', port: 0 });
  const { port } = app.server.address() as { readonly port: number };
  const token = rest.deps.links.make();
  const { statusCode, body } = await request(`http://${address ?? '127.0.0.1'}:${port}${url}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  await body.dump();
  // A machine without a network has no other address.
  expect(statusCode).toBe(address === undefined ? 200 : 403);
  await app.close();
});

test.each([[''], ['x'], ['x'.repeat(200)], ["' or 1=1"], ['\u0000'], ['__proto__']])('%j is no token of a link', async (token) => {
  rest.deps.links.make();
  expect([400, 403]).toContain((await exchange(token)).status);
});

test.each([[1], [null], [{}], ['x'.repeat(201)]])('%j is malformed', async (token) => {
  expect((await exchange(token)).status).toBe(400);
});

test('the token is in no line of the log', async () => {
  const token = rest.deps.links.make();
  await exchange(token);
  await exchange(token);
  expect(rest.lines.join('')).toContain('a session was opened with the link of the start');
  expect(rest.lines.join('')).not.toContain(token);
});
