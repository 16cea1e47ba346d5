// Places where secrets are not visible in the text itself: escapes of JSON, other encodings, and headers that are not
// part of an input or an output.
import { expect, test } from 'vitest';
import { ruleFor } from '../../../support/snapshots.ts';
import { startTool } from './behind-the-gate.ts';

const world = { documents: [ruleFor('billing', { transform: 'redact' })] };
const token = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const escaped = `\\u0067${token.slice(1)}`;
const mail = 'bob@acme-mail.eu';

const answering = (contentType: string, pieces: readonly (string | Buffer)[], headers = {}) =>
  startTool({
    world,
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': contentType, ...headers });
      const next = (at: number): void => {
        if (at === pieces.length) return void response.end();
        response.write(pieces[at], () => setImmediate(next, at + 1));
      };
      next(0);
    },
  });

test.each([
  ['an event', 'text/event-stream', `id: 1\ndata: {"t":"${escaped}"}\n\ndata: 2\n\n`],
  ['an event of two lines', 'text/event-stream', `data: {"t":\r\ndata: "${escaped}"}\r\nid: 1\r\n\r\n`],
  ['an event with something before', 'text/event-stream', `data: 1 {"t":"${escaped}"}\n\n`],
  ['an event that is the last and has no end', 'text/event-stream', `data: {"t":"${escaped}"}`],
  ['a line of JSON', 'application/x-ndjson', `{"a":1}\n{"t":"${escaped}"}\n`],
  ['a sequence of JSON', 'application/json-seq', `\u001e{"t":"${escaped}"}\n`],
  ['a text', 'text/plain', `{"t":"${escaped}"}`],
  ['a text of several lines', 'text/plain', `{\n  "t": "${escaped}"\n}`],
  ['a text with JSON in a line', 'text/plain', `2026 [info] got {"t":"${escaped}"}\nand on`],
  ['lines that say they are one document', 'application/json', `{"a":1}\n{"t":"${escaped}"}`],
  ['JSON by another name', 'text/json', `{"t":"${escaped}"}`],
] as const)('a secret that JSON escapes is redacted in %s, whole or in pieces', async (_, type, text) => {
  for (const pieces of [[text], [text.slice(0, 9), text.slice(9, 30), text.slice(30)]]) {
    const { ask, sidecar } = await answering(type, pieces);
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(/\[redacted:[a-z_]+#1\]/);
    expect(answer.text).not.toContain(token.slice(8));
    if (type === 'text/event-stream') expect(answer.text).toContain(text.includes('id: 1') ? 'id: 1' : 'data: ');
    expect((await sidecar.entries())[1]).toMatchObject({ outcome: { action: 'redact' }, findings: [{ count: 1 }] });
  }
});

test.each([
  ['text/event-stream', ': hi\r\nevent: a\r\ndata: {"a": "\\u00e9\\/"}\r\n\r\ndata: [1\ndata: , 2]\n\ndata: "\n\n\rdata\r\r'],
  ['application/x-ndjson', '{ "a" : "\\u0041" }\n\n[1,\n'],
  ['text/plain', 'C:\\u0041 "a\\u0041" {"b\r\n "\\\n{"a":"\\n"} \r\r "'],
])('a text of %s in which nothing is found is unchanged, whatever its quotes and breaks', async (type, text) => {
  for (const pieces of [[text], text.split('')]) expect((await (await answering(type, pieces)).ask()).text).toBe(text);
});

test.each([
  ['a line', 'text/plain', (long: string) => `a\n{"t":"${long}"}\nb`, 'a\n"[redacted:over_budget]"\nb'],
  ['an event', 'text/event-stream', (long: string) => `data: ${long}\n\ndata: b\n\n`, 'data: "[redacted:over_budget]"\n\ndata: b\n\n'],
] as const)('%s that is longer than JSON may be is replaced as a whole', async (_, type, text, left) => {
  const { ask } = await answering(type, [text('x'.repeat(8 * 1024 * 1024))]);
  expect((await ask()).text).toBe(left);
});

test.each(['application/json', 'text/plain', 'text/event-stream', 'application/x-ndjson'])(
  'UTF-16 that is declared as %s is withheld',
  async (type) => {
    const bytes = Buffer.from(`{"to":"${mail}"}`, 'utf16le');
    const { ask, sidecar } = await answering(type, [bytes], { 'content-length': String(bytes.byteLength) });
    const answer = await ask();
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('redaction_unsupported') });
    expect(answer.text.replaceAll('\u0000', '')).not.toContain(mail);
    expect((await sidecar.entries())[1]).toMatchObject({ outcome: { action: 'block' } });
  },
);

test('the caller’s headers are redacted too, in place; headers with a form of their own are unchanged', async () => {
  const { ask, reached } = await startTool({ world });
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  const leaking = {
    'user-agent': `me ${mail}`,
    'accept-language': token,
    'if-match': `"${mail}"`,
    tracestate: `a=${token}`,
    accept: token,
  };
  await ask({ headers: { ...leaking, traceparent, 'if-modified-since': date } });
  await ask({ headers: { traceparent: mail, accept: 'text/html, */*;q=0.8', 'if-none-match': 'W/"v1"' } });
  expect(JSON.stringify(reached)).not.toMatch(/acme-mail|ghp_/);
  expect(reached[0]?.headers).toMatchObject({ traceparent, 'if-modified-since': date, 'if-match': '"[redacted:email#1]"' });
  expect(reached[1]?.headers).toMatchObject({ accept: 'text/html, */*;q=0.8', 'if-none-match': 'W/"v1"' });
  expect(reached[1]?.headers['traceparent']).toBeUndefined();
});

test('the server’s headers are redacted, by value, parameter and name; those with a form of their own are unchanged', async () => {
  const own = {
    'cache-control': 'public, max-age=31536000',
    'last-modified': 'Wed, 21 Oct 2026 07:28:00 GMT',
    'retry-after': '31536000',
    vary: 'Accept-Encoding, Origin',
  };
  const first = await (await answering('application/json; charset=utf-8', ['{}'], own)).ask();
  expect(first.headers).toMatchObject({ ...own, 'content-type': 'application/json; charset=utf-8' });
  const leaking = { vary: mail, 'content-language': token, [`x-${token}`]: '1', expires: mail, 'access-control-allow-origin': mail };
  const { headers } = await (await answering(`text/plain; x="${mail}"`, ['{}'], leaking)).ask();
  expect(JSON.stringify(headers)).not.toMatch(new RegExp(`acme-mail|${token}`, 'i'));
});

test('lines of JSON are values of the input, redacted and written again; text that hides something is bytes', async () => {
  const { ask, reached, sidecar } = await startTool({ world });
  const post = (type: string, body: string) => ask({ headers: { 'content-type': type }, body });
  await post('application/x-ndjson', `{ "b":1,"a":"x"}\n{"t":"${escaped}"}`);
  await post('application/json-seq', `\u001e{"t":"${escaped}"}\n`);
  await post('text/plain', `{"t":"${escaped}"}`);
  expect((await post('text/plain', `a\n{"t":"${escaped}"}`)).status).toBe(403);
  expect((await post('text/plain', 'a\n{"t":"\\n"}')).status).toBe(200);
  expect(reached.map(({ body }) => body.replace(/redacted:[a-z_]+/, 'x'))).toEqual([
    '{"a":"x","b":1}\n{"t":"[x#1]"}\n',
    '\u001e{"t":"[x#1]"}\n',
    '{"t":"[x#1]"}',
    'a\n{"t":"\\n"}',
  ]);
  expect(JSON.stringify(await sidecar.entries())).not.toContain(token.slice(8));
});
