// Calls of sessions whose answer does not come: each has a recorded outcome, however it ends, and holds nothing open.
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { Pending } from '../../../../sidecar/doors/mcp/request/pending.ts';
import { addWaiting, createMcpSessions } from '../../../../sidecar/doors/mcp/session/sessions.ts';
import { collectGarbage } from '../../../bench/garbage.ts';
import { key } from '../../../support/snapshots.ts';
import { greet, openStream } from './program-line.ts';
import { behind, call, json, rpcOf, send, type TestProxy } from './proxied.ts';

const cancelled = (requestId: number): object => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

/** The test answers its tool calls. */
async function called(answer: (response: ServerResponse) => void) {
  const one = await behind({
    answer: (heard, response) => {
      const { id, method } = rpcOf(heard);
      if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: { capabilities: {} } }, 200, { 'mcp-session-id': 'sid' });
      else if (method === 'tools/list') json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'a' }] } });
      else if (id !== undefined) answer(response);
      else response.writeHead(heard.method === 'POST' ? 202 : 200).end();
    },
  });
  return { ...one, headers: (await greet(one.proxied, 's')).headers };
}

/** Sends one event with a number, so that the answer may come on another stream. Then the stream breaks. */
const numbered = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata: \n\n', () => response.destroy());
const silent = (response: ServerResponse): void => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
const hooksOf = async ({ sidecar }: TestProxy): Promise<readonly unknown[]> =>
  (await sidecar.entries()).map(({ hookEvent, outcome }) => [hookEvent, outcome?.isError]);
const both = [
  ['PreToolUse', undefined],
  ['PostToolUse', true],
];

test('a cancelled call ends its stream, whatever the server does', async () => {
  const { proxied, headers, up } = await called(silent);
  const calling = await openStream(proxied, 's', headers, call('a', {}, 5));
  expect((await send(proxied, 's', { body: cancelled(5), headers })).status).toBe(202);
  expect(await calling.text).toBe(':\n\n');
  expect(up.heard.at(-1)?.body).toContain('notifications/cancelled');
  expect(await hooksOf(proxied)).toEqual(both);
});

test('a call that is cancelled before its server begins to answer gets that reason, and not an error that invites a retry', async () => {
  const { proxied, headers, up } = await called(() => undefined);
  const calling = send(proxied, 's', { body: call('a', {}, 5), headers });
  await expect.poll(() => up.heard.at(-1)?.body).toContain('tools/call');
  await send(proxied, 's', { body: cancelled(5), headers });
  const { status, body } = await calling;
  expect([status, body.error?.message]).toEqual([200, 'the caller cancelled the call']);
});

test('a call that is cancelled at an unreachable server is recorded too', async () => {
  const { proxied, headers, up } = await called(numbered);
  await send(proxied, 's', { body: call('a', {}, 5), headers });
  const answer = up.answer;
  up.answer = (_heard, response) => response.destroy();
  expect((await send(proxied, 's', { body: cancelled(5), headers })).status).toBe(502);
  expect(await hooksOf(proxied)).toEqual(both);
  up.answer = answer;
});

test('a call that waits for another stream is recorded when its session ends', async () => {
  const { proxied, headers } = await called(numbered);
  await send(proxied, 's', { body: call('a', {}, 5), headers });
  expect(await hooksOf(proxied)).toHaveLength(1);
  await send(proxied, 's', { method: 'DELETE', headers });
  expect(await hooksOf(proxied)).toEqual(both);
});

test('a call that waits for another stream is recorded when its server forgets the session', async () => {
  const { proxied, headers, up } = await called(numbered);
  await send(proxied, 's', { body: call('a', {}, 5), headers });
  up.answer = (_heard, response) => void response.writeHead(404).end();
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  expect((await send(proxied, 's', { body: notification, headers })).status).toBe(404);
  expect(await hooksOf(proxied)).toEqual(both);
});

test('a call that waits for another stream is recorded when the process ends', async () => {
  const { proxied, headers } = await called(numbered);
  await send(proxied, 's', { body: call('a', {}, 5), headers });
  await proxied.close();
  expect(await hooksOf(proxied)).toEqual(both);
});

test('a call whose client has gone is recorded where no client could resume it', async () => {
  const { proxied, headers } = await called(silent);
  const calling = await openStream(proxied, 's', headers, call('a', {}, 5));
  calling.leave();
  await expect.poll(() => hooksOf(proxied)).toEqual(both);
});

test('a session whose key is revoked is ended at its server', async () => {
  const { proxied, headers, up } = await called(silent);
  const calling = await openStream(proxied, 's', headers, call('a', {}, 5));
  proxied.sidecar.take({ keys: [key({ id: 'key-2' })] });
  expect(await calling.text).toBe(':\n\n');
  await expect.poll(() => up.heard.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 'sid' } });
  expect(await hooksOf(proxied)).toEqual(both);
});

test('when the memory budget is used up, the least recently used session is ended at its server, and nothing of it stays open', async () => {
  const told: string[] = [];
  const sessions = createMcpSessions((error) => told.push(String(error)), 5_000);
  const owner = { sub: 'ann', keyId: 'key-1' };
  const beginning = (id: string): Parameters<typeof sessions.begin>[2] => ({
    owner,
    client: { name: 'cli' },
    endAtServer: () => told.push(`ended ${id}`),
  });
  const pending: Pending = {
    method: 'tools/call',
    settle: () => Promise.reject(new Error('nothing came')),
    abandon: async (why) => void told.push(why),
    passing: (text) => text,
  };
  addWaiting(sessions.begin('s', 'one', beginning('one')), '1', pending);
  sessions.begin('s', 'two', beginning('two'));
  expect(sessions.find('s', 'one', owner)).toBeNull();
  await sessions.endAll();
  expect(told).toEqual(['the session ended before the answer', 'ended one']);
});

/** The bytes in the heap and in external memory. */
const bytesKept = (): number => collectGarbage() + process.memoryUsage().external;

test('pending calls of a session keep neither their input nor their request in memory', async () => {
  const { proxied, headers, up } = await called(numbered);
  const ask = async (body: object): Promise<void> => {
    await send(proxied, 's', { body, headers });
    up.heard.splice(0);
  };
  const text = 'x'.repeat(1_000_000);
  const ids = Array.from({ length: 40 }, (_, n) => n);
  await ask(call('a', { text }, 'first'));
  const before = bytesKept();
  for (const id of ids) {
    await ask(call('a', { text }, `call ${id}`));
    await ask({ jsonrpc: '2.0', id: `ping ${id}`, method: 'ping', params: { text } });
  }
  // A fourth of what the calls or the pings alone would use. External memory is freed some time after it is released.
  await expect.poll(() => bytesKept() - before, { timeout: 10_000 }).toBeLessThan(10_000_000);
  expect(await hooksOf(proxied)).toHaveLength(1 + ids.length);
});

test('a session keeps of its first request only what is needed to end the session', async () => {
  const { proxied, up } = await called(silent);
  const params = Object.fromEntries(Array.from({ length: 3 }, (_, n) => [`mcp-param-${n}`, 'x'.repeat(4_000)]));
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } };
  let sessions = 0;
  up.answer = (heard, response) => {
    if (heard.method === 'DELETE') return void response.writeHead(200).end();
    up.heard.splice(0);
    sessions += 1;
    json(response, { jsonrpc: '2.0', id: 1, result: { capabilities: {} } }, 200, { 'mcp-session-id': `s${sessions}` });
  };
  const before = collectGarbage();
  for (let n = 0; n < 1_000; n += 1)
    await send(proxied, 's', { body: initialize, headers: { ...params, 'mcp-protocol-version': '2025-11-25' } });
  // Their headers were 12 MB.
  expect(collectGarbage() - before).toBeLessThan(8_000_000);
  proxied.sidecar.take({ keys: [key({ id: 'key-2' })] });
  await expect
    .poll(() => up.heard.at(-1))
    .toMatchObject({ method: 'DELETE', headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' } });
});
