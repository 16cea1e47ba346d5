// Real clients of both revisions against real servers of both, through the proxy.
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { startEverything } from '../../../support/mcp-servers.ts';
import { ruleFor, type World } from '../../../support/snapshots.ts';
import { overHttp, own, serversOf, startProxied, startSdkServer, type TestProxy } from './proxied.ts';

const headers = { authorization: `Bearer ${own}` };
const mail = 'bob@acme-mail.eu';

async function everythingBehind(world?: World): Promise<TestProxy> {
  const everything = await startEverything();
  onTestFinished(() => everything.close());
  return startProxied(serversOf(overHttp('s', everything)), world);
}

async function oldClient(proxied: TestProxy): Promise<OldClient> {
  const client = new OldClient({ name: 'old', version: '1' }, { capabilities: { sampling: {}, elicitation: {} } });
  await client.connect(new OldTransport(proxied.urlOf('s'), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function newClient(proxied: TestProxy, mode: 'auto' | 'legacy' | { pin: string } = 'auto'): Promise<NewClient> {
  const client = new NewClient(
    { name: 'new', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  await client.connect(new NewTransport(proxied.urlOf('s'), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

const objectOf = (properties: object): ReturnType<typeof fromJsonSchema> =>
  fromJsonSchema({ type: 'object', properties } as Parameters<typeof fromJsonSchema>[0]);
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

interface Sdk {
  readonly proxied: TestProxy;
  readonly cancelled: string[];
  readonly handler: Awaited<ReturnType<typeof startSdkServer>>['handler'];
}

async function sdkBehind(world?: World): Promise<Sdk> {
  const cancelled: string[] = [];
  const { url, handler } = await startSdkServer(() => {
    const server = new McpServer({ name: 'sdk', version: '1' }, { capabilities: { tools: { listChanged: true }, logging: {} } });
    server.registerTool('say', { inputSchema: objectOf({ to: { type: 'string' } }) }, (args) =>
      text(`said to ${String(Reflect.get(args as object, 'to'))}`),
    );
    server.registerTool('delete', { inputSchema: objectOf({}) }, () => text('deleted'));
    server.registerTool(
      'region',
      {
        inputSchema: objectOf({ region: { type: 'string', 'x-mcp-header': 'Region' }, size: { type: 'integer', 'x-mcp-header': 'Size' } }),
      },
      (args) => text(JSON.stringify(args)),
    );
    server.registerTool('steps', { inputSchema: objectOf({}) }, async (_args, { mcpReq }) => {
      for (const step of [1, 2])
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: mcpReq._meta?.progressToken ?? 0, progress: step },
        });
      return text('stepped');
    });
    server.registerTool('wait', { inputSchema: objectOf({}) }, async (_args, { mcpReq }) => {
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }));
      cancelled.push('wait');
      return text('late');
    });
    server.registerTool('ask', { inputSchema: objectOf({}) }, (_args, { mcpReq }) => {
      const answer = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'who');
      if (answer !== undefined) return text(`hello ${answer.name}`);
      return inputRequired({
        inputRequests: {
          who: inputRequired.elicit({ message: 'who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } }),
        },
      });
    });
    return server;
  });
  return { proxied: await startProxied(serversOf(overHttp('s', { url })), world), cancelled, handler };
}

test('a client of 2025-11-25 lists and calls a server with sessions', async () => {
  const proxied = await everythingBehind();
  const client = await oldClient(proxied);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).toSorted());
  const answer = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  expect(answer.content).toEqual([{ type: 'text', text: 'Echo: hello' }]);
  expect(await proxied.codes()).toEqual(['PreToolUse s.echo allowed', 'PostToolUse s.echo allowed']);
});

test('progress arrives while the call is in progress', async () => {
  const client = await oldClient(await everythingBehind());
  const progress: number[] = [];
  await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.05, steps: 3 } }, undefined, {
    onprogress: ({ progress: at }) => progress.push(at),
  });
  expect(progress).toEqual([1, 2, 3]);
});

test("a server's request to a client during a call reaches it, and its answer reaches the server", async () => {
  const client = await oldClient(await everythingBehind());
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled words' },
  }));
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }));
  await client.listTools();
  const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } });
  expect(JSON.stringify(sampled.content)).toContain('sampled words');
  const elicited = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
  expect(JSON.stringify(elicited.content)).toContain('declined');
});

test('a snapshot that changes the list is announced on the open stream, and one that does not is not', async () => {
  const proxied = await everythingBehind();
  const client = await oldClient(proxied);
  const lists: string[][] = [];
  const told = new Promise<void>((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      lists.push((await client.listTools()).tools.map(({ name }) => name));
      resolve();
    }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  proxied.sidecar.take({ documents: [ruleFor('other.tool', { permission: 'deny' })] });
  proxied.sidecar.take({ documents: [ruleFor('s.echo', { permission: 'deny' })] });
  await told;
  expect(lists).toHaveLength(1);
  expect(lists[0]).not.toContain('echo');
});

test('a client of 2025-11-25 works with a server of both revisions that has no sessions', async () => {
  const { proxied } = await sdkBehind({ documents: [ruleFor('s.delete', { permission: 'deny' })] });
  const client = await oldClient(proxied);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ask', 'region', 'say', 'steps', 'wait']);
  expect((await client.callTool({ name: 'say', arguments: { to: 'ann' } })).content).toEqual([{ type: 'text', text: 'said to ann' }]);
});

test('a new client that supports both revisions works with an old server', async () => {
  const proxied = await everythingBehind();
  const client = await newClient(proxied);
  expect((await client.callTool({ name: 'echo', arguments: { message: 'hello' } })).content).toEqual([
    { type: 'text', text: 'Echo: hello' },
  ]);
});

test('a client of 2026-07-28 lists, calls, sees progress, and is asked for input', async () => {
  const { proxied } = await sdkBehind({ documents: [ruleFor('s.delete', { permission: 'deny' })] });
  const client = await newClient(proxied, { pin: '2026-07-28' });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: { name: 'ann' } }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['ask', 'region', 'say', 'steps', 'wait']);
  const progress: number[] = [];
  expect(
    (await client.callTool({ name: 'steps', arguments: {} }, { onprogress: ({ progress: at }) => progress.push(at) })).content,
  ).toEqual([{ type: 'text', text: 'stepped' }]);
  expect(progress).toEqual([1, 2]);
  expect((await client.callTool({ name: 'ask', arguments: {} })).content).toEqual([{ type: 'text', text: 'hello ann' }]);
  await expect(client.callTool({ name: 'delete', arguments: {} })).rejects.toThrow('Unknown tool: delete');
});

test('arguments that headers repeat are accepted as sent, and rewritten with what redaction changes', async () => {
  const { proxied } = await sdkBehind({ documents: [ruleFor('s.region', { transform: 'redact' })] });
  const client = await newClient(proxied, { pin: '2026-07-28' });
  await client.listTools();
  expect((await client.callTool({ name: 'region', arguments: { region: 'eu ö', size: 3 } })).content).toEqual([
    { type: 'text', text: '{"region":"eu ö","size":3}' },
  ]);
  const { content } = await client.callTool({ name: 'region', arguments: { region: mail, size: 3 } });
  // The server itself compares the header with the body.
  expect(JSON.stringify(content)).toContain('[redacted:email');
  expect(JSON.stringify(content)).not.toContain(mail);
});

test('closing the stream of a call of 2026-07-28 cancels it at the server, and its entry records it', async () => {
  const { proxied, cancelled } = await sdkBehind();
  const client = await newClient(proxied, { pin: '2026-07-28' });
  await client.listTools();
  const stop = new AbortController();
  const calling = client.callTool({ name: 'wait', arguments: {} }, { signal: stop.signal });
  await expect.poll(() => proxied.codes()).toContain('PreToolUse s.wait allowed');
  stop.abort();
  await expect(calling).rejects.toThrow();
  await expect.poll(() => cancelled).toEqual(['wait']);
  await expect.poll(() => proxied.codes()).toEqual(['PreToolUse s.wait allowed', 'PostToolUse s.wait allowed']);
});

test('a client that listens in 2026-07-28 is notified of changes at the server, and of changes by a snapshot', async () => {
  const { proxied, handler } = await sdkBehind();
  const client = await newClient(proxied, { pin: '2026-07-28' });
  await client.listTools();
  let told = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => void (told += 1));
  const subscription = await client.listen({ toolsListChanged: true });
  handler.notify.toolsChanged();
  await expect.poll(() => told).toBe(1);
  proxied.sidecar.take({ documents: [ruleFor('s.say', { permission: 'deny' })] });
  await expect.poll(() => told).toBe(2);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('say');
  await subscription.close();
});

test('a client of only the newest revision cannot use an old server, as without the proxy', async () => {
  const proxied = await everythingBehind();
  await expect(newClient(proxied, { pin: '2026-07-28' })).rejects.toThrow();
  expect(await proxied.codes()).toEqual([]);
});

test('the path can name the workspace', async () => {
  const { proxied } = await sdkBehind();
  const client = new NewClient({ name: 'new', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new NewTransport(new URL(`${proxied.origin}/acme/mcp/s`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  expect((await client.callTool({ name: 'say', arguments: { to: 'ann' } })).content).toEqual([{ type: 'text', text: 'said to ann' }]);
});
