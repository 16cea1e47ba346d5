import { expect, test } from 'vitest';
import { key, keyText, ruleFor } from '../../../support/snapshots.ts';
import { answerOf, type Http, httpCheck, own, startTestMesh } from './asked-by-a-gateway.ts';

const json = { 'content-type': 'application/json' };
const mail = 'bob@acme-mail.eu';

async function start(world: Parameters<typeof startTestMesh>[0] = {}) {
  const mesh = await startTestMesh(world);
  return { ...mesh, ask: async (asked: Http = {}) => answerOf(await mesh.check(httpCheck(asked))) };
}

test("a permitted request is forwarded without the key and the caller's claims about itself", async () => {
  const { ask, sidecar } = await start();
  const answer = await ask({
    headers: {
      ...json,
      'x-tollgate-agent': 'clerk',
      'x-tollgate-tier': 'api',
      'x-tollgate-session': 's1',
      'x-tollgate-request-id': 'forged',
      accept: '*/*',
    },
    body: '{"n": 1}',
  });
  expect(answer).toEqual({
    code: 0,
    status: 200,
    headers: { 'x-tollgate-request-id': 'id-1' },
    removed: expect.arrayContaining(['authorization', 'x-tollgate-agent', 'x-tollgate-tier', 'x-tollgate-session']),
    body: '',
  });
  expect(answer.removed).toHaveLength(4);
  expect(await sidecar.entries()).toMatchObject([
    {
      hookEvent: 'PreToolUse',
      tool: 'pay',
      code: 'allowed',
      agentType: 'envoy::api::clerk',
      sessionId: 's1',
      sub: 'ann',
      input: { method: 'POST', path: '/pay', query: { to: 'bob' }, body: { n: 1 } },
    },
  ]);
});

test('a denied request is answered with 403, an error and the decision', async () => {
  const { ask } = await start({ documents: [ruleFor('pay', { permission: 'deny' })] });
  const answer = await ask({ headers: json, body: '{}' });
  expect(answer).toMatchObject({ code: 7, status: 403, headers: { 'content-type': 'application/json', 'x-tollgate-request-id': 'id-1' } });
  expect(JSON.parse(answer.body)).toMatchObject({
    error: expect.any(String),
    decision: { decision: 'deny', reason: expect.stringMatching(/^policy_denied: /), kind: 'terminal' },
  });
});

test('a throttled request is answered with 429 and the time to wait', async () => {
  const { ask } = await start({ documents: [ruleFor('pay', { rateLimit: 1 })] });
  expect((await ask({ body: '{}', headers: json })).status).toBe(200);
  expect(await ask({ body: '{}', headers: json })).toMatchObject({ code: 8, status: 429, headers: { 'retry-after': '61' } });
});

test('the tool is the one in the route, by method if it says so, else the one in the path', async () => {
  const { ask, check, sidecar } = await start();
  await ask({ method: 'GET', route: { tollgate_tool: 'pay', tollgate_name_by_method: 'true' } });
  await ask({ method: 'GET', path: '/tools/billing/invoices?a=1', route: {} });
  const metadata = { filterMetadata: { tollgate: { fields: { tool: { stringValue: 'ledger' }, name_by_method: { boolValue: true } } } } };
  const request = httpCheck({ method: 'GET', route: {} });
  await check({ attributes: { ...request.attributes, routeMetadataContext: metadata } });
  expect((await sidecar.entries()).map(({ tool, input }) => [tool, input])).toEqual([
    ['pay.GET', { method: 'GET', path: '/pay', query: { to: 'bob' } }],
    ['billing.GET', { method: 'GET', path: '/invoices', query: { a: '1' } }],
    ['ledger.GET', { method: 'GET', path: '/pay', query: { to: 'bob' } }],
  ]);
});

test('raw headers are read like the others', async () => {
  const { check, sidecar } = await start();
  const raw = [
    ['Authorization', `Bearer ${own}`],
    ['content-type', 'application/json'],
    ['x-tollgate-agent', 'clerk'],
  ].map(([name = '', value = '']) => ({ key: name, rawValue: Buffer.from(value) }));
  const answer = answerOf(
    await check({
      attributes: {
        request: { http: { method: 'POST', path: '/', headerMap: { headers: raw }, rawBody: Buffer.from('{}') } },
        contextExtensions: { tollgate_tool: 'pay' },
      },
    }),
  );
  expect(answer).toMatchObject({ status: 200, removed: ['authorization', 'x-tollgate-agent'] });
  expect(await sidecar.entries()).toMatchObject([{ agentName: 'clerk', input: { body: {} } }]);
});

const route = { tollgate_tool: 'pay' };
const byMethod = { tollgate_tool: 'pay', tollgate_name_by_method: 'true' };
const mcp = { tollgate_mcp_server: 'github' };
const rpc = (method: string, params: object = {}): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const call = rpc('tools/call', { name: 'delete_repo', arguments: { repo: 'x' } });

test.each<readonly [string, number, Http]>([
  ['no key', 401, { headers: { authorization: '' } }],
  ['an unknown key', 401, { headers: { authorization: `Bearer ${keyText('absent')}` } }],
  ['two keys', 401, { headers: { authorization: `Bearer ${own},Bearer ${own}` } }],
  ['a key without the scope', 403, { headers: { authorization: `Bearer ${keyText('reader')}` } }],
  ['an unknown tier', 400, { headers: { 'x-tollgate-tier': 'root' } }],
  ['no route', 400, { route: {} }],
  ['the path of an unknown tool', 400, { path: '/tools/absent/x', route: {} }],
  ['dots', 400, { path: '/a/../b', route }],
  ['escaped dots', 400, { path: '/a/%2e%2e/b', route }],
  ['an escaped slash', 400, { path: '/a%2Fb', route }],
  ['two slashes', 400, { path: '//evil/x', route }],
  ['a backslash', 400, { path: '/a\\b', route }],
  ['NUL', 400, { path: '/a%00', route }],
  ['a whole address', 400, { path: 'http://evil/x', route }],
  ['an upgrade', 400, { method: 'GET', headers: { upgrade: 'websocket' }, route }],
  ['a method override', 400, { headers: { ...json, 'x-http-method-override': 'DELETE' }, body: '{}', route }],
  ['a method override with underscores', 400, { headers: { ...json, x_http_method_override: 'DELETE' }, body: '{}', route }],
  ['a method in small letters', 400, { method: 'post', headers: json, body: '{}', route: byMethod }],
  ['a method in mixed letters', 400, { method: 'Post', headers: json, body: '{}', route }],
  ['a method with an escape', 400, { method: 'P%4fST', headers: json, body: '{}', route: byMethod }],
  ['a method that no tool takes', 400, { method: 'TRACE', route }],
  ['a method in small letters, by path', 400, { method: 'post', path: '/tools/billing/x', headers: json, body: '{}', route: {} }],
  [
    'a method that the tool of the path does not take',
    400,
    { method: 'PATCH', path: '/tools/billing/x', headers: json, body: '{}', route: {} },
  ],
  ['a path override', 400, { headers: { 'x-original-url': '/admin' }, method: 'GET', route }],
  ['JSON with a key twice', 400, { headers: json, body: '{"a":1,"a":2}' }],
  ['JSON in UTF-16', 400, { headers: { 'content-type': 'application/json; charset=utf-16' }, body: '{}' }],
  ['a batch of calls', 400, { headers: json, body: `[${call}]`, route: mcp }],
  ['a message with a key twice', 400, { headers: json, body: call.replace('"id":1', '"id":1,"method":"ping"'), route: mcp }],
  ['a message with a look-alike key', 400, { headers: json, body: rpc('tools/call', { name: 'read', Name: 'delete_repo' }), route: mcp }],
  ['a method in capitals', 400, { headers: json, body: rpc('Tools/Call', { name: 'x' }), route: mcp }],
  ['an unknown method', 400, { headers: json, body: rpc('tools/execute', { name: 'x' }), route: mcp }],
  [
    'a notification that is a call',
    400,
    { headers: json, body: '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}', route: mcp },
  ],
  ['a message whose content type is not JSON', 400, { headers: { 'content-type': 'text/plain' }, body: call, route: mcp }],
  ['a message without a type', 400, { body: call, route: mcp }],
  ['a compressed message', 400, { headers: { ...json, 'content-encoding': 'gzip' }, body: call, route: mcp }],
  ['a message that was not shown', 400, { headers: { ...json, 'content-length': '99' }, route: mcp }],
  ['a message that is shorter than it says', 400, { headers: { ...json, 'content-length': '9999' }, body: call, route: mcp }],
  ['a message that is longer than it says', 400, { headers: { ...json, 'content-length': '2' }, body: call, route: mcp }],
  ['a body of GET that is not shown', 400, { method: 'GET', protocol: 'HTTP/2', headers: json, route: mcp }],
  ['half a message', 400, { headers: { ...json, 'x-envoy-auth-partial-body': 'true' }, body: call, route: mcp }],
  ['a header that names another method', 400, { headers: { ...json, 'mcp-method': 'tools/list' }, body: call, route: mcp }],
  ['a header that names another tool', 400, { headers: { ...json, 'mcp-name': 'read' }, body: call, route: mcp }],
  ['a message by PUT', 400, { method: 'PUT', headers: json, body: call, route: mcp }],
  ['a body of GET', 400, { method: 'GET', headers: json, body: call, route: mcp }],
])('%s is rejected with %i, and leaves no entry', async (_, status, asked) => {
  const { ask, sidecar, failures } = await start({ keys: [key(), key({ id: 'reader', scopes: ['sidecar.sync'] })] });
  const answer = await ask(asked);
  expect({ status: answer.status, allowed: answer.code === 0 }).toEqual({ status, allowed: false });
  expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String), decision: { decision: 'deny' } });
  expect(await sidecar.entries()).toEqual([]);
  expect(failures).toEqual([]);
});

test('a check without a request, and a check without policy, is rejected', async () => {
  const { check } = await start();
  expect(answerOf(await check({}))).toMatchObject({ status: 400 });
  expect(answerOf(await check({ attributes: {} }))).toMatchObject({ status: 400 });
  const none = await start(null);
  expect(await none.ask()).toMatchObject({ code: 14, status: 503 });
});

test('calls within MCP messages are decided by their bodies', async () => {
  const { ask, sidecar } = await start({ documents: [ruleFor('github.delete_repo', { permission: 'deny' })] });
  const post = (body: string, headers: Readonly<Record<string, string>> = json) => ask({ path: '/mcp', headers, body, route: mcp });
  expect((await post(call)).status).toBe(403);
  expect(
    (await post(rpc('tools/call', { name: 'list_repos' }), { ...json, 'mcp-method': 'tools/call', 'mcp-name': 'list_repos' })).status,
  ).toBe(200);
  expect((await post(rpc('resources/read', { uri: 'file:///x' }))).status).toBe(200);
  for (const passing of [
    rpc('tools/list'),
    rpc('initialize'),
    rpc('ping'),
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
  ])
    expect(await post(passing)).toMatchObject({ status: 200, removed: ['authorization'] });
  expect(await ask({ method: 'GET', path: '/mcp', route: mcp })).toMatchObject({ status: 200 });
  expect((await sidecar.entries()).map(({ tool, code, input }) => [tool, code, input])).toEqual([
    ['github.delete_repo', 'policy_denied', { repo: 'x' }],
    ['github.list_repos', 'allowed', {}],
    ['github.resources/read', 'allowed', { uri: 'file:///x' }],
  ]);
});

test('where policy redacts, nothing passes that is not visible or cannot be replaced', async () => {
  const { ask } = await start({ documents: [ruleFor('pay', { transform: 'redact' })] });
  const elsewhere = { tollgate_tool: 'pay', tollgate_outputs: 'elsewhere' };
  const refusal = async (asked: Http) => {
    const { status, body } = await ask(asked);
    return status === 200 ? 'allowed' : /redaction_unsupported: [^"]*/.exec(body)?.[0];
  };
  expect(await refusal({ headers: json, body: '{}' })).toMatch(/the output, and this caller does not send outputs here/);
  expect(await refusal({ headers: json, body: '{}', route: elsewhere })).toBe('allowed');
  expect(await refusal({ headers: json, body: JSON.stringify({ to: mail }), route: elsewhere })).toMatch(/cannot take a changed one/);
  expect(await refusal({ path: `/pay?to=${mail}`, headers: json, body: '{}', route: elsewhere })).toMatch(/cannot take a changed one/);
  expect(await refusal({ headers: { 'content-type': 'image/png' }, body: 'PNG', route: elsewhere })).toMatch(/contains bytes/);
  expect(await refusal({ headers: { ...json, 'content-length': '99' }, route: elsewhere })).toMatch(/is not shown here/);
  expect(await refusal({ headers: { ...json, 'x-envoy-auth-partial-body': 'true' }, body: '{}', route: elsewhere })).toMatch(
    /is not shown here/,
  );
});

test.each(['email=bob@acme-mail.eu', `token ghp_16C7e42F292c6912E7710c838347Ae178B4a`])(
  'where policy redacts, no header passes that would have to be redacted: %s',
  async (secret) => {
    const { ask, sidecar } = await start({ documents: [ruleFor('pay', { transform: 'redact' })] });
    const elsewhere = { tollgate_tool: 'pay', tollgate_outputs: 'elsewhere' };
    for (const name of ['x-custom', 'cookie', 'user-agent', ':authority'])
      expect(await ask({ headers: { ...json, [name]: secret }, body: '{}', route: elsewhere })).toMatchObject({
        status: 403,
        body: expect.stringContaining('redaction_unsupported: policy redacts the input, and what is forwarded with it holds'),
      });
    const usual = {
      'x-tollgate-unknown': secret,
      ':path': '/pay',
      'user-agent': 'curl/8.5.0',
      'x-request-id': '6f1c0e0b-7d3c-4b0a-9a8e-1f2d3c4b5a69',
    };
    const traced = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'x-forwarded-proto': 'https',
      ':authority': 'pay.internal',
    };
    expect((await ask({ headers: { ...json, ...usual, ...traced }, body: '{}', route: elsewhere })).status).toBe(200);
    expect((await ask({ headers: { ...json, 'x-custom': secret }, body: '{}', route: { tollgate_tool: 'other' } })).status).toBe(200);
    expect(JSON.stringify(await sidecar.entries())).not.toMatch(/acme-mail|ghp_/);
  },
);

test('an entry contains the trace of the request', async () => {
  const { ask, sidecar } = await start();
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  expect((await ask({ headers: { ...json, traceparent }, body: '{}', route: { tollgate_tool: 'pay' } })).status).toBe(200);
  expect(await sidecar.entries()).toMatchObject([{ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }]);
});

test.each<readonly [string, unknown, Http]>([
  ['a length and nothing', { shown: false }, { headers: { ...json, 'content-length': '99' } }],
  ['a POST without a length', { shown: false }, { headers: json }],
  ['a length of 0', undefined, { headers: { ...json, 'content-length': '0' } }],
  ['less than its length', { shown: false }, { headers: { ...json, 'content-length': '50' }, body: '{}' }],
  ['more than its length', { shown: false }, { headers: { ...json, 'content-length': '1' }, body: '{}' }],
  ['a length that is none', { shown: false }, { headers: { ...json, 'content-length': '2,2' }, body: '{}' }],
  ['a length and chunks', { shown: false }, { headers: { ...json, 'transfer-encoding': 'chunked' }, body: '{}' }],
  ['a type alone, over HTTP/2', { shown: false }, { method: 'DELETE', protocol: 'HTTP/2', headers: json }],
  ['a type alone, over who knows what', { shown: false }, { method: 'GET', headers: json }],
  ['a type alone, over HTTP/1.1, where it has no body', undefined, { method: 'GET', protocol: 'HTTP/1.1', headers: json }],
  ['neither type nor length', undefined, { method: 'DELETE', protocol: 'HTTP/2' }],
])('of a request with %s, its body is recorded as %o', async (_, body, asked) => {
  const { ask, sidecar } = await start();
  expect((await ask(asked)).status).toBe(200);
  expect((await sidecar.entries()).map(({ input }) => (input as { readonly body?: unknown }).body)).toEqual([body]);
});

test('a failure of ours is a denial, and no error that a gateway can take for permission', async () => {
  const { ask, sidecar, failures } = await start();
  sidecar.spoolFault = 'bug';
  expect(await ask({ headers: json, body: '{}' })).toMatchObject({ code: 7, status: 500 });
  expect(failures).toHaveLength(1);
  sidecar.spoolFault = 'full';
  expect(await ask({ headers: json, body: '{}' })).toMatchObject({ status: 403, body: expect.stringContaining('audit_unavailable') });
});
