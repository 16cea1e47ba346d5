// Requests that are answered before their bodies have arrived, over real connections. A client that sends all of its
// body first still gets the answer, and what it sent is stored nowhere.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { bounds } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { keyText } from '../../../support/snapshots.ts';

async function start() {
  const sidecar = await createTestSidecar();
  const { app, entrance } = createTestServer(sidecar);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = new URL(origin);

  /** Opens a connection and sends the head of a request. */
  async function begin(path: string, headers: readonly string[]): Promise<Socket> {
    const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    const lines = [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${keyText('key1')}`,
      'Content-Type: application/json',
      ...headers,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    return socket;
  }
  return { app, entrance, sidecar, origin, begin };
}

const piece = Buffer.alloc(1_048_576, ' ');

/** Sends the whole body before it reads a byte of the answer, as some clients do. */
async function sendFirst(socket: Socket, pieces: number, isChunked: boolean): Promise<string> {
  socket.pause();
  for (let n = 0; n < pieces; n += 1) {
    if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece);
    if (isChunked) socket.write('\r\n');
  }
  await new Promise<void>((done, fail) => socket.write(isChunked ? '0\r\n\r\n' : '', (error) => (error == null ? done() : fail(error))));
  let text = '';
  socket.on('data', (more: string) => {
    text += more;
  });
  socket.resume();
  await once(socket, 'close');
  return text;
}

test('an unknown expectation does not prevent a decision', async () => {
  const { begin, sidecar } = await start();
  const body = '{"tool_name":"mail.send"}';
  const socket = await begin('/govern/tool-use', [`Content-Length: ${body.length}`, 'Expect: 200-maybe']);
  socket.write(body);
  const [answer] = (await once(socket, 'data')) as [string];
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect((await sidecar.entries()).map(({ code }) => code)).toEqual(['allowed']);
});

test.each([
  ['with its length', false],
  ['in chunks', true],
])('a body of 20 MiB that is sent %s before anything is read is answered 200, and the connection ends', async (_, isChunked) => {
  const { sidecar, begin } = await start();
  for (const [path, said] of [
    ['/govern/tool-use', '"decision":"deny","reason":"input_too_large: the body must be at most 1048576 bytes"'],
    ['/govern/tool-output', '"action":"block","reason":"input_too_large: the body must be at most 9437184 bytes"'],
  ] as const) {
    const socket = await begin(path, [isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${20 * piece.length}`]);
    const text = await sendFirst(socket, 20, isChunked);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text.toLowerCase()).toContain('connection: close');
    expect(text).toContain(said);
  }
  expect((await sidecar.entries()).map(({ hookEvent, code }) => `${hookEvent} ${code}`)).toEqual([
    'PreToolUse input_too_large',
    'PostToolUse input_too_large',
  ]);
});

test('the answer to a body that is too large does not wait for the body, and an endless body is cut', async () => {
  const { begin } = await start();
  const socket = await begin('/govern/tool-use', ['Content-Length: 1000000000000']);
  const [answer] = (await once(socket, 'data')) as [string];
  expect(answer).toContain('input_too_large');
  let sent = 0;
  const ended = new Promise((done) => socket.on('error', () => undefined).once('close', done));
  // A client that never stops is read only up to 64 MiB, and what the connection itself buffers.
  const pour = (): void => {
    sent += piece.length;
    if (!socket.destroyed) socket.write(piece, (error) => (error == null ? pour() : undefined));
  };
  pour();
  await ended;
  expect(sent).toBeLessThan(100 * piece.length);
});

test('where the memory budget of a caller is used up, the answer is 200 with a decision, and counts in its entry', async () => {
  const { entrance, sidecar, origin, begin } = await start();
  const held = await begin('/govern/tool-output', [`Content-Length: ${bounds.outputBodyBytes}`, 'Expect: 100-continue']);
  const [more] = (await once(held, 'data')) as [string];
  expect(more).toContain('100 Continue');
  const post = (path: string, fields: object, authorization = `Bearer ${keyText('key1')}`) =>
    fetch(origin + path, { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(fields) });
  const large = { tool_name: 't', tool_output: 'x'.repeat(bounds.toolOutputBytes - 2) };
  const refused = await post('/govern/tool-output', large);
  expect(refused.status).toBe(200);
  expect(await refused.json()).toEqual({
    action: 'block',
    reason: 'request_limit: too many body bytes of this caller are in progress; try again when earlier requests are answered',
    retryAfterMs: 1_000,
  });
  // The budget belongs to the caller, and an invalid key is answered as invalid.
  const unknown = await post('/govern/tool-use', { tool_name: 't' }, `Bearer ${keyText('absent')}`);
  expect(unknown.status).toBe(401);
  expect(await (await post('/govern/tool-use', { tool_name: 't' })).json()).toMatchObject({ decision: 'allow' });
  await entrance.close();
  expect((await sidecar.entries()).map(({ decisionReason }) => decisionReason)).toEqual([
    expect.stringMatching(/^allowed: /),
    'request_limit: 1 request was refused unread in the last second: 1 while too many body bytes of the key were in progress',
  ]);
});

/** Each host runs the call after an answer that is not 2xx, or that it cannot read. */
const hosts = [
  ['claude-code', '"permissionDecision":"deny"'],
  ['codex', '"permissionDecision":"deny"'],
  ['cursor', '"permission":"deny"'],
  ['gemini-cli', '"decision":"deny"'],
  ['copilot-cli', '"permissionDecision":"deny"'],
] as const;

test('a coding agent whose body exceeds the budget, or is too large, is answered 200 in its own format', async () => {
  const { entrance, sidecar, origin, begin } = await start();
  for (const length of [bounds.outputBodyBytes, ...Array.from({ length: 7 }, () => bounds.bodyBytes)]) {
    const path = length > bounds.bodyBytes ? '/govern/tool-output' : '/govern/tool-use';
    await once(await begin(path, [`Content-Length: ${length}`, 'Expect: 100-continue']), 'data');
  }
  const headers = { authorization: `Bearer ${keyText('key1')}`, 'content-type': 'application/json' };
  for (const [host, denial] of hosts) {
    const crowded = await fetch(`${origin}/hooks/${host}`, { method: 'POST', headers, body: ' '.repeat(bounds.bodyBytes) });
    expect(crowded.status).toBe(200);
    expect(crowded.headers.get('x-tollgate-answer')).toBe('deny');
    const text = await crowded.text();
    expect(text).toContain(denial);
    expect(text).toContain('request_limit: too many body bytes');
    const large = await sendFirst(await begin(`/hooks/${host}`, [`Content-Length: ${20 * piece.length}`]), 20, false);
    expect(large).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(large.toLowerCase()).toContain('x-tollgate-answer: deny');
    expect(large).toContain(denial);
    expect(large).toContain('input_too_large');
  }
  const unknown = await fetch(`${origin}/hooks/emacs`, { method: 'POST', headers, body: ' '.repeat(bounds.bodyBytes) });
  expect(unknown.status).toBe(404);
  await entrance.close();
  expect((await sidecar.entries()).map(({ decisionReason }) => decisionReason)).toEqual([
    'request_limit: 5 requests were refused unread in the last second: 5 while too many body bytes of the key were in progress',
  ]);
});

test('a request that arrives while the server closes is decided', async () => {
  const { app, sidecar, begin } = await start();
  // The server waits for a connection that has begun a request.
  const body = '{"tool_name":"mail.send"}';
  const socket = await begin('/govern/tool-use', [`Content-Length: ${body.length}`, 'Expect: 100-continue']);
  await once(socket, 'data');
  const closed = app.close();
  socket.write(`${body}POST /govern/tool-use HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keyText('key1')}\r\n`);
  socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  let text = '';
  socket.on('data', (more: string) => {
    text += more;
  });
  await Promise.all([once(socket, 'close'), closed]);
  expect(text).not.toContain('503');
  expect(text.split('"decision":"allow"').length - 1).toBe((await sidecar.entries()).length);
  expect(await sidecar.entries()).not.toHaveLength(0);
});
