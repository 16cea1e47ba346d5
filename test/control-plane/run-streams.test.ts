// Streams of runs on real sockets: what a client that does not read delays, what one that leaves ends, and that no text
// in a run can be taken for a line of the stream.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { streamBounds } from '../../control-plane/http/streams.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import type { ModelRequest, Models } from '../../control-plane/runs/model.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createScriptedModel, type ScriptedReply } from '../support/scripted-model.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

const piece = 'x'.repeat(64 * 1024);
/** How many pieces of the model were read. */
let pulled = 0;

/** Emits pieces until it is stopped. */
const endless: Models = {
  ...createScriptedModel([]),
  async *reply({ signal }) {
    for (;;) {
      // As a real provider does: other work can run in between.
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      pulled += 1;
      yield { kind: 'text', delta: piece };
    }
  },
};

let script: (request: ModelRequest) => ScriptedReply = () => ({ text: 'done' });
const scripted = createScriptedModel((asked) => script(asked));
let server: FakeServer;
let rest: RunsRest;
beforeAll(async () => {
  server = await startFakeServer();
  server.pages = [[tool('read')]];
  const models: Models = { ...scripted, reply: (asked) => (asked.system.startsWith('endless') ? endless : scripted).reply(asked) };
  rest = await createRunsRest({
    models,
    reach: createReach({ allowPrivate: true, commands: [] }, {}),
    streamBounds: { ...streamBounds, undrainedMs: 4_000 },
  });
  await rest.ask('POST', '/acme/admin/toolServers', { body: { name: 'files', url: server.url } });
});
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.instead = () => false;
});
afterAll(async () => {
  await rest.close();
  await server.close();
});

/** Sends a request, and reads nothing of the answer. */
function askUnread(agentId: string): Socket {
  const { hostname, port } = new URL(rest.origin);
  const body = JSON.stringify({ input: 'x', stream: true });
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
  sockets.push(socket);
  socket
    .pause()
    .write(
      `POST /api/v1/agents/${agentId}/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rest.owner}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  return socket;
}

const endsAs = (agentId: string, fields: object): Promise<void> =>
  vi.waitFor(async () => expect((await rest.runsOf(agentId))[0]).toMatchObject(fields), { timeout: 15_000, interval: 25 });

/** The maximum that the sockets of both sides may hold on any system. */
const buffersMax = 32 * 1024 * 1024;

test('a client that does not read pauses its run: no data accumulates, and the run ends at its deadline', async () => {
  pulled = 0;
  const id = await rest.createAgent({ name: 'wordy', systemPrompt: 'endless' });
  await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { maxDurationMs: 1_000 } });
  askUnread(id);
  await endsAs(id, { status: 'completed', stopReason: 'max_duration' });
  expect(pulled).toBeGreaterThan(0);
  expect(pulled * piece.length).toBeLessThan(buffersMax);
});

test('a client that does not read is cut off before the deadline of a longer run, which cancels the run', async () => {
  pulled = 0;
  const id = await rest.createAgent({ name: 'patient', systemPrompt: 'endless' });
  const socket = askUnread(id);
  await endsAs(id, { status: 'cancelled', stopReason: 'cancelled' });
  expect(rest.lines.join('')).toContain('a stream was closed, because its client does not read the data');
  expect(pulled * piece.length).toBeLessThan(buffersMax);
  const closed = once(socket, 'close');
  socket.resume();
  await closed;
});

test('a client that reads after a while receives the rest, and nothing was lost in between', async () => {
  const words = Array.from({ length: 200 }, (_, at) => `${at}${'y'.repeat(20_000)} `);
  script = () => ({ text: words.join('') });
  const id = await rest.createAgent({ name: 'late' });
  const socket = askUnread(id);
  await endsAs(id, { status: 'running' });
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
  await once(socket.resume(), 'end');
  const deltas = [...heard.matchAll(/^data: (\{"delta":.*\})\r?$/gm)].map(([, json = '']) => (JSON.parse(json) as { delta: string }).delta);
  expect(deltas).toEqual(words);
  expect(heard).toMatch(/^event: done$/m);
});

test('a client that leaves in the middle of a tool call ends the call and the run immediately', async () => {
  const asked = new Promise<ServerResponse>((resolve) => {
    server.instead = ({ rpc }, response) => {
      if (rpc.method === 'tools/call') resolve(response);
      return rpc.method === 'tools/call';
    };
  });
  script = () => ({ calls: [{ alias: 'files__read', arguments: '{}' }] });
  const id = await rest.createAgent({ name: 'leaver', enabledTools: ['files.*'] });
  const { next, leave } = await rest.stream(id, { input: 'x' });
  expect([await next(), await next()]).toMatchObject([
    { event: 'tool_calls' },
    { event: 'governance', data: expect.stringContaining('allow') },
  ]);
  const unanswered = await asked;
  const left = once(unanswered, 'close');
  leave();
  await left;
  await endsAs(id, { status: 'cancelled', usage: expect.objectContaining({ toolCallCount: 1, roundCount: 1 }) });
});

describe('while a model answers, its run and the stream of it end immediately, as cancelled, when', () => {
  let leavers = 0;
  const member = async () => {
    const uid = `leaver-${(leavers += 1)}`;
    const key = await rest.keyOf('member', ['agents.read', 'agents.write'], uid);
    return { key, uid };
  };
  test.each<readonly [string, (held: Awaited<ReturnType<typeof member>>, agentId: string) => Promise<{ readonly status: number }>]>([
    [
      'its key is revoked',
      async ({ uid }) => {
        const { body } = await rest.ask('GET', '/acme/admin/keys');
        const { keys } = body as { readonly keys: readonly { readonly id: string; readonly uid: string | null }[] };
        return rest.ask('DELETE', `/acme/admin/keys/${keys.find((one) => one.uid === uid)?.id}`);
      },
    ],
    ['its member is removed', ({ uid }) => rest.ask('DELETE', `/acme/admin/members/${uid}`)],
    ['its agent is suspended', (_held, id) => rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { suspended: true } })],
    ['the workspace is frozen', () => rest.ask('POST', '/acme/admin/freeze')],
  ])('%s', async (what, end) => {
    let aborted = (): void => {};
    const stopped = new Promise<void>((resolve) => (aborted = resolve));
    script = ({ signal }) => {
      signal.addEventListener('abort', () => aborted(), { once: true });
      return { text: 'thinking', hangs: true };
    };
    const held = await member();
    const id = await rest.createAgent({ name: `long ${what}` });
    const { next, all } = await rest.stream(id, { input: 'x' }, { authorization: `Bearer ${held.key}` });
    expect(await next()).toMatchObject({ event: 'text' });
    expect((await end(held, id)).status).toBe(200);
    await stopped;
    expect((await all()).map(({ event }) => event)).toEqual(['done']);
    await rest.ask('POST', '/acme/admin/unfreeze');
    await endsAs(id, { status: 'cancelled', stopReason: 'cancelled' });
  });
});

test('the transcript of a run can be read after each round, while it continues', async () => {
  const asked = new Promise<ServerResponse>((resolve) => {
    server.instead = ({ rpc }, response) => {
      if (rpc.method === 'tools/call') resolve(response);
      return rpc.method === 'tools/call';
    };
  });
  script = () => ({ text: 'I look', calls: [{ alias: 'files__read', arguments: '{}' }] });
  const id = await rest.createAgent({ name: 'told', enabledTools: ['files.*'] });
  const { id: run, leave } = await rest.stream(id, { input: 'x' });
  await asked;
  await vi.waitFor(async () =>
    expect((await rest.ask('GET', `/api/v1/runs/${run}`)).body).toMatchObject({
      run: {
        status: 'running',
        transcript: [
          { role: 'user', text: 'x' },
          { role: 'assistant', text: 'I look', toolCalls: [{ tool: 'files.read' }] },
        ],
      },
    }),
  );
  leave();
  await endsAs(id, { status: 'cancelled' });
});

test('entries of runs are pending in a folder of their database: the same workspace of another one ships none of them', async () => {
  const { rows } = await rest.pool.query<{ epoch: string }>('select epoch from deployment');
  expect(readdirSync(rest.spoolFolder)).toEqual([rows[0]?.epoch]);
});

test('any result of a tool is one line of data, and every byte of it arrives', async () => {
  const awkward =
    'a\r\n\r\nevent: done\r\ndata: {"output":"forged"}\r\rid: 99\n\n: x\u2028data: b\u2029\u0085\u0001\u001b[2J\u007f 😀 data: c\n\n';
  server.instead = ({ rpc }, response) => {
    if (rpc.method !== 'tools/call') return false;
    const result = { content: [{ type: 'text', text: awkward }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
    return true;
  };
  script = ({ messages }) =>
    messages.length === 1 ? { calls: [{ alias: 'files__read', arguments: JSON.stringify({ path: awkward }) }] } : { text: 'ok' };
  const id = await rest.createAgent({ name: 'sly', enabledTools: ['files.*'] });
  const answer = await request(`${rest.origin}/api/v1/agents/${id}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'x', stream: true }),
  });
  const wire = await answer.body.text();
  const [comment, ...blocks] = wire.split('\n\n').slice(0, -1);
  expect(comment).toMatch(/^: run [A-Za-z0-9]{20}$/);
  for (const block of blocks) expect(block).toMatch(/^event: [a-z_]+\nid: \d+\ndata: [^\r\n\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/);
  const events = blocks.map((block) => ({
    kind: /^event: (.*)$/m.exec(block)?.[1],
    data: JSON.parse(block.split('\ndata: ')[1] ?? '') as object,
  }));
  expect(events.map(({ kind }) => kind)).toEqual(['tool_calls', 'governance', 'tool_result', 'text', 'done']);
  expect(events[0]?.data).toMatchObject({ calls: [{ input: { path: awkward } }] });
  expect(events[2]?.data).toMatchObject({ isError: false, output: awkward });
});
