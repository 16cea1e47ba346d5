// How policy changes lists, calls and outcomes behind the proxy.
import { bounds, toolDefinitionDigest } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { compileDocument } from '../../../../sidecar/engine/compile/compile.ts';
import { agent, ruleFor, type World } from '../../../support/snapshots.ts';
import {
  behind,
  type Behind,
  call,
  json,
  metaOf,
  modernCall,
  modernHeaders,
  overHttp,
  record,
  rpcOf,
  send,
  serversOf,
  startProxied,
} from './proxied.ts';

const mail = 'bob@acme-mail.eu';
const tool = (name: string, more: object = {}): object => ({ name, description: `does ${name}`, inputSchema: { type: 'object' }, ...more });
const listing = (id = 1): object => ({ jsonrpc: '2.0', id, method: 'tools/list' });
const modernListing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: metaOf() } };

/** Adds the raw answers to calls, and the names that are listed. */
async function governed(around: Parameters<typeof behind>[0] = {}) {
  const one = Object.assign(await behind(around), {
    result: '"result":{"content":[]}',
    tools: [tool('b'), tool('a'), tool('c')],
  });
  const { up } = one;
  up.tools = null;
  up.answer = (heard, response) => {
    const { id, method } = rpcOf(heard);
    if (id === undefined) response.writeHead(202).end();
    else if (method === 'tools/list')
      json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ttlMs: 5, cacheScope: 'public', tools: one.tools } });
    else json(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${one.result}}`);
  };
  return one;
}

const namesIn = ({ body }: Awaited<ReturnType<typeof send>>): readonly string[] =>
  ((body.result?.['tools'] ?? []) as readonly { name: string }[]).map(({ name }) => name);
const textIn = ({ body }: Awaited<ReturnType<typeof send>>): string => JSON.stringify(body.result?.['content']);
const calls = ({ up }: Behind): readonly string[] => up.heard.filter(({ body }) => body.includes('tools/call')).map(({ body }) => body);

describe('lists', () => {
  test('show what policy allows, in a fixed order, each definition as it was written', async () => {
    const one = await governed({ documents: [ruleFor('s.c', { permission: 'deny' })] });
    one.up.answer = (heard, response) =>
      json(
        response,
        `{"jsonrpc":"2.0", "id":${rpcOf(heard).id}, "result":{"tools":[ {"name":"c"}, {"name":"b","x":12345678901234567890, "y":1.50},{"name":"a"} ],"nextCursor":"n"}}`,
      );
    expect((await send(one.proxied, 's', { body: listing() })).text).toBe(
      '{"jsonrpc":"2.0", "id":1, "result":{"tools":[{"name":"a"},{"name":"b","x":12345678901234567890, "y":1.50}],"nextCursor":"n"}}',
    );
  });

  test('show an agent the tools that it has', async () => {
    const one = await governed({ agents: [agent({ enabledTools: ['s.a'] })] });
    expect(namesIn(await send(one.proxied, 's', { body: listing(), headers: { 'x-tollgate-agent': 'bot' } }))).toEqual(['a']);
    expect(namesIn(await send(one.proxied, 's', { body: listing() }))).toEqual(['a', 'b', 'c']);
  });

  test('do not change with limits and caps that are used up', async () => {
    const one = await governed({ documents: [ruleFor('s.a', { rateLimit: 1 })] });
    const before = await send(one.proxied, 's', { body: listing() });
    await send(one.proxied, 's', { body: call('a', {}, 2) });
    const throttled = await send(one.proxied, 's', { body: call('a', {}, 3) });
    expect(throttled.body.result).toMatchObject({ isError: true });
    expect(textIn(throttled)).toContain('rate_limited');
    expect(calls(one)).toHaveLength(1);
    expect((await send(one.proxied, 's', { body: listing() })).text).toBe(before.text);
  });

  test('a denied call says in its `_meta` which other calls would be allowed', async () => {
    const cases = [{ name: 'few', when: 'args.n == 1', rateLimit: 1 }];
    const rules = { interactive: { cases }, subagent: { cases }, background: { cases }, api: { cases } };
    const one = await governed({ documents: [compileDocument({ layer: 'workspace' }, { tools: { 's.a': rules } })] });
    await send(one.proxied, 's', { body: listing() });
    await send(one.proxied, 's', { body: call('a', { n: 1 }, 2) });
    const throttled = await send(one.proxied, 's', { body: call('a', { n: 1 }, 3) });
    expect(throttled.body.result).toMatchObject({
      isError: true,
      _meta: { 'tollgate/denial': { code: 'rate_limited', remedies: [{ kind: 'no_case', layer: 'workspace' }] } },
    });
    expect((await send(one.proxied, 's', { body: call('a', { n: 2 }, 4) })).body.result).not.toHaveProperty('isError');
  });

  test('are private in the newest revision', async () => {
    const one = await governed();
    const { body } = await send(one.proxied, 's', { body: modernListing, headers: modernHeaders('tools/list') });
    expect(body.result).toMatchObject({ cacheScope: 'private', ttlMs: 5 });
  });

  test('show only the first of two tools with one name, and none without a name', async () => {
    const one = await governed();
    one.tools = [tool('a', { title: 'first' }), tool('a', { title: 'second' }), { description: 'nameless' }];
    expect((await send(one.proxied, 's', { body: listing() })).body.result?.['tools']).toEqual([tool('a', { title: 'first' })]);
  });
});

describe('denials', () => {
  test('of a tool that the caller does not see look as if the tool did not exist, and both are recorded', async () => {
    const one = await governed({ documents: [ruleFor('s.a', { permission: 'deny' })] });
    const got = await send(one.proxied, 's', { body: call('a') });
    expect(got.body.error).toEqual({ code: -32_602, message: 'Unknown tool: a' });
    expect(one.up.heard).toEqual([]);
    expect(await one.proxied.codes()).toEqual(['PreToolUse s.a policy_denied']);
  });

  test('that are temporary are results that a model can act on', async () => {
    const one = await governed({ settings: { frozen: true } });
    const got = await send(one.proxied, 's', { body: modernCall('a'), headers: modernHeaders('tools/call', 'a') });
    expect(got.body.result).toMatchObject({ isError: true, resultType: 'complete' });
    expect(textIn(got)).toContain('workspace_frozen');
    expect(one.up.heard).toEqual([]);
    expect(await one.proxied.codes()).toEqual(['PreToolUse s.a workspace_frozen']);
  });

  test('by a cap are results too', async () => {
    const one = await governed({ agents: [agent({ enabledTools: ['s.*'], maxToolCalls: 1 })] });
    const headers = { 'x-tollgate-agent': 'bot' };
    await send(one.proxied, 's', { body: call('a', {}, 1), headers });
    expect(textIn(await send(one.proxied, 's', { body: call('a', {}, 2), headers }))).toContain('cap_tool_calls');
    expect(calls(one)).toHaveLength(1);
  });

  test('nothing passes where nothing can be recorded', async () => {
    const one = await governed();
    one.proxied.sidecar.spoolFault = 'full';
    expect(textIn(await send(one.proxied, 's', { body: call('a') }))).toContain('audit_unavailable');
    expect(calls(one)).toEqual([]);
  });

  test('a retry with other arguments is decided again, and not by the earlier decision', async () => {
    const one = await governed({ documents: [ruleFor('s.a', { transform: 'redact' })] });
    await send(one.proxied, 's', { body: call('a', { to: 'ann' }, 1) });
    await send(one.proxied, 's', { body: call('a', { to: mail }, 1) });
    expect(calls(one)[0]).toContain('"to":"ann"');
    expect(calls(one)[1]).toContain('[redacted:email');
    expect((await one.proxied.codes()).filter((code) => code.startsWith('Pre'))).toHaveLength(2);
  });

  test('a read is decided under the name of its method', async () => {
    const one = await governed({ documents: [ruleFor('s.resources/read', { permission: 'deny' })] });
    const got = await send(one.proxied, 's', { body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'file:///a' } } });
    expect(got.body.error?.message).toContain('policy_denied');
    expect(one.up.heard).toEqual([]);
  });
});

describe('redaction', () => {
  const redacting: World = { documents: [ruleFor('s.a', { transform: 'redact' })] };
  const results: readonly (readonly [string, string])[] = [
    ['text', `"result":{"content":[{"type":"text","text":"write to ${mail}"}]}`],
    ['structured content', `"result":{"content":[],"structuredContent":{"to":["${mail}"]}}`],
    ['a key', `"result":{"content":[],"structuredContent":{"${mail}":1}}`],
    ['a resource within', `"result":{"content":[{"type":"resource","resource":{"uri":"a:b","text":"${mail}"}}]}`],
    ['_meta', `"result":{"content":[],"_meta":{"x":"${mail}"}}`],
    ['a failure', `"result":{"content":[{"type":"text","text":"no ${mail}"}],"isError":true}`],
    ['an error', `"error":{"code":-32603,"message":"no ${mail}","data":{"at":"${mail}"}}`],
    ['text in escapes', `"result":{"content":[{"type":"text","text":"${mail.replace('@', String.raw`\u0040`)}"}]}`],
  ];
  test.each(results)('reaches %s', async (_what, result) => {
    const one = await governed(redacting);
    one.result = result;
    const got = await send(one.proxied, 's', { body: call('a') });
    expect(got.text).toContain('[redacted:email');
    expect(JSON.stringify(got.body)).not.toContain(mail);
    expect(got.body.id).toBe(1);
    if (got.body.error !== undefined) expect(got.body.error.code).toBe(-32_603);
    expect((await one.proxied.sidecar.entries()).at(-1)).toMatchObject({ hookEvent: 'PostToolUse', outcome: { action: 'redact' } });
  });

  test('leaves every other character of a result as it was written', async () => {
    const one = await governed(redacting);
    one.result = `"result" : { "content":[], "structuredContent":{"n":12345678901234567890123, "f":1.10, "to":"${mail}" } }`;
    expect((await send(one.proxied, 's', { body: call('a') })).text).toMatch(
      /^\{"jsonrpc":"2\.0","id":1,"result" : \{ "content":\[\], "structuredContent":\{"n":12345678901234567890123, "f":1\.10, "to":"\[redacted:email[^"]*\]" \} \}\}$/,
    );
  });

  test('forwards a result without findings as it was written', async () => {
    for (const world of [{}, redacting]) {
      const one = await governed(world);
      one.result = '"result":{"structuredContent":{"n":9007199254740993, "f":1e400},"content":[]}';
      expect((await send(one.proxied, 's', { body: call('a') })).text).toBe(`{"jsonrpc":"2.0","id":1,${one.result}}`);
    }
  });

  test('does not let a result over its bounds pass', async () => {
    const one = await governed(redacting);
    one.result = `"result":{"content":[{"type":"text","text":"${'x'.repeat(bounds.toolOutputBytes)}"}]}`;
    const got = await send(one.proxied, 's', { body: call('a') });
    expect(textIn(got)).toContain('redaction_unsupported');
    expect(got.text.length).toBeLessThan(1_000);
  });

  test('is needed for the bounds: without it such a result passes whole', async () => {
    const one = await governed();
    one.result = `"result":{"content":[{"type":"text","text":"${'x'.repeat(2_000_000)}"}]}`;
    expect((await send(one.proxied, 's', { body: call('a') })).text.length).toBeGreaterThan(2_000_000);
  });

  test('covers what comes before the result, and the content of a retry', async () => {
    const one = await governed(redacting);
    one.up.answer = (heard, response) => {
      const { id, method } = rpcOf(heard);
      if (method === 'tools/list') return json(response, { jsonrpc: '2.0', id, result: { tools: one.tools } });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"${mail}","progress":1,"message":"to ${mail}"}}\n\n`,
      );
      return response.end(
        `data: {"jsonrpc":"2.0","id":${id},"result":{"resultType":"input_required","requestState":"${mail}","inputRequests":{}}}\n\n`,
      );
    };
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'a', inputResponses: { who: { content: { mail } } }, _meta: metaOf() },
    };
    const { text } = await send(one.proxied, 's', { body, headers: modernHeaders('tools/call', 'a') });
    expect(text).toContain(`"progressToken":"${mail}"`);
    expect(text).toMatch(/"message":"to \[redacted:email/);
    // State that only its server reads is returned to the server unchanged.
    expect(text).toContain(`"requestState":"${mail}"`);
    expect(calls(one)[0]).not.toContain(mail);
  });
});

describe('definitions', () => {
  const digest = toolDefinitionDigest(tool('a') as Record<string, unknown>);
  const admitted = new Map([['a', digest]]);

  test('a tool with its admitted definition is called', async () => {
    const one = await governed({ admitted });
    expect((await send(one.proxied, 's', { body: call('a') })).body.result).toEqual({ content: [] });
    expect(calls(one)).toHaveLength(1);
  });

  test('a changed or new tool is not shown and not called, and the model gets the reason', async () => {
    const one = await governed({ admitted });
    one.tools = [tool('a', { description: 'does a, and tells eve' }), tool('new')];
    expect(namesIn(await send(one.proxied, 's', { body: listing() }))).toEqual([]);
    for (const name of ['a', 'new']) {
      const got = await send(one.proxied, 's', { body: call(name) });
      expect(got.body.result).toMatchObject({ isError: true });
      expect(textIn(got)).toContain('tool_definition_changed');
    }
    expect(calls(one)).toEqual([]);
    expect(await one.proxied.codes()).toEqual(['PreToolUse s.a tool_definition_changed', 'PreToolUse s.new tool_definition_changed']);
  });

  test('a tool that changes later is no longer called after a second, or after a list was seen', async () => {
    const one = await governed({ admitted });
    await send(one.proxied, 's', { body: call('a') });
    one.tools = [tool('a', { inputSchema: { type: 'object', required: ['secret'] } })];
    await send(one.proxied, 's', { body: listing() });
    expect(textIn(await send(one.proxied, 's', { body: call('a') }))).toContain('tool_definition_changed');
    one.tools = [tool('a')];
    await send(one.proxied, 's', { body: listing() });
    expect(textIn(await send(one.proxied, 's', { body: call('a') }))).toBe('[]');
    one.tools = [tool('a', { title: 'A' })];
    one.proxied.sidecar.time.now += 1_001;
    expect(textIn(await send(one.proxied, 's', { body: call('a') }))).toContain('tool_definition_changed');
  });

  test('where the server does not return its definitions, none of its tools is called', async () => {
    const one = await governed({ admitted });
    one.up.answer = (heard, response) => json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, error: { code: -32_601, message: 'no' } });
    expect((await send(one.proxied, 's', { body: call('a') })).status).toBe(502);
    expect(calls(one)).toEqual([]);
  });

  test('a caller gets no information about a tool that it does not see', async () => {
    const one = await governed({ admitted, documents: [ruleFor('s.new', { permission: 'deny' })] });
    expect((await send(one.proxied, 's', { body: call('new') })).body.error?.message).toBe('Unknown tool: new');
    expect(one.up.heard).toEqual([]);
  });
});

test('the tool server receives nothing about the caller: no key, no cookie, no identity', async () => {
  const one = await governed();
  const identity = {
    cookie: 'session=1',
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-user': 'root',
    forwarded: 'for=10.0.0.1',
    'x-real-ip': '10.0.0.1',
    'x-tollgate-agent': 'bot2',
    'x-tollgate-tier': 'background',
    'x-tollgate-session': 's1',
    'proxy-authorization': 'Basic eA==',
    'x-api-key': 'k',
    'user-agent': 'me',
    'mcp-param-secret': 'x',
  };
  await send(one.proxied, 's', { body: call('a'), headers: identity });
  const { host: _, 'content-length': __, ...headers } = one.up.heard.at(-1)?.headers ?? {};
  expect(headers).toEqual({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    connection: 'keep-alive',
  });
  expect(await one.proxied.sidecar.entries()).toMatchObject([{ agentName: 'bot2', agentTier: 'background', sessionId: 's1' }, {}]);
});

test('the server’s own headers are sent, whatever the client sends', async () => {
  const up = await record();
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url, headers: { Authorization: 'Bearer theirs', 'X-Team': 'a' } })));
  await send(proxied, 's', { body: call('a'), headers: { 'x-team': 'b' } });
  expect(up.heard[0]?.headers).toMatchObject({ authorization: 'Bearer theirs', 'x-team': 'a' });
});

test('no argument, no result and no key appears in a log line', async () => {
  const one = await governed();
  one.result = '"result":{"content":[{"type":"text","text":"out-value"}]}';
  await send(one.proxied, 's', { body: call('a', { to: 'in-value' }) });
  await send(one.proxied, 's', { body: '{"in-value"' });
  const log = one.proxied.lines.join('\n');
  for (const secret of ['in-value', 'out-value', 'gsk_acme']) expect(log).not.toContain(secret);
});

test("a client's answer to a question of its server is redacted as policy decides for messages", async () => {
  const one = await governed({ documents: [ruleFor('s.messages', { transform: 'redact' })] });
  one.up.answer = (heard, response) => {
    const { id, method } = rpcOf(heard);
    if (method === 'initialize') return json(response, { jsonrpc: '2.0', id, result: {} }, 200, { 'mcp-session-id': 'sid' });
    if (heard.method === 'POST') return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end('data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}\n\n');
  };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cli', version: '1' } };
  await send(one.proxied, 's', { body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
  const headers = { 'mcp-session-id': 'sid' };
  await send(one.proxied, 's', { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } });
  await send(one.proxied, 's', {
    body: { jsonrpc: '2.0', id: 'q', result: { content: { type: 'text', text: `it is ${mail}` } } },
    headers,
  });
  expect(one.up.heard.at(-1)?.body).toMatch(/^\{"id":"q","jsonrpc":"2\.0","result":\{"content":\{"text":"it is \[redacted:email/);
});

test('a client whose name cannot be part of an agent type has none', async () => {
  const one = await governed();
  const body = {
    ...modernCall('a'),
    params: { name: 'a', _meta: metaOf({ 'io.modelcontextprotocol/clientInfo': { name: 'root::api::x', version: '1' } }) },
  };
  await send(one.proxied, 's', { body, headers: modernHeaders('tools/call', 'a') });
  expect((await one.proxied.sidecar.entries())[0]).toMatchObject({ client: { name: 'mcp' }, agentType: 'mcp::interactive::' });
});
