// Tool servers that are programs, behind the proxy: real clients of both revisions against real programs.
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../sidecar/base/clock.ts';
import type { ToolServer } from '../../../../sidecar/upstream/upstream.ts';
import { createPrograms } from '../../../../sidecar/upstream/programs.ts';
import { everything } from '../../../support/mcp-servers.ts';
import { ruleFor, type World } from '../../../support/snapshots.ts';
import { call, metaOf, modernCall, modernHeaders, own, send, serversOf, startProxied, type TestProxy } from './proxied.ts';

const headers = { authorization: `Bearer ${own}` };

function program(name: string, args: readonly string[]): ToolServer {
  const programs = createPrograms(
    { clock: systemClock, env: { PATH: process.env['PATH'] ?? '' } },
    { program: process.execPath, args, env: {}, cwd: null },
  );
  onTestFinished(() => programs.close());
  return { name, admitted: null, reach: { kind: 'program', open: (listener) => programs.open(listener) } };
}

const modernProgram = `
  import { McpServer, fromJsonSchema } from '@modelcontextprotocol/server';
  import { serveStdio } from '@modelcontextprotocol/server/stdio';
  let made = 0;
  serveStdio(() => {
    const server = new McpServer({ name: 'p', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    const text = (value) => ({ content: [{ type: 'text', text: value }] });
    server.registerTool('pid', { inputSchema: fromJsonSchema({ type: 'object' }) }, () => text(String(process.pid)));
    server.registerTool('exit', { inputSchema: fromJsonSchema({ type: 'object' }) }, () => process.exit(3));
    server.registerTool('steps', { inputSchema: fromJsonSchema({ type: 'object' }) }, async (args, { mcpReq }) => {
      for (const progress of [1, 2]) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, progress } });
      return text('stepped');
    });
    server.registerTool('wait', { inputSchema: fromJsonSchema({ type: 'object' }) }, async (args, { mcpReq }) => {
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }));
      made += 1;
      return text('late');
    });
    server.registerTool('cancelled', { inputSchema: fromJsonSchema({ type: 'object' }) }, () => text(String(made)));
    return server;
  });
`;

async function behind(server: ToolServer, world?: World): Promise<TestProxy> {
  return startProxied(serversOf(server), world);
}

async function oldClient(proxied: TestProxy): Promise<OldClient> {
  const client = new OldClient({ name: 'old', version: '1' }, { capabilities: { sampling: {} } });
  await client.connect(new OldTransport(proxied.urlOf('s'), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function newClient(proxied: TestProxy): Promise<NewClient> {
  const client = new NewClient({ name: 'new', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new NewTransport(proxied.urlOf('s'), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

const textOf = (result: unknown): string => (result as { content: readonly [{ text: string }] }).content[0].text;

test('a client of 2025-11-25 has its own program: lists, calls, progress, questions', async () => {
  const proxied = await behind(program('s', [everything]), { documents: [ruleFor('s.get-sum', { permission: 'deny' })] });
  const client = await oldClient(proxied);
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled words' },
  }));
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('echo');
  expect(names).not.toContain('get-sum');
  expect(textOf(await client.callTool({ name: 'echo', arguments: { message: 'hello' } }))).toBe('Echo: hello');
  const progress: number[] = [];
  await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.05, steps: 3 } }, undefined, {
    onprogress: ({ progress: at }) => progress.push(at),
  });
  expect(progress).toEqual([1, 2, 3]);
  expect(JSON.stringify(await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } }))).toContain(
    'sampled words',
  );
  await expect(client.callTool({ name: 'get-sum', arguments: {} })).rejects.toThrow('Unknown tool');
});

test('clients of 2026-07-28 share one program, and none receives messages of another', async () => {
  const proxied = await behind(program('s', ['--input-type=module', '-e', modernProgram]));
  const clients = await Promise.all([newClient(proxied), newClient(proxied)]);
  const pids = await Promise.all(clients.map(async (client) => textOf(await client.callTool({ name: 'pid', arguments: {} }))));
  expect(pids[0]).toBe(pids[1]);
  const heard = await Promise.all(
    clients.map(async (client) => {
      const progress: number[] = [];
      await client.callTool({ name: 'steps', arguments: {} }, { onprogress: ({ progress: at }) => progress.push(at) });
      return progress;
    }),
  );
  expect(heard).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test('a shared program is answered for like a server over HTTP: one JSON, or a stream', async () => {
  const proxied = await behind(program('s', ['--input-type=module', '-e', modernProgram]));
  const ask = async (name: string, fields: object = {}) => {
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {}, _meta: metaOf(fields) } };
    const {
      status,
      headers: answered,
      text,
      body,
    } = await send(proxied, 's', { body: message, headers: modernHeaders('tools/call', name) });
    return { status, type: answered.get('content-type')?.split(';')[0], code: body.error?.code, events: text.match(/^data: /gm)?.length };
  };
  expect(await ask('pid')).toEqual({ status: 200, type: 'application/json', code: undefined, events: undefined });
  expect(await ask('steps', { progressToken: 'p' })).toEqual({ status: 200, type: 'text/event-stream', code: undefined, events: 3 });
  const undeclared = { 'io.modelcontextprotocol/clientCapabilities': undefined };
  expect(await ask('pid', undeclared)).toMatchObject({ status: 400, code: -32_602 });
  expect(await proxied.codes()).toHaveLength(4);
});

// The program answers each call with an error whose code is the name of the tool.
const failingProgram = `
  const tools = [20, 21, 22, 601, 602, 603].map((rest) => ({ name: String(-32000 - rest), inputSchema: { type: 'object' } }));
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const outcome = method === 'tools/call' ? { error: { code: Number(params.name), message: 'm' } } : { result: { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' } };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }) + '\\n');
  });
`;

test.each([
  ['a capability that the client has not', 400, -32_021],
  ['headers that differ', 400, -32_020],
  ['a revision that it does not speak', 400, -32_022],
  ['a method that it does not know', 404, -32_601],
  ['params that are wrong', 200, -32_602],
  ['a failure of its own', 200, -32_603],
])('%s: the error of a shared program has the status that HTTP has for it, %i', async (_, status, code) => {
  const proxied = await behind(program('s', ['-e', failingProgram]));
  const answer = await send(proxied, 's', { body: modernCall(String(code), {}), headers: modernHeaders('tools/call', String(code)) });
  expect({ status: answer.status, code: answer.body.error?.code, id: answer.body.id }).toEqual({ status, code, id: 1 });
});

test('closing the stream of a call cancels it at a shared program', async () => {
  const proxied = await behind(program('s', ['--input-type=module', '-e', modernProgram]));
  const client = await newClient(proxied);
  const stop = new AbortController();
  const waiting = client.callTool({ name: 'wait', arguments: {} }, { signal: stop.signal });
  await expect.poll(() => proxied.codes()).toContain('PreToolUse s.wait allowed');
  stop.abort();
  await expect(waiting).rejects.toThrow();
  await expect.poll(async () => textOf(await client.callTool({ name: 'cancelled', arguments: {} }))).toBe('1');
});

test('a listening client is notified of what a snapshot changes, whatever the program sends', async () => {
  const proxied = await behind(program('s', ['--input-type=module', '-e', modernProgram]));
  const client = await newClient(proxied);
  await client.listTools();
  let told = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => void (told += 1));
  const subscription = await client.listen({ toolsListChanged: true });
  proxied.sidecar.take({ documents: [ruleFor('s.pid', { permission: 'deny' })] });
  await expect.poll(() => told).toBe(1);
  await subscription.close();
});

test('a program that ends also ends its calls, and the next request starts another', async () => {
  const proxied = await behind(program('s', ['--input-type=module', '-e', modernProgram]));
  const client = await newClient(proxied);
  const before = textOf(await client.callTool({ name: 'pid', arguments: {} }));
  await expect(client.callTool({ name: 'exit', arguments: {} })).rejects.toThrow('exited with 3');
  expect(textOf(await client.callTool({ name: 'pid', arguments: {} }))).not.toBe(before);
});

test('a request of a client before `initialize` does not start a program', async () => {
  const starts: string[] = [];
  const proxied = await startProxied(
    serversOf({
      name: 's',
      admitted: null,
      reach: {
        kind: 'program',
        open: () => {
          starts.push('started');
          return Promise.reject(new Error('not in this test'));
        },
      },
    }),
  );
  expect((await send(proxied, 's', { body: call('echo') })).status).toBe(400);
  expect((await send(proxied, 's', { method: 'GET' })).status).toBe(405);
  expect(starts).toEqual([]);
});
