// Properties that every endpoint has in common: bodies, methods, paths, and the form of refusals.
import { connect } from 'node:net';
import { bounds } from '@tollgate/proto/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const url = '/acme/admin/workspacePolicy';
const headers = { 'content-type': 'application/json' };
const put = (body: string | Buffer, type = 'application/json') => rest.ask('PUT', url, { body, headers: { 'content-type': type } });

describe('a body', () => {
  test.each([
    ['{', 1, 2],
    ['{"a":1,}', 1, 8],
    ['{"a" 1}', 1, 6],
    ['[1 2]', 1, 4],
    ['{"a":}', 1, 6],
    ['hello', 1, 1],
    ['{\n  "a": tru\n}', 2, 8],
    ['{"a":"\n"}', 1, 6],
    ['{"a":"\\x"}', 1, 6],
    ['{} {}', 1, 4],
    ['{"a":01}', 1, 7],
    [']', 1, 1],
    ['[[1,2],\n[3,,4]]', 2, 4],
    ['"half', 1, 1],
    ['nul', 1, 1],
  ])('%j is 400 and names line %i, column %i', async (body, line, column) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toBe(`the body is not JSON: line ${line}, column ${column}`);
  });

  test('that is not UTF-8 is 400', async () => {
    expect(errorOf(await put(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])))).toContain('UTF-8');
  });

  test('of 1 MiB is read, of one byte more is 413', async () => {
    const of = (bytes: number) => `{"tools":{}${' '.repeat(bytes - 12)}}`;
    expect(of(bounds.bodyBytes)).toHaveLength(bounds.bodyBytes);
    expect((await put(of(bounds.bodyBytes))).status).toBe(200);
    const answer = await put(of(bounds.bodyBytes + 1));
    expect(answer.status).toBe(413);
    expect(errorOf(answer)).toContain('1 MiB');
  });

  test('at the maximum depth is read, one level deeper is 400, and so is one that is all brackets', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(errorOf(await put(nested(bounds.jsonDepth)))).toContain('is not a field');
    expect(errorOf(await put(nested(bounds.jsonDepth + 1)))).toContain('nested deeper than 64');
    expect(errorOf(await put('['.repeat(500_000) + ']'.repeat(500_000)))).toContain('nested deeper');
  });

  test('of more than 100,000 values is 400', async () => {
    expect(errorOf(await put(`{"a":[${'1,'.repeat(100_000)}1]}`))).toContain('100000');
  });

  test.each([
    ['"\\u0000"', 'mode'],
    ['"\\ud800"', 'mode'],
    ['{"x\\u0000":1}', 'mode'],
    ['{"__proto__":1}', 'mode.__proto__'],
  ])('with %s in it is 400 and names the place', async (value, place) => {
    const answer = await put(`{"mode":${value}}`);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(place);
    const agent = await rest.ask('POST', '/api/v1/agents', { body: `{"name":"x","model":"y","mode":${value}}`, headers });
    expect(agent.status).toBe(400);
  });

  test.each([
    ['{"mode":"audit","mode":"enforce"}', 'mode', 1, 17],
    ['{"defaults":{"api":{"permission":"deny",\n  "permission" : "allow"}}}', 'defaults.api.permission', 2, 3],
    ['{"tools":{"a.b":{},"a.b":{}}}', 'tools["a.b"]', 1, 20],
    ['{"tools":{},"t\\u006fols":{}}', 'tools', 1, 13],
    ['{"tools":{"x":[{"a":1},{"b":[],"b":[]}]}}', 'tools.x[1].b', 1, 32],
    ['{"a":{"b":1},"c":{"b":1},"a":{}}', 'a', 1, 26],
  ])('%s with a key twice is 400 and names the key and its second place', async (body, path, line, column) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toBe(
      `${path} is in the body twice, the second time at line ${line}, column ${column}; an object may have a key only once`,
    );
  });

  test('with a key twice changes nothing, whatever the operation is', async () => {
    const before = await rest.ask('GET', '/api/v1/agents');
    const body = '{"name":"a","model":"demo/echo","enabledTools":["mail.read"],"enabledTools":["*"]}';
    for (const [method, path] of [
      ['POST', '/api/v1/agents'],
      ['POST', '/acme/admin/keys'],
      ['POST', '/acme/admin/policies/apply'],
      ['POST', '/acme/admin/simulate'],
    ] as const)
      expect(errorOf(await rest.ask(method, path, { body, headers })), path).toContain('enabledTools is in the body twice');
    expect((await rest.ask('GET', '/api/v1/agents')).body).toEqual(before.body);
  });

  test('may have constructor and prototype as keys', async () => {
    expect((await put('{"tools":{"constructor":{"prototype":{"permission":"deny"}}}}')).status).toBe(200);
    expect((await rest.ask('GET', url)).body).toEqual({ tools: { constructor: { prototype: { permission: 'deny' } } } });
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/jsonp'],
    ['nonsense'],
  ])('of type %s is 415', async (type) => {
    expect((await put('{}', type)).status).toBe(415);
  });

  test('without a type is 415, and JSON with a charset is read', async () => {
    expect((await rest.ask('PUT', url, { body: '{}' })).status).toBe(415);
    expect((await put('{}', 'application/json; charset=utf-8')).status).toBe(200);
  });

  test('types are not coerced', async () => {
    for (const body of [
      { name: 7, scopes: ['*'] },
      { name: 'x', scopes: '*' },
      { name: 'x', scopes: ['root'] },
      { name: 'x', scopes: [] },
      { name: 'x', scopes: ['*'], more: 1 },
    ]) {
      expect((await rest.ask('POST', '/acme/admin/keys', { body })).status).toBe(400);
    }
  });
});

test('an unknown path is 404, a known one with another method is 405 and names the allowed methods', async () => {
  for (const path of [
    '/api',
    '/api/v1/agents/',
    '/acme',
    '/acme/admin',
    '/acme/admin/nothing',
    '/api/v1/agents/a/b',
    '/api/v2/agents',
    '/API/v1/agents',
  ]) {
    const answer = await rest.ask('GET', path);
    expect(answer.status).toBe(404);
    expect(errorOf(answer)).not.toBe('');
  }
  const answer = await rest.ask('DELETE', '/api/v1/agents');
  expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, POST' } });
  expect(errorOf(answer)).toContain('GET');
  expect((await rest.ask('PUT', '/acme/admin/audit', { body: {} })).status).toBe(405);
});

test('every problem of a schema is named with its place', async () => {
  const answer = await rest.ask('POST', '/acme/admin/members', { body: { uid: 1, role: 'root', extra: true } });
  expect(answer.status).toBe(400);
  for (const place of ['email', 'uid must be string', 'role must be "owner" or "admin" or "member"', 'extra is not a field'])
    expect(errorOf(answer)).toContain(place);
});

test('an internal error is 500 with a fixed text, and the log has the details', async () => {
  const fresh = await createRest();
  try {
    await fresh.pool.query('alter table agent drop column icon');
    const answer = await fresh.ask('GET', '/api/v1/agents');
    expect(answer).toMatchObject({ status: 500, body: { error: 'internal error' } });
    expect(fresh.lines.join('')).toContain('icon');
  } finally {
    await fresh.close();
  }
});

describe('a bad audit query', () => {
  const url = '/acme/admin/audit';

  test.each([
    ['limit=abc', 'limit'],
    ['limit=', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['limit=1e3', 'limit'],
    ['since=yesterday', 'since'],
    ['since=', 'since'],
    ['since=2026-02-30T00:00:00Z', 'since'],
    ['since=2026-06-25T25:00:00Z', 'since'],
    ['since=1782388800', 'since'],
    ['since=0000-01-01T00:00:00Z', 'since'],
    ['cursor=x', 'cursor'],
    ['cursor=', 'cursor'],
    ['decision=maybe', 'decision'],
    ['tool=%00', 'tool'],
    ['tool=a&tool=b', 'tool'],
    ['until=2026-06-25T00:00:00Z', 'until'],
    ['__proto__=1', '__proto__'],
    ['Limit=1', 'Limit'],
  ])('%s is 400 and named', async (query, place) => {
    const answer = await rest.ask('GET', `${url}?${query}`);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(place);
  });

  test.each([['a.b.c.d'], [`99999999999999999.${'a'.repeat(32)}.1.0`], [`1.${'g'.repeat(32)}.1.0`], ['\0']])(
    'the cursor %j is 400',
    async (text) => {
      expect((await rest.ask('GET', `${url}?cursor=${Buffer.from(text).toString('base64url')}`)).status).toBe(400);
    },
  );
});

describe('health', () => {
  test('healthz and metrics need no key; routes are named as declared', async () => {
    expect(await rest.ask('GET', '/healthz', { key: null })).toMatchObject({ status: 200, body: { ok: true } });
    await rest.ask('GET', '/api/v1/agents/some-id');
    const metrics = await rest.ask('GET', '/metrics', { key: null });
    expect(metrics.headers['content-type']).toContain('text/plain');
    expect(metrics.body).toContain('tollgate_http_request_seconds_count{method="GET",route="/api/v1/agents/:id",status="404"}');
    expect(metrics.body).not.toContain('some-id');
  });

  test('readyz is 200 with warnings for the operator, while it can serve', async () => {
    const fresh = await createRest({ warnings: () => ['a collector is away'] });
    try {
      expect((await fresh.ask('GET', '/readyz', { key: null })).body).toEqual({ ok: true, warnings: ['a collector is away'] });
      expect((await rest.ask('GET', '/readyz', { key: null })).body).toEqual({ ok: true });
    } finally {
      await fresh.close();
    }
  });

  test('readyz is 503 with the reasons as long as there are any', async () => {
    const reasons = ['migrations are running'];
    const fresh = await createRest({ readiness: () => reasons });
    try {
      expect(await fresh.ask('GET', '/readyz', { key: null })).toMatchObject({
        status: 503,
        body: { error: 'not ready: migrations are running' },
      });
      reasons.pop();
      expect(await fresh.ask('GET', '/readyz', { key: null })).toMatchObject({ status: 200, body: { ok: true } });
    } finally {
      await fresh.close();
    }
  });
});

describe('over a socket', () => {
  test('no more than 10,000 connections are open at once', () => {
    expect(rest.app.server.maxConnections).toBe(10_000);
  });

  let port: number;
  beforeAll(async () => {
    const address = rest.app.addresses()[0];
    port = typeof address === 'object' ? address.port : 0;
  });

  const send = async (text: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(text);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(Buffer.from(chunk as Uint8Array));
    const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as unknown };
  };
  const head = (line: string, ...more: readonly string[]) =>
    [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', `Authorization: Bearer ${rest.owner}`, ...more, '', ''].join('\r\n');

  test('a request that is not HTTP, or too large, is also refused with an error', async () => {
    expect(await send('nonsense\r\n\r\n')).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    expect(await send(head('GET /healthz', `X: ${'x'.repeat(20_000)}`))).toMatchObject({
      status: 431,
      body: { error: expect.any(String) },
    });
    expect(await send(head('GET /%zz'))).toMatchObject({ status: 400, body: { error: expect.any(String) } });
  });

  test('DELETE with a JSON content type and an empty body works, sent either way', async () => {
    for (const more of [['Content-Type: application/json'], ['Content-Type: application/json', 'Content-Length: 0']]) {
      const id = await rest.createAgent();
      expect(await send(head(`DELETE /api/v1/agents/${id}`, ...more))).toMatchObject({ status: 200, body: { ok: true } });
    }
  });

  test('a body without a length is cut off at 1 MiB', async () => {
    const chunk = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    const answer = await fetch(`http://127.0.0.1:${port}/acme/admin/workspacePolicy`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json' },
      body: new Blob([chunk]).stream(),
      duplex: 'half',
    });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ error: expect.stringContaining('1 MiB') });
  });
});

describe('a body with more errors than a person reads', () => {
  const many = (keyLength = 0) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`f${at}`.padEnd(keyLength, 'x'), 1])));

  test.each([
    ['PATCH', async (): Promise<string> => `/api/v1/agents/${await rest.createAgent()}`],
    ['PUT', async (): Promise<string> => url],
    ['PUT', async (): Promise<string> => '/acme/admin/rolePolicies/member'],
    ['POST', async (): Promise<string> => '/acme/admin/keys'],
    ['POST', async (): Promise<string> => '/acme/admin/policies/apply'],
  ] as const)('%s is answered with a hundred of them', async (method, urlOf) => {
    const answer = await rest.ask(method, await urlOf(), { body: many(), headers });
    expect(answer.status).toBe(400);
    const { details } = Object(answer.body) as { readonly details: readonly string[] };
    expect(details).toHaveLength(101);
    expect(details.at(-1)).toMatch(/^and 8\d{4} more$/);
    expect(errorOf(answer)).toMatch(/and 8\d{4} more$/);
    expect(JSON.stringify(answer.body).length).toBeLessThan(100_000);
  });

  test('a line that would be as long as the request is cut, and still names the error', async () => {
    const answer = await put(JSON.stringify({ tools: { t: { api: { ['x'.repeat(100_000)]: 1 } } } }));
    const line = errorOf(answer);
    expect(line.length).toBeLessThanOrEqual(500);
    expect(line).toContain('is not a field here; the fields are permission');
  });
});

describe('a whole set of documents', () => {
  const apply = '/acme/admin/policies/apply';
  const padded = (bytes: number) => `{"dryRun":true}${' '.repeat(bytes - 15)}`;

  test('may be of 16 MiB; one byte more is 413, which names that limit', async () => {
    expect((await rest.ask('POST', apply, { body: padded(bounds.policySetBytes), headers })).status).toBe(200);
    const answer = await rest.ask('POST', apply, { body: padded(bounds.policySetBytes + 1), headers });
    expect(answer.status).toBe(413);
    expect(errorOf(answer)).toBe('the body is larger than 16 MiB');
  });

  test('may have more values than another body: what several writes have made can be applied at once', async () => {
    const tools = Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`t${at}`, { api: { permission: 'deny', rateLimit: 1 } }]));
    const userPolicies = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`u${at}`, { tools }]));
    const answer = await rest.ask('POST', apply, { body: { dryRun: true, userPolicies } });
    expect(answer.status, JSON.stringify(answer.body).slice(0, 300)).toBe(200);
    expect((await rest.ask('PUT', url, { body: { a: Array.from({ length: bounds.jsonNodes }, () => 1) } })).status).toBe(400);
  });

  test('the document states the limits of each operation', () => {
    const said = (id: string) => JSON.stringify(rest.document.operations.find(({ operationId }) => operationId === id)?.responses['413']);
    expect(said('applyPolicies')).toContain(String(bounds.policySetBytes));
    expect(said('simulatePolicies')).toContain(String(bounds.policySetBytes));
    expect(said('createKey')).toContain(String(bounds.bodyBytes));
  });
});

test('a document does not grow past 1 MiB, neither by merging nor by being applied', async () => {
  const tools = (from: number) =>
    Object.fromEntries(Array.from({ length: 2_500 }, (_, at) => [`${from + at}`.padStart(150, 'x'), { api: { permission: 'deny' } }]));
  const role = '/acme/admin/rolePolicies/owner';
  expect((await rest.ask('PUT', role, { body: { tools: tools(0) } })).status).toBe(200);
  const grown = await rest.ask('PUT', role, { body: { tools: tools(2_500) } });
  expect(grown.status).toBe(200);
  const answer = await rest.ask('PUT', role, { body: { tools: tools(5_000) } });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toMatch(/^document must be at most 1048576 bytes of JSON, would be \d{7}$/);
  const applied = await rest.ask('POST', '/acme/admin/policies/apply', {
    body: { rolePolicies: { owner: { tools: { ...tools(0), ...tools(2_500), ...tools(5_000) } } } },
  });
  expect(applied.status).toBe(400);
  expect(errorOf(applied)).toContain('rolePolicies.owner must be at most 1048576 bytes');
  await rest.ask('DELETE', role);
});
