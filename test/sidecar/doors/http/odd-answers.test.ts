// Answers of a tool's server that are not HTTP, or barely HTTP: the caller learns that the server failed, and the log
// contains none of its bytes.
import { type AddressInfo, createServer } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { logSerializers } from '../../../../sidecar/app/log-serializers.ts';
import { ruleFor } from '../../../support/snapshots.ts';
import { startTool } from './behind-the-gate.ts';

const redacting = { documents: [ruleFor('billing', { transform: 'redact' })] };

/** A tool whose server answers each request with these bytes, and then ends. */
async function answering(bytes: string, world = {}) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.from(bytes, 'latin1')));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return startTool({ world, tool: { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } });
}

const secret = 'rosebud-password';

test('of an invalid head nothing is in the log and nothing in the answer', async () => {
  const { ask, lines, sidecar } = await answering(`HTTP/1.1 200 OK\r\nX-B: a\u0001b\r\nSet-Cookie: ${secret}\r\n\r\n${secret}`);
  const answer = await ask({ method: 'GET' });
  expect(answer).toMatchObject({ status: 502, text: expect.stringContaining('it is not known whether the call took effect') });
  expect(lines.join('')).toContain('"code":"HTTPParserError"');
  expect(lines.join('') + answer.text).not.toContain('rosebud');
  expect((await sidecar.entries())[1]).toMatchObject({ outcome: { isError: true } });
});

test('the process logs the code and message of an error, and no other field of it', () => {
  const lines: string[] = [];
  const log = pino({ serializers: logSerializers }, { write: (line: string) => void lines.push(line) });
  const cause = Object.assign(new Error('inner'), { data: secret, code: 'HPE_INVALID' });
  log.warn(Object.assign(new Error('outer', { cause }), { body: secret }), 'failed');
  log.warn({ err: { data: secret } }, 'failed');
  expect(lines.join('')).toContain('"code":"HPE_INVALID"');
  expect(lines.join('')).not.toContain('rosebud');
});

test.each([600, 999])('a status of %i is a server that failed, and not a connection that is cut', async (status) => {
  const { ask, sidecar } = await answering(`HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nok`);
  expect(await ask()).toMatchObject({ status: 502 });
  expect((await sidecar.entries()).map(({ outcome }) => outcome?.isError)).toEqual([undefined, true]);
});

test('an unrequested 100 leaves it unknown whether the call happened, and the answer reports that', async () => {
  const { ask } = await answering('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  expect(await ask()).toMatchObject({ status: 502, text: expect.stringContaining('it is not known whether the call took effect') });
});

test.each([
  ['of length 0', 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\nLocation: /1\r\n\r\n', 201],
  ['of length 0 and of a type that is no text', 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 0\r\n\r\n', 200],
  ['of no chunks', 'HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\nLocation: /1\r\n\r\n0\r\n\r\n', 302],
] as const)('an empty answer %s passes where policy redacts', async (_, bytes, status) => {
  const { ask, sidecar } = await answering(bytes, redacting);
  expect(await ask()).toMatchObject({ status, text: '' });
  expect((await sidecar.entries())[1]).toMatchObject({ outcome: { isError: false, action: 'pass' } });
});
