import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { document, ruleFor, type World } from '../../../support/snapshots.ts';
import { own, startTool } from './behind-the-gate.ts';

const mail = 'bob@acme-mail.eu';
const redacting: World = { documents: [ruleFor('billing', { transform: 'redact' })] };
const watching: World = { documents: [document({ mode: 'audit', tools: [['billing', [['interactive', { transform: 'redact' }]]]] })] };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const answering =
  (contentType: string | null, body: string | Buffer, headers: Readonly<Record<string, string>> = {}, status = 200) =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { ...(contentType === null ? {} : { 'content-type': contentType }), ...headers });
    response.end(body);
  };

/** Sends a request. The test reads the answer in steps. */
async function open(
  port: number,
  path = '/tools/billing/stream',
): Promise<{ readonly response: IncomingMessage; readonly leave: () => void }> {
  const request = httpRequest({ port, path, headers: { authorization: `Bearer ${own}` }, agent: false });
  request.on('error', () => {});
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  return { response, leave: () => void request.destroy() };
}

const nextText = async (response: IncomingMessage): Promise<string> => String((await once(response, 'data'))[0]);

async function outcomes(sidecar: { entries(): Promise<readonly { readonly outcome?: object }[]> }, count: number) {
  let found: readonly object[] = [];
  while (found.length < count) {
    found = (await sidecar.entries()).flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome]));
    await new Promise((done) => setImmediate(done));
  }
  return found;
}

test.each([
  ['as it comes', {}, `data: {"to":"${mail}"}\n\n`],
  ['redacted', redacting, 'data: {"to":"[redacted:email#1]"}\n\n'],
] as const)('an event is forwarded when it arrives, and not with the next one, %s', async (_, world, first) => {
  const streams: ServerResponse[] = [];
  const { port, sidecar } = await startTool({
    world,
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.push(response);
    },
  });
  const { response } = await open(port);
  expect(response.headers['content-type']).toBe('text/event-stream');
  streams[0]?.write(`data: {"to":"${mail}"}\n\n`);
  expect(await nextText(response)).toBe(first);
  streams[0]?.write('data: 2\n');
  streams[0]?.write('\ndata: 3\n\n');
  let rest = '';
  while (!rest.endsWith('3\n\n')) rest += await nextText(response);
  expect(rest).toBe('data: 2\n\ndata: 3\n\n');
  expect((await sidecar.entries()).map(({ hookEvent }) => hookEvent)).toEqual(['PreToolUse']);
  sidecar.time.now += 300_000;
  streams[0]?.end();
  await once(response, 'end');
  expect(await outcomes(sidecar, 1)).toMatchObject([{ isError: false, durationMs: 300_000 }]);
});

test('a caller that disconnects ends the request to the server, before an answer and within one', async () => {
  const arrived: IncomingMessage[] = [];
  const { port, sidecar, server } = await startTool({
    answer: (request, response, { url }) => {
      arrived.push(request);
      if (url.endsWith('/stream')) response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    },
  });
  const streaming = await open(port);
  await nextText(streaming.response);
  const ended = once(arrived[0]?.socket ?? server, 'close');
  streaming.leave();
  await ended;
  const asked = once(server, 'request');
  const silent = httpRequest({ port, path: '/tools/billing/silent', headers: { authorization: `Bearer ${own}` }, agent: false });
  silent.on('error', () => {});
  silent.end();
  await asked;
  while (arrived.length < 2) await new Promise((done) => setImmediate(done));
  const endedToo = once(arrived[1]?.socket ?? server, 'close');
  silent.destroy();
  await endedToo;
  expect(await outcomes(sidecar, 2)).toMatchObject([{ isError: true }, { isError: true }]);
});

test('of an answer of 100 MB no more is held than a reader can buffer, whole or redacted', async () => {
  const line = Buffer.from(`${'word '.repeat(13_107)}\n`);
  const MiB = 1024 * 1024;
  // Redacting all of 100 MB shows no more than redacting part of it, and takes longer.
  for (const [world, total] of [
    [{}, 100 * MiB],
    [redacting, 24 * MiB],
  ] as const) {
    let written = 0;
    const { port, sidecar } = await startTool({
      world,
      answer: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const more = (): void => {
          while (written < total) {
            written += line.byteLength;
            if (!response.write(line)) return void response.once('drain', more);
          }
          response.end();
        };
        more();
      },
    });
    const { response } = await open(port);
    response.pause();
    // The server stops where its data is no longer read.
    for (let before = -1, turns = 0; turns < 500; turns = before === written ? turns + 1 : 0) {
      before = written;
      await new Promise((done) => setImmediate(done));
    }
    expect(written).toBeLessThan(16 * MiB);
    let read = 0;
    let most = 0;
    for await (const chunk of response) {
      read += (chunk as Buffer).byteLength;
      most = Math.max(most, written - read);
    }
    expect(read).toBe(written);
    // Counted, since the memory of the process also depends on when garbage is collected.
    expect(most).toBeLessThan(16 * MiB);
    expect(await outcomes(sidecar, 1)).toMatchObject([{ isError: false, action: 'pass' }]);
  }
});

test('a request of 5 bytes follows one of 1 MiB on the same connection', async () => {
  const { port, reached } = await startTool();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const post = async (body: string) => {
    const request = httpRequest({
      port,
      method: 'POST',
      path: '/tools/billing/x',
      agent,
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
    });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return { status: response.statusCode, reused: request.reusedSocket };
  };
  const large = `"${'x'.repeat(1024 * 1024 - 2)}"`;
  expect(await post(large)).toEqual({ status: 200, reused: false });
  expect(await post('12345')).toEqual({ status: 200, reused: true });
  expect(reached.map(({ body }) => body.length)).toEqual([1024 * 1024, 5]);
  agent.destroy();
});

test('a secret that is split between pieces of a text is redacted', async () => {
  const { ask, sidecar } = await startTool({
    world: redacting,
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 34 });
      response.write('write to bob@ac');
      setImmediate(() => response.end('me-mail.eu, please.'));
    },
  });
  const answer = await ask();
  expect(answer.text).toBe('write to [redacted:email#1], please.');
  expect([undefined, '36']).toContain(answer.headers['content-length']);
  expect(await outcomes(sidecar, 1)).toMatchObject([{ action: 'redact', outputDigest: sha256(answer.text) }]);
  expect((await sidecar.entries())[1]).toMatchObject({ findings: [{ kind: 'email', count: 1 }] });
});

test('JSON keeps its spelling except for what is redacted, and its headers are redacted too', async () => {
  const { ask } = await startTool({
    world: redacting,
    answer: answering(
      'application/problem+json',
      `{ "to": "${mail}", "n": 1.0 }`,
      { 'x-owner': mail, link: `<mailto:${mail}>`, etag: '"v1"' },
      422,
    ),
  });
  const answer = await ask();
  expect(answer).toMatchObject({
    status: 422,
    text: '{ "to": "[redacted:email#1]", "n": 1.0 }',
    headers: { 'x-owner': '[redacted:email#1]', etag: '"v1"' },
  });
  expect(JSON.stringify(answer.headers)).not.toContain(mail);
});

test('JSON of more than 8 MiB is replaced as a whole', async () => {
  const { ask, sidecar } = await startTool({
    world: redacting,
    answer: answering('application/json', `["${'x '.repeat(4 * 1024 * 1024)}"]`),
  });
  expect(await ask()).toMatchObject({ status: 200, text: '"[redacted:over_budget]"' });
  expect((await sidecar.entries())[1]).toMatchObject({ outcome: { action: 'redact' }, findings: [{ kind: 'over_budget', count: 1 }] });
});

test.each([
  ['is compressed', answering('application/json', gzipSync(`{"to":"${mail}"}`), { 'content-encoding': 'gzip' })],
  ['is an image', answering('image/png', `PNG ${mail}`)],
  ['has no content type', answering(null, mail)],
  ['is not UTF-8', answering('text/plain; charset=utf-16le', Buffer.from(mail, 'utf16le'))],
  ['has a content type that is none', answering('json', `{"to":"${mail}"}`)],
] as const)('an answer that %s is withheld where policy redacts it', async (_, answer) => {
  const { ask, sidecar, reached } = await startTool({ world: redacting, answer });
  const got = await ask({ headers: { 'accept-encoding': 'gzip', range: 'bytes=0-3' } });
  expect(got.status).toBe(403);
  expect(got.text).not.toContain(mail);
  expect(JSON.parse(got.text)).toMatchObject({
    error: expect.any(String),
    decision: { action: 'block', reason: expect.stringMatching(/^redaction_unsupported: /) },
  });
  expect(reached[0]?.headers).toMatchObject({ 'accept-encoding': 'identity' });
  expect(reached[0]?.headers.range).toBeUndefined();
  expect(await outcomes(sidecar, 1)).toMatchObject([{ isError: false, action: 'block', code: 'redaction_unsupported' }]);
});

test('the same answers pass where policy only logs', async () => {
  const zipped = gzipSync('{"a":1}');
  const { ask, reached } = await startTool({
    answer: answering('application/json', zipped, { 'content-encoding': 'gzip', 'content-length': String(zipped.byteLength) }),
  });
  const got = await ask({ headers: { 'accept-encoding': 'gzip', range: 'bytes=0-3' } });
  expect(got).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip', 'content-length': String(zipped.byteLength) } });
  expect(reached[0]?.headers).toMatchObject({ 'accept-encoding': 'gzip', range: 'bytes=0-3' });
});

test('an answer that turns out not to be text is cut off, and no unread part of it is sent', async () => {
  const { port, sidecar } = await startTool({
    world: redacting,
    answer: answering('text/plain', Buffer.concat([Buffer.from('a'.repeat(2_000)), Buffer.from([0xff, 0xfe]), Buffer.from(mail)])),
  });
  const request = httpRequest({ port, path: '/tools/billing/x', headers: { authorization: `Bearer ${own}` }, agent: false });
  let text = '';
  const closed = new Promise<string>((done) => {
    request.on('error', () => done('cut'));
    request.on('response', (response) => {
      response.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      response.on('error', () => done('cut'));
      response.on('end', () => done('whole'));
    });
  });
  request.end();
  expect(await closed).toBe('cut');
  expect(text).not.toContain('@');
  expect(await outcomes(sidecar, 1)).toMatchObject([{ isError: true, action: 'block', code: 'redaction_unsupported' }]);
});

test('where redaction is only in audit mode, the answer passes and its stored form is redacted', async () => {
  const { ask, sidecar } = await startTool({ world: watching, answer: answering('application/json', `{"to":"${mail}"}`) });
  expect((await ask()).text).toBe(`{"to":"${mail}"}`);
  const [outcome] = await outcomes(sidecar, 1);
  expect(outcome).toMatchObject({ action: 'pass', outputDigest: sha256('{"to":"[redacted:email#1]"}') });
  expect((await sidecar.entries())[1]).toMatchObject({ findings: [{ kind: 'email', count: 1 }] });
});

test('of the server’s headers, those of its connection, its sessions and our own are removed', async () => {
  const { ask } = await startTool({
    answer: answering('text/plain', 'x', {
      connection: 'close, x-hop',
      'x-hop': '1',
      'set-cookie': 'session=ours',
      'x-tollgate-request-id': 'forged',
      'alt-svc': 'h3=":443"',
      'proxy-authenticate': 'Basic',
      'x-kept': 'yes',
    }),
  });
  const { headers } = await ask();
  expect(headers).toMatchObject({ 'x-kept': 'yes', 'x-tollgate-request-id': 'id-1' });
  for (const name of ['x-hop', 'set-cookie', 'alt-svc', 'proxy-authenticate']) expect(headers[name]).toBeUndefined();
});

test('an outcome that cannot be recorded cuts the answer off before its end', async () => {
  const { port, sidecar } = await startTool({
    answer: (_request, response) => {
      sidecar.spoolFault = 'full';
      response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(1_000));
    },
  });
  const { response } = await open(port);
  response.resume();
  const ended = await Promise.race([once(response, 'end').then(() => 'whole'), once(response, 'aborted').then(() => 'cut')]);
  expect(ended).toBe('cut');
});

test('a complete answer is withheld where its outcome cannot be recorded, or where it is not text', async () => {
  const bad = Buffer.concat([Buffer.from(mail), Buffer.from([0xff])]);
  const { ask, sidecar } = await startTool({
    world: redacting,
    answer: (request, response) => {
      if (request.url?.endsWith('full') === true) sidecar.spoolFault = 'full';
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': bad.byteLength, 'x-theirs': '1' }).end(bad);
    },
  });
  const noText = await ask();
  expect(noText).toMatchObject({ status: 403, text: expect.stringContaining('redaction_unsupported') });
  expect(await outcomes(sidecar, 1)).toMatchObject([{ isError: true, action: 'block', code: 'redaction_unsupported' }]);
  const unrecorded = await ask({ path: '/tools/billing/full' });
  expect(unrecorded).toMatchObject({ status: 403 });
  for (const { text, headers } of [noText, unrecorded]) {
    expect(text).not.toContain(mail);
    expect(headers['x-theirs']).toBeUndefined();
  }
});

test('where nothing is found, a redacted text is unchanged, whatever its characters and wherever it is cut', async () => {
  const text = '😀 größer 密钥 👩‍👩‍👧 '.repeat(500) + `${'😀'.repeat(33)}a`.repeat(300);
  const bytes = Buffer.from(text);
  const { ask } = await startTool({
    world: redacting,
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
      let at = 0;
      const more = (): void => {
        if (at >= bytes.byteLength) return void response.end();
        const end = Math.min(bytes.byteLength, at + 997);
        response.write(bytes.subarray(at, end), () => setImmediate(more));
        at = end;
      };
      more();
    },
  });
  expect((await ask()).text === text).toBe(true);
});
