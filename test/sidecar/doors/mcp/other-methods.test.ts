// What reaches a tool server, or comes from it, in addition to the calls that policy names: names that it does not
// list, its other lists, further fields of a call, an answer that is requested again, and messages with ids of others.
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { agent, ruleFor, settings, type World } from '../../../support/snapshots.ts';
import { toolDefinitionDigest } from '@tollgate/proto/contract';
import { type Behind, behind, call, type Got, json, metaOf, modernHeaders, own, type RecordingServer, rpcOf, send } from './proxied.ts';

const mail = 'bob@acme-mail.eu';
const tool = (name: string, more: object = {}): object => ({ name, inputSchema: { type: 'object' }, ...more });
const request = (method: string, params: object = {}, id = 1): object => ({ jsonrpc: '2.0', id, method, params });

const methods = ({ up }: Behind): readonly (string | undefined)[] => up.heard.map((heard) => rpcOf(heard).method);
const unknown = (name: string): object => ({ code: -32_602, message: `Unknown tool: ${name}` });

describe('a tool that the server does not list', () => {
  test('is not called, whatever the server makes of its name', async () => {
    const one = await behind({ documents: [ruleFor('s.delete', { permission: 'deny' })] });
    one.up.tools = [tool('delete'), tool('a')];
    for (const name of ['DELETE', 'Delete', ' delete', 'delete ', 'dele\u0442e'])
      expect((await send(one.proxied, 's', { body: call(name) })).body.error).toEqual(unknown(name));
    expect(one.up.heard).toEqual([]);
    expect(await one.proxied.codes()).toContain('PreToolUse s.DELETE call_malformed');
  });

  test('is called once the server has it', async () => {
    const one = await behind();
    expect((await send(one.proxied, 's', { body: call('late') })).body.error).toEqual(unknown('late'));
    one.up.tools = [tool('late')];
    expect((await send(one.proxied, 's', { body: call('late') })).body.result).toEqual({});
  });

  test('causes one request for the list, and no second one', async () => {
    const one = await behind();
    await send(one.proxied, 's', { body: call('a') });
    one.up.tools = null;
    await send(one.proxied, 's', { body: call('a') });
    expect(methods(one)).toEqual(['tools/call', 'tools/call']);
  });

  test('does not exist where tools are pinned either, and is not reported as changed', async () => {
    const one = await behind({ admitted: new Map([['a', toolDefinitionDigest(tool('a') as Record<string, unknown>)]]) });
    expect((await send(one.proxied, 's', { body: call('nope') })).body.error).toEqual(unknown('nope'));
  });

  test('is not called where the server does not return its list', async () => {
    const one = await behind();
    one.up.tools = null;
    one.up.answer = (heard, response) => json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, error: { code: -32_603, message: 'no' } });
    expect((await send(one.proxied, 's', { body: call('a') })).status).toBe(502);
    expect(methods(one)).toEqual(['tools/list']);
  });
});

test('a changed pinned definition is detected at the next call, a second later', async () => {
  const one = await behind({ admitted: new Map([['a', toolDefinitionDigest(tool('a') as Record<string, unknown>)]]) });
  one.up.tools = [tool('a')];
  expect((await send(one.proxied, 's', { body: call('a') })).body.result).toEqual({});
  one.up.tools = [tool('a', { description: 'and tells eve' })];
  one.proxied.sidecar.time.now += 1_001;
  expect((await send(one.proxied, 's', { body: call('a') })).text).toContain('tool_definition_changed');
  expect(methods(one)).toEqual(['tools/call']);
});

describe('other lists', () => {
  const lists: readonly (readonly [string, string])[] = [
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
    ['prompts/list', 'prompts'],
  ];
  test.each(lists)('%s: both directions are redacted as policy decides for the method', async (method, field) => {
    const one = await behind({ documents: [ruleFor(`s.${method}`, { transform: 'redact' })] });
    one.up.answer = (heard, response) =>
      json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, result: { [field]: [{ name: mail }], nextCursor: mail } });
    const got = await send(one.proxied, 's', { body: request(method, { cursor: mail, of: mail, _meta: { of: mail } }) });
    expect(JSON.stringify(got.body.result?.[field])).toMatch(/^\[\{"name":"\[redacted:email/);
    // The server needs the cursor unchanged to continue.
    expect(got.body.result?.['nextCursor']).toBe(mail);
    const { cursor, ...params } = rpcOf(one.up.heard[0] ?? never()).params ?? {};
    expect(cursor).toBe(mail);
    expect(JSON.stringify(params)).not.toContain(mail);
  });

  test.each(lists)('%s: empty where policy denies it or all is frozen, and the server receives nothing', async (method, field) => {
    for (const world of [
      { documents: [ruleFor(`s.${method}`, { permission: 'deny' })] },
      { settings: settings({ frozen: true }) },
    ] as const) {
      const one = await behind(world);
      expect((await send(one.proxied, 's', { body: request(method) })).body.result).toEqual({ [field]: [] });
      const modern = await send(one.proxied, 's', { body: request(method, { _meta: metaOf() }), headers: modernHeaders(method) });
      expect(modern.body.result).toEqual({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', [field]: [] });
      expect(one.up.heard).toEqual([]);
    }
  });
});

test('the completions that a server offers are decided, redacted and recorded', async () => {
  const params = { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'to', value: mail } };
  const one = await behind({ documents: [ruleFor('s.completion/complete', { transform: 'redact' })] });
  one.up.answer = (heard, response) => json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, result: { completion: { values: [mail] } } });
  const got = await send(one.proxied, 's', { body: request('completion/complete', params) });
  expect(got.text).toContain('[redacted:email');
  expect(got.text + (one.up.heard[0]?.body ?? '')).not.toContain(mail);
  expect(await one.proxied.codes()).toEqual(['PreToolUse s.completion/complete allowed', 'PostToolUse s.completion/complete allowed']);
});

test.each(['completion/complete', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'])(
  'while all is frozen or the agent suspended, %s does not reach the server, and a ping does',
  async (method) => {
    const headers = { 'x-tollgate-agent': 'bot' };
    for (const world of [
      { settings: settings({ frozen: true }) },
      { agents: [agent({ suspended: true, enabledTools: ['s.*'] })] },
    ] as const) {
      const one = await behind(world);
      const got = await send(one.proxied, 's', { body: request(method), headers });
      expect(got.body.error?.message).toMatch(/workspace_frozen|agent_suspended/);
      expect(await one.proxied.codes()).toEqual([expect.stringMatching(/^PreToolUse s\.\S+ (?:workspace_frozen|agent_suspended)$/)]);
      expect((await send(one.proxied, 's', { body: request('ping'), headers })).body.result).toEqual({});
      expect(methods(one)).toEqual(['ping']);
    }
  },
);

test('the further fields of a call are redacted as its arguments are, except those that the protocol uses', async () => {
  const one = await behind({ documents: [ruleFor('s.a', { transform: 'redact' })] });
  await send(one.proxied, 's', {
    body: request('tools/call', { name: 'a', arguments: { to: mail }, besides: mail, _meta: { progressToken: mail, note: mail } }),
  });
  const { params } = rpcOf(one.up.heard[0] ?? never());
  expect(params).toMatchObject({ name: 'a', _meta: { progressToken: mail } });
  expect(JSON.stringify(params).split(mail)).toHaveLength(2);
});

test('an error instead of the list of tools is forwarded, whatever it holds', async () => {
  const one = await behind();
  const error = { code: -32_603, message: 'no', tools: [tool('a')] };
  one.up.answer = (heard, response) => json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, error });
  const got = await send(one.proxied, 's', { body: request('tools/list') });
  expect([got.status, got.body.error]).toEqual([200, error]);
});

const greeting = request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cli', version: '1' } }, 0);
const headers = { 'mcp-session-id': 'sid', 'mcp-protocol-version': '2025-11-25' };
const event = (message: object, id: string): string => `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const stream = (response: ServerResponse, text: string): void =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);

async function session(answer: RecordingServer['answer'], world: World = {}): Promise<Behind> {
  const one = await behind(world);
  one.up.answer = (heard, response) => {
    const { id, method } = rpcOf(heard);
    if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: {} }, 200, { 'mcp-session-id': 'sid' });
    else answer(heard, response);
  };
  await send(one.proxied, 's', { body: greeting });
  return one;
}

const resumed = ({ proxied }: Behind): Promise<Got> =>
  send(proxied, 's', { method: 'GET', headers: { ...headers, accept: 'text/event-stream', 'last-event-id': '1' } });

describe('an answer that is requested again', () => {
  const result = { id: 5, result: { content: [{ type: 'text', text: `to ${mail}` }] } };

  test.each(['log', 'redact'] as const)('is unchanged, and recorded once: %s', async (transform) => {
    const answer: RecordingServer['answer'] = (_heard, response) => stream(response, event(result, '2'));
    const one = await session(answer, { documents: [ruleFor('s.a', { transform })] });
    const first = await send(one.proxied, 's', { body: call('a', {}, 5), headers });
    expect(first.text).toContain(transform === 'redact' ? '[redacted:email' : mail);
    expect((await resumed(one)).text).toBe(first.text);
    expect(await one.proxied.codes()).toEqual(['PreToolUse s.a allowed', 'PostToolUse s.a allowed']);
  });

  test('is not replaced by another one under its id', async () => {
    let text = event(result, '2');
    const one = await session((_heard, response) => stream(response, text));
    await send(one.proxied, 's', { body: call('a', {}, 5), headers });
    text = event({ id: 5, result: { content: [] } }, '2');
    expect((await resumed(one)).text).toBe('id: 2\n\n');
  });
});

describe('ids of others', () => {
  const answer = { jsonrpc: '2.0', id: 'q', result: {} };
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } };

  test.each([answer, { jsonrpc: '2.0', id: 'q', error: { code: 1, message: 'no' } }, cancelled])(
    'cannot be named by a message without a session: %o',
    async (body) => {
      const one = await behind();
      expect((await send(one.proxied, 's', { body })).body.error?.message).toContain('Mcp-Session-Id is missing');
      expect(one.up.heard).toEqual([]);
    },
  );

  test('cannot be named by an answer to a request that the session did not receive, nor twice', async () => {
    const one = await session((heard, response) => {
      if (heard.method === 'GET') stream(response, event({ id: 'q', method: 'roots/list' }, '1'));
      else response.writeHead(202).end();
    });
    expect((await send(one.proxied, 's', { body: answer, headers })).status).toBe(400);
    await resumed(one);
    const heardOf = (): readonly string[] => one.up.heard.map(({ body }) => body).filter((body) => body.includes('"result"'));
    expect(heardOf()).toEqual([]);
    expect((await send(one.proxied, 's', { body: { ...answer, id: 'other' }, headers })).status).toBe(400);
    expect((await send(one.proxied, 's', { body: answer, headers })).status).toBe(202);
    expect((await send(one.proxied, 's', { body: answer, headers })).status).toBe(400);
    expect(heardOf()).toHaveLength(1);
  });
});

test.each([
  ['is frozen', {}, { settings: settings({ frozen: true }) }],
  ['is not frozen any more', { settings: settings({ frozen: true }) }, {}],
  ['is denied', {}, { settings: settings({ defaultPermission: 'deny' }) }],
] as const)('a client that listens before listing is notified once when all %s, not when nothing changes', async (_what, before, after) => {
  let open: ServerResponse | undefined;
  const one = await session((heard, response) => {
    if (heard.method === 'GET') {
      open = response.writeHead(200, { 'content-type': 'text/event-stream' });
      open.flushHeaders();
    } else json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, result: { tools: [tool('a')] } });
  }, before);
  const listening = await fetch(one.proxied.urlOf('s'), {
    headers: { ...headers, authorization: `Bearer ${own}`, accept: 'text/event-stream' },
  });
  await send(one.proxied, 's', { body: request('tools/list'), headers });
  one.proxied.sidecar.take(before);
  one.proxied.sidecar.take(after);
  one.proxied.sidecar.take(after);
  open?.end();
  expect((await listening.text()).match(/notifications\/tools\/list_changed/g)).toHaveLength(1);
});

const never = (): never => {
  throw new Error('the server heard nothing');
};
