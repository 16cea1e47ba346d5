// What all doors of a process share: the request rate of a key, the headers that describe a caller, and the calls that
// belong to one run.
import { hosts } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { request } from 'undici';
import { claimedBy, readCallerHeaders } from '../../../../sidecar/doors/entrance/caller-headers.ts';
import { hostNamed } from '../../../../proto/hosts/index.ts';
import type { HttpTool } from '../../../../sidecar/upstream/http-tool-definition.ts';
import { createRequestLimit } from '../../../../sidecar/doors/entrance/request-limit.ts';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { agent, key, keyText, type World } from '../../../support/snapshots.ts';
import { answerOf, httpCheck, jsonOf, mcpRequest, startTestMesh } from '../mesh/asked-by-a-gateway.ts';

const billing: HttpTool = {
  // No server listens there: what is refused here is refused before it is forwarded.
  origin: 'http://127.0.0.1:1',
  basePath: '',
  headers: {},
  forwardHeaders: [],
  methods: ['GET', 'POST'],
  nameByMethod: false,
  timeoutMs: 1_000,
};

async function start(world: World = {}, requestsPerSecond = 1) {
  const sidecar = await createTestSidecar({ world });
  const { app, entrance, registry } = createTestServer(sidecar, {
    requestsPerSecond,
    httpTools: new Map([['billing', billing]]),
    toolServers: { find: (_index, name) => ({ name, reach: { kind: 'unreachable', problem: 'is away' }, admitted: null }) },
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  async function ask(url: string, body: object, { name = 'key1', headers = {} }: { name?: string; headers?: object } = {}) {
    const sent = { authorization: `Bearer ${keyText(name)}`, 'content-type': 'application/json', ...headers };
    const answer = await request(origin + url, { method: 'POST', headers: { ...sent }, body: JSON.stringify(body) });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers, text, body: JSON.parse(text || 'null') as unknown };
  }
  return { sidecar, entrance, registry, ask };
}

const use = { tool_name: 'mail.send', tool_input: {}, session_id: 's1' };
const tooMany = 'at most 1 requests a second for each key';

test('a key has one second of requests at once, then a fixed number each second, whatever was refused in between', () => {
  const clock = { at: 0, now: () => clock.at };
  const limit = createRequestLimit(clock, 4);
  const taken = (times: number): readonly boolean[] => Array.from({ length: times }, () => limit.take('a') === null);
  expect(taken(6)).toEqual([true, true, true, true, false, false]);
  expect(limit.take('a')).toEqual({
    status: 429,
    code: 'request_limit',
    error: 'at most 4 requests a second for each key',
    retryAfterMs: 250,
  });
  clock.at = 249;
  expect(taken(1)).toEqual([false]);
  clock.at = 250;
  expect(taken(2)).toEqual([true, false]);
  clock.at = 3_600_000;
  expect(taken(5)).toEqual([true, true, true, true, false]);
  // A clock that was set back adds nothing and removes nothing.
  clock.at = 1_000;
  expect(taken(1)).toEqual([false]);
});

test('keys are counted separately, and the number of remembered keys is bounded', () => {
  const limit = createRequestLimit({ now: () => 0 }, 1, 2);
  expect([limit.take('a'), limit.take('b')]).toEqual([null, null]);
  expect(limit.take('a')?.status).toBe(429);
  // The third key evicts the one that was quiet longest.
  expect([limit.take('c'), limit.take('b')]).toEqual([null, null]);
});

test('a request over the limit at the hook endpoint gets 200 and a decision with the time to retry, and the next second is free', async () => {
  const { ask, sidecar, registry } = await start();
  expect(await ask('/govern/tool-use', use)).toMatchObject({ status: 200 });
  const { status, headers, body } = await ask('/acme/govern/tool-use', use);
  expect({ status, body }).toEqual({
    status: 200,
    body: { decision: 'deny', reason: `request_limit: ${tooMany}`, kind: 'retry', retryAfterMs: 1_000 },
  });
  expect(headers).not.toHaveProperty('retry-after');
  expect(await ask('/govern/tool-output', { ...use, tool_output: '' })).toMatchObject({
    status: 200,
    body: { action: 'block', reason: `request_limit: ${tooMany}`, retryAfterMs: 1_000 },
  });
  expect(await registry.metrics()).toContain('tollgate_throttled_requests_total 2');
  sidecar.time.now += 1_000;
  expect(await ask('/govern/tool-use', use)).toMatchObject({ status: 200, body: { decision: 'allow' } });
});

test('all refusals of a key, at any door, are in one entry with their number', async () => {
  const keys = [key(), key({ id: 'key2', uid: null, role: 'admin' })];
  const { ask, sidecar, entrance } = await start({ keys });
  await ask('/govern/tool-use', use);
  for (let n = 0; n < 5; n += 1) await ask('/govern/tool-use', []);
  await ask('/mcp/github', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await ask('/tools/billing/pay', {});
  await ask('/govern/tool-use', use, { name: 'key2' });
  await ask('/govern/tool-output', use, { name: 'key2' });
  expect(await sidecar.entries()).toHaveLength(2);
  await entrance.close();
  const refused = (await sidecar.entries()).slice(2);
  expect(refused).toMatchObject([
    {
      hookEvent: 'PreToolUse',
      decision: 'deny',
      code: 'request_limit',
      decisionReason: "request_limit: 7 requests were refused unread in the last second: 7 over the key's limit of requests a second",
      tool: '',
      sub: 'ann',
      userEmail: 'ann@acme.test',
      keyId: 'key-1',
      sessionId: 'key-1',
    },
    { decisionReason: expect.stringMatching(/^request_limit: 1 request was refused/), sub: 'apikey:key2', keyId: 'key2', role: 'admin' },
  ]);
  await entrance.close();
  expect(await sidecar.entries()).toHaveLength(4);
});

test('another key has its own limit, and an invalid key is not counted', async () => {
  const { ask } = await start({ keys: [key(), key({ id: 'key2' })] });
  for (const status of [401, 401]) expect(await ask('/govern/tool-use', use, { name: 'absent' })).toMatchObject({ status });
  for (const name of ['key1', 'key2']) expect(await ask('/govern/tool-use', use, { name })).toMatchObject({ status: 200 });
});

test('requests at one door count at every other door', async () => {
  const { ask, sidecar } = await start();
  expect(await ask('/govern/tool-use', use)).toMatchObject({ status: 200 });
  expect(await ask('/mcp/github', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1' },
    body: { jsonrpc: '2.0', id: null, error: { message: `request_limit: ${tooMany}` } },
  });
  expect(await ask('/tools/billing/pay', {})).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1' },
    body: { error: tooMany, decision: { decision: 'deny', kind: 'retry', retryAfterMs: 1_000 } },
  });
  expect(await sidecar.entries()).toHaveLength(1);
});

test.each(hosts)('%s gets the refusal in its own format, with 200', async (name) => {
  const { ask } = await start();
  const host = hostNamed(name);
  const event = {
    hook_event_name: name === 'opencode' ? 'tool.execute.before' : 'PreToolUse',
    tool: 'Bash',
    tool_name: 'Bash',
    tool_input: {},
    session_id: 's1',
    toolName: 'Bash',
    toolArgs: '{}',
  };
  await ask('/govern/tool-use', use);
  const answer = await ask(`/hooks/${name}`, event);
  expect(answer).toMatchObject({ status: 200, headers: { 'x-tollgate-answer': 'deny' } });
  expect(host?.before.denies(answer.text)).toBe(true);
  expect(answer.text).toContain('request_limit');
});

test('a mesh gets 429, or resource exhausted, and its requests count for the whole process', async () => {
  const { check, checkRequest } = await startTestMesh({}, 1);
  expect(answerOf(await check(httpCheck({ route: { tollgate_tool: 'pay', tollgate_outputs: 'elsewhere' } }))).status).toBe(200);
  const answer = answerOf(await check(httpCheck()));
  expect(answer).toMatchObject({ code: 8, status: 429, headers: { 'retry-after': '1' } });
  expect(JSON.parse(answer.body)).toMatchObject({ error: tooMany, decision: { decision: 'deny', kind: 'retry', retryAfterMs: 1_000 } });
  const { error } = await checkRequest(mcpRequest('tools/call', { name: 'merge', arguments: {} }));
  expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: tooMany });
  expect(jsonOf(error?.mcpError)).toMatchObject({ decision: { kind: 'retry', retryAfterMs: 1_000 } });
});

test('calls of a session are one run at every door', async () => {
  const bot = agent({ id: 'bot', name: 'bot', maxToolCalls: 2, enabledTools: ['mail.*', 'billing'] });
  const pins = { tier: 'interactive', agent: 'bot', client: 'any' } as const;
  const { ask } = await start({ agents: [bot], keys: [key({ pins })] }, 100);
  const asksHost = async (): Promise<string> => (await ask('/hooks/claude-code', { ...use, hook_event_name: 'PreToolUse' })).text;
  expect(await ask('/govern/tool-use', use)).toMatchObject({ body: { decision: 'allow' } });
  expect(await asksHost()).toBe('{}');
  expect(await asksHost()).toContain('cap_tool_calls');
  const tool = await ask('/tools/billing/pay', {}, { headers: { 'x-tollgate-session': 's1' } });
  expect(tool).toMatchObject({ status: 403, body: { decision: { reason: expect.stringContaining('cap_tool_calls') } } });
});

test.each(['x-tollgate-agent', 'x-tollgate-tier', 'x-tollgate-session'])('a repeated %s header is refused at every proxy', async (name) => {
  const { ask, sidecar } = await start({}, 100);
  for (const path of ['/mcp/github', '/tools/billing/pay'])
    expect(await ask(path, {}, { headers: { [name]: ['api', 'api'] } })).toMatchObject({
      status: 400,
      text: expect.stringMatching(/twice|once/),
    });
  expect(await sidecar.entries()).toEqual([]);
  expect(readCallerHeaders({ [name]: ['api', 'api'] })).toEqual({
    problem: expect.stringMatching(/^X-Tollgate-\w+ must appear only once$/),
  });
});

test('where headers give no identity the key does, and a session of any length has a name that entries can hold', () => {
  const unnamed = { agent: '', tier: 'interactive', sessionId: null };
  for (const headers of [{}, { 'x-tollgate-agent': '', 'x-tollgate-tier': '' }, { 'x-tollgate-session': [''] }])
    expect(readCallerHeaders(headers)).toEqual(unnamed);
  const client = { name: 'http' };
  const claim = (sessionId: string) => claimedBy({ agent: 'bot', tier: 'api', sessionId: null }, { client, sessionId });
  expect(claim('s1')).toEqual({ sessionId: 's1', chain: ['bot'], delegatedTools: null, tier: 'api', client });
  expect(claim('s'.repeat(201)).sessionId).toMatch(/^[0-9a-f]{64}$/);
  expect(claim('s'.repeat(201))).toEqual(claim('s'.repeat(201)));
});

test.each([
  ['X-Tollgate-Agent', 'a\u00ad'],
  ['X-Tollgate-Session', 'x'.repeat(201)],
  ['X-Tollgate-Tier', 'root'],
])('a %s header in a wrong form is named', (name, value) => {
  expect(readCallerHeaders({ [name.toLowerCase()]: value })).toEqual({ problem: expect.stringMatching(new RegExp(`^${name} `)) });
});
