// Conditions over what Envoy and agentgateway show. What they do not show is undecided, and is in no entry.
import { expect, test } from 'vitest';
import { caseOf, denyWhen } from '../../../support/cased-rules.ts';
import { document, ruleFor, type World } from '../../../support/snapshots.ts';
import { answerOf, callOf, type Http, httpCheck, jsonOf, mcpRequest, mcpResponse, startTestMesh } from './asked-by-a-gateway.ts';

const json = { 'content-type': 'application/json' };
const deniedWhen = (when: string, tool = 'pay'): World => ({ documents: [ruleFor(tool, denyWhen(when))] });

async function start(world: World) {
  const mesh = await startTestMesh(world);
  return { ...mesh, ask: async (asked: Http = {}) => answerOf(await mesh.check(httpCheck(asked))) };
}

test('conditions read method, path, query and body of a request that Envoy shows', async () => {
  const { ask, sidecar } = await start(deniedWhen('args.method == "DELETE" || args.query.to != "bob" || args.body.amount > 100'));
  expect((await ask({ headers: json, body: '{"amount": 100}' })).status).toBe(200);
  expect((await ask({ headers: json, body: '{"amount": 101}' })).status).toBe(403);
  expect((await ask({ path: '/pay?to=eve', headers: json, body: '{"amount": 1}' })).status).toBe(403);
  expect((await ask({ method: 'DELETE', headers: { 'content-length': '0' } })).status).toBe(403);
  expect((await sidecar.entries())[0]?.input).toEqual({ method: 'POST', path: '/pay', query: { to: 'bob' }, body: { amount: 100 } });
});

const unseen: readonly (readonly [string, Http])[] = [
  ['that Envoy cut', { headers: { ...json, 'x-envoy-auth-partial-body': 'true' }, body: '{"amount": 1}' }],
  ['that is shorter than announced', { headers: { ...json, 'content-length': '500' }, body: '{"amount": 1}' }],
  ['that Envoy did not send', { headers: { ...json, 'content-length': '13' } }],
  ['of unknown length that Envoy did not send', { headers: { ...json, 'transfer-encoding': 'chunked' } }],
];

test.each(unseen)('a body %s is undecided, and its entry says that it was not shown', async (_, asked) => {
  for (const when of ['args.body.amount > 100', 'has(args.body.amount)', 'args.body == {}', 'args.body != null', 'size(args.body) > 3']) {
    const { ask, sidecar } = await start(deniedWhen(when));
    expect((await ask(asked)).status, when).toBe(403);
    const [entry] = await sidecar.entries();
    expect(entry, when).toMatchObject({ code: 'policy_denied', undecided: [{ reason: 'hidden', at: 'args.body' }] });
    expect(entry?.input).toMatchObject({ body: { shown: false } });
  }
  // It is there, and what does not read it is decided.
  expect((await (await start(deniedWhen('!has(args.query)'))).ask(asked)).status).toBe(200);
  // Redaction cannot read it, so nothing passes raw.
  const redacting = await start({ documents: [ruleFor('pay', { transform: 'redact' })] });
  expect(await redacting.ask({ ...asked, route: { tollgate_tool: 'pay', tollgate_outputs: 'elsewhere' } })).toMatchObject({
    status: 403,
    body: expect.stringContaining('redaction_unsupported'),
  });
});

test('a compressed body is undecided', async () => {
  const { ask, sidecar } = await start(deniedWhen('args.body.amount > 100'));
  expect((await ask({ headers: { ...json, 'content-encoding': 'gzip' }, body: '{"amount": 1}' })).status).toBe(403);
  expect((await sidecar.entries())[0]).toMatchObject({ undecided: [{ reason: 'type', at: 'args.body' }] });
});

test('what some servers read in another way is undecided: Envoy forwards the bytes of the caller', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = await start(deniedWhen('has(args.body.amount) && args.body.amount != "1"'));
  for (const text of ['{"amount":500}', '["amount",500]', '"amount"', '<amount>500</amount>'])
    expect((await body.ask({ headers: form, body: text })).status, text).toBe(403);
  expect((await body.sidecar.entries())[0]).toMatchObject({
    input: { body: { shown: false } },
    undecided: [{ reason: 'hidden', at: 'args.body' }],
  });
  for (const text of ['amount=1', 'a=%7B%22amount%22:500%7D'])
    expect((await body.ask({ headers: form, body: text })).status, text).toBe(200);

  const query = await start(deniedWhen('has(args.query.amount) && args.query.amount != "1"'));
  expect((await query.ask({ path: '/pay?to=bob;amount=500', headers: json, body: '{}' })).status).toBe(403);
  expect((await query.sidecar.entries())[0]).toMatchObject({ input: { query: { shown: false } } });
  for (const path of ['/pay?to=bob%3Bamount=500', '/pay;v=1?to=bob', '/pay?amount=1'])
    expect((await query.ask({ path, headers: json, body: '{}' })).status, path).toBe(200);
});

test('the input has the headers that conditions name, no credentials, and every occurrence', async () => {
  const { check, ask, sidecar } = await start(deniedWhen('args.headers["x-tenant"] == "b" || args.headers.cookie == "b"'));
  const headers = { ...json, 'x-tenant': 'a', 'x-other': 'secret', cookie: 'session=1' };
  // The cookie is hidden, so the whole condition is undecided.
  expect((await ask({ headers, body: '{}' })).status).toBe(403);
  sidecar.take(deniedWhen('args.headers["x-tenant"] == "b"'));
  expect((await ask({ headers, body: '{}' })).status).toBe(200);
  expect((await ask({ headers: { ...headers, 'x-tenant': 'b' }, body: '{}' })).status).toBe(403);
  expect((await ask({ headers: { ...headers, x_tenant: 'b' }, body: '{}' })).status).toBe(403);
  const request = httpCheck({ headers: { ...headers, 'content-length': '0' } });
  const pairs = [
    { key: 'x-tenant', value: 'a' },
    { key: 'X-Tenant', value: 'b' },
  ];
  const http = { ...request.attributes?.request?.http, headers: {}, headerMap: { headers: [...pairs, ...pairsOf(request)] } };
  expect(answerOf(await check({ attributes: { ...request.attributes, request: { http } } })).status).toBe(403);
  const inputs = (await sidecar.entries()).map(({ input }) => input);
  expect(inputs).toMatchObject([
    { headers: { 'x-tenant': 'a' } },
    { headers: { 'x-tenant': 'a' } },
    { headers: { 'x-tenant': 'b' } },
    { headers: { 'x-tenant': ['a', 'b'] } },
    { headers: { 'x-tenant': expect.arrayContaining(['a', 'b']) } },
  ]);
  expect(JSON.stringify(inputs)).not.toMatch(/secret|session|authorization/);
});

const pairsOf = ({ attributes }: ReturnType<typeof httpCheck>) =>
  Object.entries(attributes?.request?.http?.headers ?? {})
    .filter(([key]) => key !== 'x-tenant')
    .map(([key, value]) => ({ key, value }));

test('an MCP message through Envoy is decided by its arguments', async () => {
  const { ask } = await start(deniedWhen('args.amount > 100', 'github.pay'));
  const message = (args: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: args } });
  const asked = (args: object) => ask({ path: '/mcp', headers: json, body: message(args), route: { tollgate_mcp_server: 'github' } });
  expect((await asked({ amount: 100 })).status).toBe(200);
  expect((await asked({ amount: 101 })).status).toBe(403);
  expect((await asked({})).status).toBe(403);
});

test("agentgateway's calls are decided by their arguments, also with answers to questions of the server", async () => {
  const { checkRequest, sidecar } = await startTestMesh(deniedWhen('args.amount > 100', 'github.pay'));
  const asked = (params: object) => checkRequest(mcpRequest('tools/call', { name: 'pay', ...params }));
  const answers = { one: { action: 'accept', content: { amount: 1 } } };
  expect(await asked({ arguments: { amount: 100 } })).toMatchObject({ result: 'pass' });
  expect(await asked({ arguments: { amount: 101 } })).toMatchObject({ result: 'error' });
  expect(await asked({ arguments: { amount: 100 }, inputResponses: answers })).toMatchObject({ result: 'pass' });
  expect(await asked({ arguments: { amount: 101 }, inputResponses: answers })).toMatchObject({ result: 'error' });
  expect(await asked({ inputResponses: answers })).toMatchObject({ result: 'error' });
  // What is recorded holds the answers too.
  expect((await sidecar.entries())[2]?.input).toEqual({ arguments: { amount: 100 }, inputResponses: answers });
});

test('a read is decided by its params, and what is shown only as a result is undecided', async () => {
  const { checkRequest, checkResponse, sidecar } = await startTestMesh({
    documents: [
      document({
        tools: [
          ...ruleFor('github.resources/read', denyWhen('!args.uri.startsWith("file:///srv/")')).tools,
          ...ruleFor('github.completion/complete', denyWhen('has(args.ref.uri)')).tools,
        ],
      }),
    ],
  });
  expect(await checkRequest(mcpRequest('resources/read', { uri: 'file:///srv/a' }))).toMatchObject({ result: 'pass' });
  expect(await checkRequest(mcpRequest('resources/read', { uri: 'file:///etc/a' }))).toMatchObject({ result: 'error' });
  const { headers = [] } = mcpRequest('x', {});
  const key = headers[0]?.value?.toString() ?? '';
  const shown = mcpResponse('completion/complete', { completion: { values: [] } }, null, {
    metadataContext: { fields: { tollgate_authorization: { stringValue: key } } },
  });
  expect(await checkResponse(shown)).toMatchObject({ result: 'error' });
  expect((await sidecar.entries()).at(-1)).toMatchObject({ code: 'policy_denied', undecided: [{ reason: 'hidden', at: 'args' }] });
});

test('a list shows a tool that some input may call, and no tool that none may', async () => {
  const { checkRequest, checkResponse } = await startTestMesh({
    documents: [
      document({
        tools: [
          ...ruleFor('github.pay', denyWhen('args.amount > 100')).tools,
          ...ruleFor('github.wipe', { permission: 'deny', cases: [caseOf('args.sure == true', { transform: 'redact' })] }).tools,
        ],
      }),
    ],
  });
  const asked = await checkRequest(mcpRequest('tools/list', {}));
  const tools = ['pay', 'wipe', 'look'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const listed = await checkResponse(mcpResponse('tools/list', { tools }, callOf(asked)));
  expect(jsonOf(listed.mutated)).toMatchObject({ tools: [{ name: 'pay' }, { name: 'look' }] });
});

test('a call whose case redacts is denied where no output is shown, and another call of the tool is not', async () => {
  const rule = { cases: [caseOf('args.query.to == "bob"', { transform: 'redact' })] };
  const { ask, sidecar } = await start({ documents: [ruleFor('pay', rule)] });
  expect((await ask({ path: '/pay?to=ann', headers: json, body: '{}' })).status).toBe(200);
  expect((await ask({ path: '/pay?to=bob', headers: json, body: '{}' })).status).toBe(403);
  expect((await ask({ path: '/pay', headers: json, body: '{}' })).status).toBe(403);
  expect((await sidecar.entries()).map(({ code }) => code)).toEqual(['allowed', 'redaction_unsupported', 'redaction_unsupported']);
});
