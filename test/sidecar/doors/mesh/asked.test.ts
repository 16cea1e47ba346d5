// Requests through Envoy and agentgateway that policy asks a person for. The gateway forwards what is permitted, so each
// test counts the permits.
import { expect, test } from 'vitest';
import { BodyMemory } from '../../../../sidecar/doors/entrance/body-memory.ts';
import { asking, createAsked, settled, usesOf } from '../../../support/asked.ts';
import { through } from './as-agentgateway.ts';
import { answerOf, type Http, httpCheck, jsonOf, mcpRequest, own, startTestMesh } from './asked-by-a-gateway.ts';

const trace = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;

async function start(tool: string) {
  const asked = createAsked();
  const mesh = await startTestMesh(asking(tool), 1_000, undefined, new BodyMemory(), asked);
  return { ...asked, ...mesh, ask: async (http: Http = {}) => answerOf(await mesh.check(httpCheck(http))) };
}

const json = { 'content-type': 'application/json' };
const paying: Http = { headers: json, body: '{"amount":5}' };

test('Envoy: denied at once with the approval and the time to retry, and the same request passes once after the answer', async () => {
  const { ledger, ask, sidecar } = await start('pay');
  const denied = await ask(paying);
  expect(denied).toMatchObject({ code: 7, status: 403, headers: { 'retry-after': '5', 'content-type': 'application/json' } });
  expect(JSON.parse(denied.body)).toMatchObject({
    error: expect.stringMatching(/make exactly the same call again.*tollgate approvals show ap-1$/),
    decision: { decision: 'deny', kind: 'retry', approval_id: 'ap-1', reason: expect.stringMatching(/^approval_pending: /) },
  });
  expect((await ask({ ...paying, body: '{"amount":6}' })).status).toBe(403);
  ledger.approve('ap-1');
  expect((await ask(paying)).status).toBe(200);
  expect((await ask(paying)).status).toBe(403);
  expect((await sidecar.entries()).map(({ code, approval }) => [code, approval?.id])).toEqual([
    ['approval_pending', 'ap-1'],
    ['approval_pending', 'ap-2'],
    ['allowed', 'ap-1'],
    ['approval_pending', 'ap-3'],
  ]);
});

test('Envoy: what it forwards besides the input is shown and bound, and the headers of one request are not', async () => {
  const { ledger, ask } = await start('pay');
  const envoy = (id: string): Readonly<Record<string, string>> => ({
    ...json,
    ':authority': 'pay.example',
    ':path': '/pay?to=bob',
    ':method': 'POST',
    ':scheme': 'http',
    'x-forwarded-proto': 'http',
    'x-request-id': `6f1c2a9e-0000-4000-8000-${id}`,
    'x-envoy-expected-rq-timeout-ms': '15000',
    accept: '*/*',
    traceparent: trace,
    tracestate: `a=${id}`,
  });
  const request = (id: string, more: Readonly<Record<string, string>> = {}): Http => ({
    headers: { ...envoy(id), 'x-tenant': 'acme', ...more },
    body: '{"amount":5}',
  });
  await ask(request('000000000001'));
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({
    input: { method: 'POST', path: '/pay', query: { to: 'bob' }, body: { amount: 5 } },
    alsoForwarded: { headers: { ':authority': 'pay.example', 'x-tenant': 'acme' } },
  });
  ledger.approve('ap-1');
  for (const more of [
    { 'x-tenant': 'other' },
    { 'x-amount': '6' },
    { ':authority': 'other.example' },
    { 'x-request-id': 'pay someone else' },
    { accept: 'a very long text; with words' },
  ])
    expect((await ask(request('000000000002', more))).status).toBe(403);
  const passed = await ask(request('000000000003'));
  expect(passed.status).toBe(200);
  // It differs for each request and was not shown, so it is not forwarded.
  expect(passed.removed).toContain('tracestate');
});

test('Envoy: a session of MCP is shown and bound, unless it is the session that the approval is for', async () => {
  const { ledger, ask } = await start('pay');
  const request = (more: Readonly<Record<string, string>>): Http => ({ ...paying, headers: { ...json, ...more } });
  await ask(request({ 'mcp-session-id': 'one' }));
  expect(ledger.rows[0]?.ask.shownInput).not.toContain('alsoForwarded');
  const named = { 'x-tollgate-session': 'task', 'mcp-session-id': 'pay-to=eve' };
  await ask(request(named));
  expect(JSON.parse(ledger.rows[1]?.ask.shownInput ?? '')).toMatchObject({
    alsoForwarded: { headers: { 'mcp-session-id': 'pay-to=eve' } },
  });
  ledger.approve('ap-2');
  expect((await ask(request({ ...named, 'mcp-session-id': 'pay-to=mallory' }))).status).toBe(403);
  expect((await ask(request(named))).status).toBe(200);
});

test.each<readonly [string, Http]>([
  ['a body that Envoy did not send', { headers: { ...json, 'content-length': '12' } }],
  ['a compressed body', { headers: { ...json, 'content-encoding': 'gzip' }, body: 'x' }],
  ['a form that may be JSON', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: '{"amount"=1' }],
  ['a query that some servers read in another way', { ...paying, path: '/pay?to=bob;amount=9' }],
])('Envoy: %s cannot be asked for', async (_what, http) => {
  const { ledger, ask } = await start('pay');
  const denied = await ask(http);
  expect([denied.status, denied.body]).toEqual([403, expect.stringMatching(/call_malformed.*cannot be asked for/)]);
  expect(ledger.rows).toEqual([]);
});

test('Envoy: a gateway that gives up before the answer uses no approval', async () => {
  const { ledger, envoy, check, sidecar } = await start('pay');
  expect(answerOf(await check(httpCheck(paying))).status).toBe(403);
  ledger.approve('ap-1');
  let release = (): void => undefined;
  const { spool } = sidecar;
  const recording = new Promise<void>((done) => {
    release = done;
  });
  let held = 0;
  Object.assign(sidecar, {
    spool: {
      ...spool,
      appendAsync: async (text: string) => {
        held += 1;
        await recording;
        return spool.appendAsync(text);
      },
    },
  });
  const calling = envoy.Check(httpCheck(paying), () => undefined);
  await expect.poll(() => held).toBe(1);
  expect(usesOf(ledger, 'ap-1')).toBe(1);
  calling.cancel();
  // The cancellation has arrived once another request on the same connection has.
  const other = check(httpCheck({ method: 'GET', route: { tollgate_tool: 'look' } }));
  await expect.poll(() => held).toBe(2);
  release();
  await other;
  await expect.poll(() => usesOf(ledger, 'ap-1')).toBe(0);
  expect(answerOf(await check(httpCheck(paying))).status).toBe(200);
});

const mcp = { tollgate_mcp_server: 'github' };
const message = (args: object, more: object = {}, id = 1): Http => ({
  headers: json,
  route: mcp,
  body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'merge', arguments: args, ...more } }),
});

test('Envoy in front of an MCP server: the rest of the params is shown and bound, and the id and the progress token are not', async () => {
  const { ledger, ask } = await start('github.merge');
  await ask(message({ n: 1 }, { inputResponses: { q: {} }, requestState: 's', _meta: { progressToken: 1, note: 'x' } }));
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({
    input: { arguments: { n: 1 }, inputResponses: { q: {} } },
    alsoForwarded: { params: { requestState: 's', _meta: { note: 'x' } } },
  });
  ledger.approve('ap-1');
  const same = { inputResponses: { q: {} }, requestState: 's' };
  expect((await ask(message({ n: 1 }, { ...same, _meta: { note: 'y' } }))).status).toBe(403);
  expect((await ask(message({ n: 1 }, { ...same, _meta: { progressToken: 2, note: 'x' } }, 2))).status).toBe(200);
});

test('agentgateway: denied with the approval, and the same call reaches the server once after the answer', async () => {
  const mesh = await start('github.merge');
  const merge = { params: { name: 'merge', arguments: { n: 1 } }, headers: { tracestate: 'a=1' }, result: { content: [] } };
  const denied = await through(mesh, { key: own }, 'tools/call', merge);
  expect(denied).toEqual({
    params: null,
    headers: {},
    answer: { error: 'PERMISSION_DENIED', reason: expect.stringMatching(/approval_pending.*tollgate approvals show ap-1$/) },
  });
  const { error } = await mesh.checkRequest(mcpRequest('tools/call', merge.params));
  expect(jsonOf(error?.mcpError)).toMatchObject({ decision: { kind: 'retry', approval_id: expect.any(String) } });
  mesh.ledger.approve('ap-1');
  expect(await through(mesh, { key: own }, 'tools/call', { ...merge, params: { name: 'merge', arguments: { n: 2 } } })).toMatchObject({
    params: null,
  });
  const made = await through(mesh, { key: own }, 'tools/call', { ...merge, headers: { tracestate: 'a=2' } });
  expect(made).toMatchObject({ params: merge.params, answer: { content: [] } });
  expect(made.headers).not.toHaveProperty('tracestate');
  expect(await through(mesh, { key: own }, 'tools/call', merge)).toMatchObject({ params: null });
});

test('agentgateway: headers and params besides the arguments are shown and bound', async () => {
  const { ledger, checkRequest } = await start('github.merge');
  const request = (params: object, headers: Readonly<Record<string, string>> = {}) =>
    checkRequest(
      mcpRequest(
        'tools/call',
        { name: 'merge', arguments: {}, ...params },
        {
          headers: Object.entries({ authorization: `Bearer ${own}`, ...headers }).map(([name, value]) => ({
            key: name,
            value: Buffer.from(value),
          })),
        },
      ),
    );
  await request({ _meta: { note: 'x', progressToken: 1 } }, { 'x-tenant': 'acme', traceparent: trace });
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({
    input: {},
    alsoForwarded: { headers: { 'x-tenant': 'acme' }, params: { _meta: { note: 'x' } } },
  });
  ledger.approve('ap-1');
  expect((await request({ _meta: { note: 'y' } }, { 'x-tenant': 'acme' })).result).toBe('error');
  expect((await request({ _meta: { note: 'x' } }, { 'x-tenant': 'other' })).result).toBe('error');
  expect((await request({ _meta: { note: 'x', progressToken: 2 } }, { 'x-tenant': 'acme' })).result).toBe('pass');
  await settled();
  expect(usesOf(ledger, 'ap-1')).toBe(1);
});
