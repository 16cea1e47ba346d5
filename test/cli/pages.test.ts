// The command line asks for no list as a whole. A server of two pages records what it was asked for.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { jsonOf, run } from './cli.ts';

let server: Server;
let origin: string;
let asked: URL[] = [];
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://server');
    asked.push(url);
    const name = fields.find(([path]) => path === url.pathname)?.[1] ?? 'runs';
    const second = url.searchParams.get('cursor') === 'more';
    const item = {
      id: second ? 'second' : 'first',
      uid: second ? 'second' : 'first',
      slug: second ? 'second' : 'first',
      key: second ? 'b' : 'a',
      name: 'bot',
    };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ ok: true, revision: 1, [name]: [{ ...item, scopes: ['sidecar.sync'] }], ...(second ? {} : { next: 'more' }) }),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const fields: readonly (readonly [path: string, name: string])[] = [
  ['/api/v1/agents', 'profiles'],
  ['/acme/admin/members', 'members'],
  ['/acme/admin/keys', 'keys'],
  ['/acme/admin/audit/keys', 'keys'],
  ['/acme/admin/sidecars', 'sidecars'],
  ['/api/v1/workspaces', 'workspaces'],
];

const tollgate = (...words: readonly string[]) =>
  run(words, { env: { TOLLGATE_URL: origin, TOLLGATE_KEY: `gsk_acme_${'x'.repeat(40)}`, TOLLGATE_OPERATOR_KEY: 'operator' } });

test.each([
  ['agents list', '/api/v1/agents', 'profiles'],
  ['members list', '/acme/admin/members', 'members'],
  ['keys list', '/acme/admin/keys', 'keys'],
  ['audit keys', '/acme/admin/audit/keys', 'keys'],
  ['sidecars', '/acme/admin/sidecars', 'sidecars'],
  ['workspace list', '/api/v1/workspaces', 'workspaces'],
])('%s shows every page, and asks for each with a limit', async (words, path, name) => {
  const ran = await tollgate(...words.split(' '), '--json');
  expect(ran).toMatchObject({ code: 0 });
  expect(jsonOf(ran)[name]).toHaveLength(2);
  expect(jsonOf(ran)).not.toHaveProperty('next');
  const pages = asked.filter(({ pathname }) => pathname === path);
  expect(pages.map(({ searchParams }) => [searchParams.has('limit'), searchParams.get('cursor')])).toEqual([
    [true, null],
    [true, 'more'],
  ]);
});

test('an agent is found by its name on any page, a key on the first one that has it', async () => {
  expect(await tollgate('runs', 'list', 'bot')).toMatchObject({ code: 1, err: expect.stringContaining('several agents named bot') });
  expect(await tollgate('keys', 'narrow', 'second')).toMatchObject({ code: 0 });
  for (const { pathname, searchParams } of asked.filter(({ pathname: one }) => fields.some(([path]) => path === one)))
    expect([pathname, searchParams.has('limit')]).toEqual([pathname, true]);
});

test.each([[['runs', 'list']], [['run']]])('%j without an agent says how to find one', async (words) => {
  expect(await tollgate(...words)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/missing required argument 'agent'\n.*tollgate agents list/),
  });
});
