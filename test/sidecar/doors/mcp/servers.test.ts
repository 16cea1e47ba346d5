// How the proxy handles faulty tool servers: they send what is not allowed, or too much of it, or nothing more.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { upstreamBounds } from '../../../../sidecar/upstream/upstream.ts';
import { key, keyText } from '../../../support/snapshots.ts';
import {
  behind,
  type Behind,
  call,
  json,
  metaOf,
  modernCall,
  modernHeaders,
  overHttp,
  own,
  record,
  type RecordingServer,
  rpcOf,
  send,
  serversOf,
  startProxied,
} from './proxied.ts';

const answering = (answer: RecordingServer['answer']): Promise<Behind> => behind({ answer });
const event = (message: unknown, id?: string): string => `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
const stream = (response: ServerResponse, ...texts: readonly string[]): ServerResponse => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  for (const text of texts) response.write(text);
  return response;
};
const done = (id: unknown = 1): object => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
// Its answer is a result for any request.
function answerAlways(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece: string) => (body += piece));
  request.on('end', () => {
    const { id } = JSON.parse(body) as { id: unknown };
    json(response, { jsonrpc: '2.0', id, result: { content: [], tools: [{ name: 'a', inputSchema: { type: 'object' } }] } });
  });
}

const isFailed = { status: 502, body: { error: { code: -32_603 } } };

const answers: readonly (readonly [string, RecordingServer['answer'], RegExp])[] = [
  ['a redirect', (_heard, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/mcp' }).end(), /redirect/],
  ['a wish for other credentials', (_heard, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(), /credentials/],
  ['invalid JSON', (_heard, response) => json(response, '{"jsonrpc"'), /not a JSON-RPC/],
  ['nothing', (_heard, response) => response.writeHead(200).end(), /did not answer/],
  ['a page', (_heard, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), /did not answer/],
  ['a batch', (_heard, response) => json(response, [done()]), /not a JSON-RPC/],
  [
    'a result that appears twice',
    (_heard, response) => json(response, '{"jsonrpc":"2.0","id":1,"result":{"a":1},"result":{"b":2}}'),
    /not a JSON-RPC/,
  ],
  [
    'a look-alike of a result',
    (_heard, response) => json(response, '{"jsonrpc":"2.0","id":1,"result":{},"Result":{"b":2}}'),
    /not a JSON-RPC/,
  ],
  [
    'bytes that are not UTF-8',
    (_heard, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x7b, 0xff])),
    /UTF-8/,
  ],
  ['a compressed answer', (_heard, response) => json(response, done(), 200, { 'content-encoding': 'gzip' }), /encoding/],
  [
    'a call of its own',
    (_heard, response) => json(response, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }),
    /not a JSON-RPC/,
  ],
  ['the answer to another request', (_heard, response) => json(response, done(2)), /did not answer/],
  [
    '17 MiB at once',
    (_heard, response) => json(response, JSON.stringify({ ...done(), x: 'x'.repeat(17 * 1_048_576) })),
    /a message of more than 16777216 bytes/,
  ],
  ['a connection that breaks', (_heard, response) => response.socket?.destroy(), /cannot be reached/],
];

test.each(answers)('after an answer with %s the caller gets an error, and the outcome is recorded', async (_what, answer, words) => {
  const { proxied } = await answering(answer);
  const got = await send(proxied, 's', { body: call('a') });
  expect(got).toMatchObject(isFailed);
  expect(got.body.error?.message).toMatch(words);
  expect(got.headers.get('location')).toBeNull();
  const entries = await proxied.sidecar.entries();
  expect(entries.at(-1)).toMatchObject({ hookEvent: 'PostToolUse', outcome: { isError: true } });
  expect(entries).toHaveLength(2);
});

test('a status with a reason is forwarded, with its error', async () => {
  const { proxied } = await answering((_heard, response) =>
    json(response, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'not now' } }, 400),
  );
  expect(await send(proxied, 's', { body: call('a') })).toMatchObject({
    status: 400,
    body: { id: null, error: { code: -32_000, message: 'not now' } },
  });
});

test('what a server must not send on a stream does not arrive; the rest does, in order', async () => {
  const { proxied } = await answering((_heard, response) => {
    stream(
      response,
      ': a comment\n\n',
      event({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'delete' } }),
      event({ jsonrpc: '2.0', method: 'notifications/tools/call', params: {} }),
      event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }),
      event({ jsonrpc: '2.0', id: 'y', method: 'roots/list' }),
      event(done(7)),
      event(done()),
      event(done()),
    ).end();
  });
  const { text } = await send(proxied, 's', { body: call('a') });
  expect(text).toBe(
    `:\n\n${event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })}${event({ jsonrpc: '2.0', id: 'y', method: 'roots/list' })}${event(done())}`,
  );
});

test('in the newest revision a server sends no request on a stream', async () => {
  const { proxied } = await answering((heard, response) => {
    if (rpcOf(heard).method === 'tools/list') json(response, { jsonrpc: '2.0', id: rpcOf(heard).id, result: { tools: [] } });
    else stream(response, event({ jsonrpc: '2.0', id: 'y', method: 'sampling/createMessage', params: {} }), event(done())).end();
  });
  const { text } = await send(proxied, 's', { body: modernCall('a'), headers: modernHeaders('tools/call', 'a') });
  expect(text).toBe(event(done()));
});

const broken: readonly (readonly [string, readonly string[]])[] = [
  ['breaks off', []],
  ['sends something that is not a message', ['data: {"jsonrpc"\n\n']],
  ['sends an event that does not end', [`data: ${'x'.repeat(17 * 1_048_576)}`]],
];
test.each(broken)('a stream that %s ends with an error, and the outcome is recorded', async (_what, texts) => {
  const { proxied } = await answering((_heard, response) => stream(response, ...texts).end());
  const { text } = await send(proxied, 's', { body: call('a') });
  expect(JSON.parse(text.replace('data: ', ''))).toMatchObject({ id: 1, error: { code: -32_603 } });
  expect((await proxied.sidecar.entries()).at(-1)).toMatchObject({ hookEvent: 'PostToolUse', outcome: { isError: true } });
});

test('events arrive one by one, before the next is written', async () => {
  let upstream: ServerResponse | undefined;
  const { proxied } = await answering((_heard, response) => (upstream = stream(response)));
  const response = await fetch(proxied.urlOf('s'), {
    method: 'POST',
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(call('a')),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (const progress of [1, 2, 3]) {
    const message = event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress } });
    upstream?.write(message);
    expect((await reader?.read())?.value).toBe(message);
  }
  upstream?.end(event(done()));
  expect((await reader?.read())?.value).toBe(event(done()));
});

test('a server that floods is read no faster than its client reads', async () => {
  let written = 0;
  let isFull = false;
  const message = event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(100_000) } });
  const { proxied } = await answering((_heard, response) => {
    stream(response);
    const flood = (): void => {
      while (written < 200_000_000) {
        written += message.length;
        if (!response.write(message)) {
          isFull = true;
          response.once('drain', flood);
          return;
        }
      }
    };
    flood();
  });
  const stop = new AbortController();
  const response = await fetch(proxied.urlOf('s'), {
    method: 'POST',
    signal: stop.signal,
    headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(call('a')),
  });
  expect(response.status).toBe(200);
  let before = -1;
  await expect
    .poll(
      () => {
        const stands = before === written;
        before = written;
        return stands && isFull;
      },
      { interval: 200, timeout: 20_000 },
    )
    .toBe(true);
  expect(written).toBeLessThan(100_000_000);
  stop.abort();
});

describe('sessions', () => {
  const greeting = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cli', version: '1' } },
  };
  const headers = { 'mcp-session-id': 'sid', 'mcp-protocol-version': '2025-11-25' };

  async function session(answer: RecordingServer['answer']): Promise<Behind> {
    const one = await answering((heard, response) => {
      const { id, method } = rpcOf(heard);
      if (method === 'initialize')
        json(response, { jsonrpc: '2.0', id, result: { capabilities: { tools: {}, tasks: { list: {} } } } }, 200, {
          'mcp-session-id': 'sid',
        });
      else answer(heard, response);
    });
    const got = await send(one.proxied, 's', { body: greeting });
    expect(got.headers.get('mcp-session-id')).toBe('sid');
    // What the proxy does not forward, the server cannot do. Its tools change with policy.
    expect(got.body.result).toEqual({ capabilities: { tools: { listChanged: true } } });
    return one;
  }

  test('the client of a session is the one that it named first', async () => {
    const { proxied } = await session((heard, response) => json(response, done(rpcOf(heard).id)));
    await send(proxied, 's', { body: call('a'), headers });
    expect((await proxied.sidecar.entries())[0]).toMatchObject({
      client: { name: 'cli', version: '1' },
      sessionId: 'sid',
      agentType: 'cli::interactive::',
    });
  });

  test('an answer on a resumed stream is treated as on its own stream, and once', async () => {
    const { up, proxied } = await session((heard, response) => {
      if (heard.method === 'GET') stream(response, event(done(5), '2'), event(done(5), '3'), event(done(9), '4')).end();
      else stream(response, 'id: 1\ndata: \n\n').end();
    });
    expect((await send(proxied, 's', { body: call('a', {}, 5), headers })).text).toBe('id: 1\ndata: \n\n');
    expect(await proxied.codes()).toEqual(['PreToolUse s.a allowed']);
    const { text } = await send(proxied, 's', {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': '1' },
    });
    expect(up.heard.at(-1)?.headers).toMatchObject({ 'last-event-id': '1', 'mcp-session-id': 'sid' });
    // An event that must not arrive keeps its id, so that no client resumes before it.
    expect(text).toBe(`${event(done(5), '2')}id: 3\n\nid: 4\n\n`);
    expect(await proxied.codes()).toEqual(['PreToolUse s.a allowed', 'PostToolUse s.a allowed']);
  });

  test('a call that the client cancels is cancelled at the server, and recorded', async () => {
    let open: ServerResponse | undefined;
    const { up, proxied } = await session((heard, response) => {
      if (rpcOf(heard).id === undefined) response.writeHead(202).end();
      else open = stream(response, ':\n\n');
    });
    const calling = send(proxied, 's', { body: call('a', {}, 5), headers });
    await expect.poll(() => open).toBeDefined();
    expect(
      (await send(proxied, 's', { body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }, headers })).status,
    ).toBe(202);
    expect(up.heard.at(-1)?.body).toContain('notifications/cancelled');
    expect((await proxied.sidecar.entries()).at(-1)).toMatchObject({ hookEvent: 'PostToolUse', outcome: { isError: true } });
    // The answer comes too late. Its outcome would not be recorded.
    open?.end(event(done(5)));
    expect((await calling).text).toBe(':\n\n');
  });

  test('a second request under the id of a running one does not reach the server', async () => {
    let open: ServerResponse | undefined;
    const { up, proxied } = await session((_heard, response) => (open = stream(response, ':\n\n')));
    const calling = send(proxied, 's', { body: call('a', {}, 5), headers });
    await expect.poll(() => open).toBeDefined();
    const before = up.heard.length;
    expect((await send(proxied, 's', { body: { jsonrpc: '2.0', id: 5, method: 'tools/list' }, headers })).status).toBe(400);
    expect(up.heard).toHaveLength(before);
    open?.end(event(done(5)));
    await calling;
  });

  test('a session that the server no longer knows, or that its client ended, is gone', async () => {
    const { up, proxied } = await session((heard, response) => response.writeHead(heard.method === 'DELETE' ? 200 : 404).end());
    expect((await send(proxied, 's', { method: 'DELETE', headers })).status).toBe(200);
    const before = up.heard.length;
    expect((await send(proxied, 's', { body: call('a'), headers })).status).toBe(404);
    expect(up.heard).toHaveLength(before);
  });
});

test('a server that is down does not affect others, and is available as soon as it answers', async () => {
  const up = await record((heard, response) => json(response, done(rpcOf(heard).id)));
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  const http = createServer(answerAlways);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const proxied = await startProxied(serversOf(overHttp('s', up), overHttp('dead', { url: `http://127.0.0.1:${port}/mcp` })));
  expect((await send(proxied, 'dead', { body: call('a') })).status).toBe(200);
  http.closeAllConnections();
  http.close();
  await once(http, 'close');
  expect((await send(proxied, 'dead', { body: call('a') })).status).toBe(502);
  expect((await send(proxied, 's', { body: call('a') })).status).toBe(200);
  const again = createServer(answerAlways);
  again.listen(port, '127.0.0.1');
  await once(again, 'listening');
  onTestFinished(() => {
    again.closeAllConnections();
    again.close();
  });
  expect((await send(proxied, 'dead', { body: call('a') })).status).toBe(200);
});

test('for a server whose secret is missing the answer names it, and its place', async () => {
  const proxied = await startProxied({
    find: (_index, name) => ({ name, admitted: null, reach: { kind: 'unreachable', problem: 'has no value for its header X' } }),
  });
  const got = await send(proxied, 's', {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: metaOf() } },
    headers: modernHeaders('tools/list'),
  });
  expect([got.status, got.body.error?.message]).toEqual([503, 'the tool server has no value for its header X']);
});

test('an answer to a notification is not read, and holds nothing open', async () => {
  let ended = 0;
  const { proxied } = await answering((_heard, response) => {
    response.on('close', () => (ended += 1));
    stream(response, ':\n\n');
  });
  expect((await send(proxied, 's', { body: { jsonrpc: '2.0', method: 'notifications/initialized' } })).status).toBe(200);
  await expect.poll(() => ended).toBe(1);
});

test('a key has a bounded number of open streams with a server, and other keys continue', async () => {
  const { proxied } = await answering((_heard, response) => stream(response, ':\n\n'));
  proxied.sidecar.take({ keys: [key(), key({ id: 'key-2' })] });
  const stop = new AbortController();
  // `fetch` closes the connection of an answer that nothing refers to any more.
  const held: Response[] = [];
  const open = async (authorization: string): Promise<Response> => {
    const headers = { authorization: `Bearer ${authorization}`, accept: 'text/event-stream' };
    const answer = await fetch(proxied.urlOf('s'), { signal: stop.signal, headers });
    held.push(answer);
    return answer;
  };
  for (let at = 0; at < upstreamBounds.exchangesOfKey; at += 1) expect((await open(own)).status).toBe(200);
  expect((await open(own)).status).toBe(503);
  expect((await open(keyText('key2'))).status).toBe(200);
  stop.abort();
  await expect
    .poll(
      async () =>
        (
          await fetch(proxied.urlOf('s'), { headers: { authorization: `Bearer ${own}` } }).then(async (one) => [
            one.status,
            await one.body?.cancel(),
          ])
        )[0],
    )
    .toBe(200);
});

test('when the process ends, open streams end, here and at the server', async () => {
  let ended = false;
  const { proxied } = await answering((_heard, response) => {
    response.on('close', () => (ended = true));
    stream(response, ':\n\n');
  });
  const response = await fetch(proxied.urlOf('s'), { headers: { authorization: `Bearer ${own}`, accept: 'text/event-stream' } });
  const read = response.text();
  const closed = proxied.close();
  expect(await read).toMatch(/^(?::\n\n)?$/);
  await expect.poll(() => ended).toBe(true);
  await closed;
});
