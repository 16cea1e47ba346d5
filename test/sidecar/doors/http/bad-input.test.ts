// Inputs that parsers read differently. Whatever the answer is, nothing has reached the tool's server and nothing is
// recorded as permitted.
import { expect, test } from 'vitest';
import { key, keyText } from '../../../support/snapshots.ts';
import { own, raw, startTool } from './behind-the-gate.ts';

const post = (headers: readonly string[], body: string, path = '/tools/billing/x'): string =>
  raw(`POST ${path}`, [...headers, `Content-Length: ${Buffer.byteLength(body, 'latin1')}`], body);
const json = (body: string, path?: string): string => post(['Content-Type: application/json'], body, path);
const typed = (type: string, body = '{}'): string => post([`Content-Type: ${type}`], body);
const get = (path: string): string => raw(`GET ${path}`);
const chunked = '2\r\n{}\r\n0\r\n\r\n';
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const cases: readonly (readonly [string, string, number | null])[] = [
  // Paths.
  ['dots', get('/tools/billing/../admin'), 400],
  ['dots at the end', get('/tools/billing/a/..'), 400],
  ['one dot', get('/tools/billing/./a'), 400],
  ['escaped dots', get('/tools/billing/%2e%2e/admin'), 400],
  ['half escaped dots', get('/tools/billing/.%2E/admin'), 400],
  ['dots with a parameter', get('/tools/billing/..;x=1/admin'), 400],
  ['dots escaped twice', get('/tools/billing/%252e%252e/admin'), 400],
  ['an escaped slash', get('/tools/billing/a%2Fb'), 400],
  ['a slash escaped twice', get('/tools/billing/a%252Fb'), 400],
  ['an escaped backslash', get('/tools/billing/a%5Cb'), 400],
  ['a backslash', get('/tools/billing/..\\admin'), 400],
  ['two slashes', get('/tools/billing//admin'), 400],
  ['two slashes before a host', get('/tools/billing//evil.test/x'), 400],
  ['two slashes at the front', get('//tools/billing/x'), 404],
  ['NUL', get('/tools/billing/a%00b'), 400],
  ['a line break', get('/tools/billing/a%0d%0aHost:%20evil'), 400],
  ['an escape that is none', get('/tools/billing/%zz'), 400],
  ['half an escape', get('/tools/billing/a%2'), 400],
  ['an escape that is not UTF-8', get('/tools/billing/%ff%fe'), 400],
  ['an overlong slash', get('/tools/billing/..%c0%af'), 400],
  ['a byte that is not ASCII', get('/tools/billing/\u00e9'), 400],
  ['a fragment', get('/tools/billing/a#b'), 400],
  ['the name escaped', get('/tools/b%69lling/x'), 400],
  ['the name in capitals', get('/tools/Billing/x'), 404],
  ['a name that begins so', get('/tools/billingx/x'), 404],
  ['a whole address', get('http://gate/tools/billing/x'), 400],
  ['a whole address of another host', get('http://evil.test/tools/billing/x'), 400],
  ['an asterisk', raw('OPTIONS *'), 404],
  ['NUL in the query', get('/tools/billing/x?a=%00'), 400],
  ['a query that is no UTF-8', get('/tools/billing/x?a=%ff'), 400],
  ['a query of too many parameters', get(`/tools/billing/x?${'a&'.repeat(1_001)}`), 400],
  // Bodies.
  ['JSON with a key twice', json('{"a":1,"a":2}'), 400],
  ['JSON with a key twice, once escaped', json('{"a":1,"\\u0061":2}'), 400],
  ['JSON with something behind', json('{"a":1}{"a":2}'), 400],
  ['JSON with a comment', json('{"a":1/**/}'), 400],
  ['JSON that is cut', json('{"a":'), 400],
  ['JSON with a byte order mark', json('\u00ef\u00bb\u00bf{"a":1}'), 400],
  ['JSON that is not UTF-8', json('{"a":"\u00ff"}'), 400],
  ['JSON with half a surrogate pair', json('{"a":"\\ud800"}'), 400],
  ['JSON with a number that would be rounded', json('{"a":12345678901234567890}'), 400],
  ['JSON nested too deep', json(nested(65)), 400],
  ['JSON of too many values', json(`[${'0,'.repeat(100_001)}0]`), 400],
  ['JSON in UTF-16', typed('application/json; charset=utf-16', '{\u0000}\u0000'), 415],
  ['JSON in UTF-7', typed('application/json;charset=utf-7'), 415],
  ['two charsets', typed('application/json; charset=utf-8; charset=utf-16'), 415],
  ['text in Latin-1', typed('text/plain; charset=iso-8859-1', 'caf\u00e9'), 415],
  ['text that is not UTF-8', typed('text/plain', 'caf\u00e9'), 400],
  ['a form with an escape that is none', typed('application/x-www-form-urlencoded', 'a=%zz'), 400],
  ['a form with raw bytes', typed('application/x-www-form-urlencoded', 'a=\u00e9'), 400],
  ['text with NUL, as UTF-16 has', typed('text/plain', 'a\u0000b\u0000'), 400],
  ['JSON by another name with a key twice', typed('text/json', '{"a":1,"a":2}'), 400],
  ['a line of JSON with a key twice', typed('application/x-ndjson', '{"a":1}\n{"a":1,"a":2}'), 400],
  ['a line of JSON that is none', typed('application/x-ndjson', '{"a":1}\n\n{"a":2}'), 400],
  ['two content types in one', typed('application/json, text/plain'), 415],
  ['a content type that is none', typed('json'), 415],
  ['two content types', post(['Content-Type: application/json', 'Content-Type: text/plain'], '{}'), 400],
  ['a compressed body', post(['Content-Type: application/json', 'Content-Encoding: gzip'], '{}'), 400],
  ['a body of more than 1 MiB', json(`"${'x'.repeat(1024 * 1024)}"`), 413],
  // Lengths.
  [
    'a length and chunks',
    raw('POST /tools/billing/x', ['Content-Type: application/json', 'Content-Length: 2', 'Transfer-Encoding: chunked'], chunked),
    400,
  ],
  ['chunks and a length', raw('POST /tools/billing/x', ['Transfer-Encoding: chunked', 'Content-Length: 2'], chunked), 400],
  ['two lengths that differ', raw('POST /tools/billing/x', ['Content-Length: 2', 'Content-Length: 20'], '{}'), 400],
  ['two lengths that are equal', raw('POST /tools/billing/x', ['Content-Length: 2', 'Content-Length: 2'], '{}'), 400],
  ['two lengths in one', raw('POST /tools/billing/x', ['Content-Length: 2, 2'], '{}'), 400],
  ['a length with a sign', raw('POST /tools/billing/x', ['Content-Length: +2'], '{}'), 400],
  ['a transfer encoding that is none', raw('POST /tools/billing/x', ['Transfer-Encoding: xchunked'], chunked), 400],
  ['a transfer encoding that is not the last', raw('POST /tools/billing/x', ['Transfer-Encoding: chunked, identity'], chunked), 400],
  ['a compressed transfer', raw('POST /tools/billing/x', ['Transfer-Encoding: gzip, chunked'], chunked), 400],
  ['two transfer encodings', raw('POST /tools/billing/x', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunked), 400],
  [
    'chunks in HTTP/1.0',
    raw('POST /tools/billing/x', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], chunked).replace('HTTP/1.1', 'HTTP/1.0'),
    400,
  ],
  ['a header name with a blank behind', raw('POST /tools/billing/x', ['Transfer-Encoding : chunked'], chunked), 400],
  ['a header on two lines', raw('POST /tools/billing/x', ['X-A: 1', ' Transfer-Encoding: chunked'], chunked), null],
  [
    'a chunk size that is none',
    raw('POST /tools/billing/x', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], '2x\r\n{}\r\n0\r\n\r\n'),
    400,
  ],
  ['a line feed alone', raw('POST /tools/billing/x').replaceAll('\r\n', '\n'), 400],
  ['a body of GET', raw('GET /tools/billing/x', ['Content-Type: application/json', 'Content-Length: 2'], '{}'), 400],
  ['chunks of GET', raw('GET /tools/billing/x', ['Transfer-Encoding: chunked'], chunked), 400],
  // Requests that are not what they seem.
  [
    'an upgrade to a websocket',
    raw('GET /tools/billing/x', ['Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']).replace(
      'Connection: close',
      'Connection: Upgrade',
    ),
    400,
  ],
  ['an upgrade to HTTP/2', raw('GET /tools/billing/x', ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAA']), 400],
  ['HTTP/2 from the start', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', null],
  ['CONNECT', raw('CONNECT billing:443'), null],
  ['TRACE', raw('TRACE /tools/billing/x'), 404],
  ['a method in lower case', raw('get /tools/billing/x'), null],
  ['a method that is none', raw('FETCH /tools/billing/x'), null],
  ['an unknown expectation', post(['Expect: 200-maybe'], '{}'), 417],
  ['a method override', post(['X-HTTP-Method-Override: DELETE'], '{}'), 400],
  ['another method override', post(['X-HTTP-Method: DELETE'], '{}'), 400],
  ['a third method override', post(['X-Method-Override: DELETE'], '{}'), 400],
  ['a method override with underscores', post(['X_HTTP_Method_Override: DELETE'], '{}'), 400],
  ['a path override', post(['X-Original-URL: /admin'], '{}'), 400],
  ['another path override', post(['X-Rewrite-URL: /admin'], '{}'), 400],
  ['two hosts', post(['Host: other'], '{}'), 400],
  ['an unknown tier', post(['X-Tollgate-Tier: root'], '{}'), 400],
  ['a tier named as a prototype property', post(['X-Tollgate-Tier: constructor'], '{}'), 400],
  ['two sessions', post(['X-Tollgate-Session: a', 'X-Tollgate-Session: b'], '{}'), 400],
  ['an agent name of 201 characters', post([`X-Tollgate-Agent: ${'a'.repeat(201)}`], '{}'), 400],
  // Keys.
  ['no key', raw('GET /tools/billing/x').replace(/Authorization: .*\r\n/, ''), 401],
  ['two keys', raw('GET /tools/billing/x', [`Authorization: Bearer ${own}`]), 400],
  ['an unknown key', raw('GET /tools/billing/x').replace(own, keyText('absent')), 401],
  ['a key without the scope', raw('GET /tools/billing/x').replace(own, keyText('reader')), 403],
];

test('each of these is rejected, and nothing of it reaches the server', async () => {
  const { send, reached, sidecar } = await startTool({ world: { keys: [key(), key({ id: 'reader', scopes: ['sidecar.sync'] })] } });
  const seen: string[] = [];
  for (const [name, bytes, status] of cases) {
    const answer = await send(Buffer.from(bytes, 'latin1'));
    const got = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
    if (status === null ? got !== 0 && got < 400 : got !== status) seen.push(`${name}: ${got}, ${answer.slice(0, 200)}`);
    if (reached.length > 0) seen.push(`${name}: reached the server as ${reached[0]?.method ?? ''} ${reached[0]?.url ?? ''}`);
    reached.length = 0;
  }
  expect(seen).toEqual([]);
  expect(await sidecar.entries()).toEqual([]);
});

test('the same requests in correct form do reach the server', async () => {
  const { send, reached } = await startTool();
  for (const bytes of [
    json('{"a":1}'),
    get('/tools/billing/a%20b?c=1'),
    typed('application/json; charset="UTF-8"'),
    raw('GET /tools/billing'),
  ])
    expect(await send(bytes)).toMatch(/^HTTP\/1\.1 200/);
  expect(await send(raw('POST /tools/billing/x', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], chunked))).toMatch(
    /^HTTP\/1\.1 200/,
  );
  expect(reached.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
    'POST /api/x {"a":1}',
    'GET /api/a%20b?c=1 ',
    'POST /api/x {}',
    'GET /api ',
    'POST /api/x {}',
  ]);
});

test('an expectation is answered here and not forwarded', async () => {
  const { send, reached } = await startTool();
  expect(await send(post(['Content-Type: application/json', 'Expect: 100-continue'], '{}'))).toMatch(
    /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/,
  );
  expect(reached).toHaveLength(1);
  expect(reached[0]?.headers.expect).toBeUndefined();
});

test('a request hidden in the body of a rejected one is not answered as a request', async () => {
  const { send, reached } = await startTool();
  const hidden = raw('DELETE /tools/billing/hidden');
  const answer = await send(
    raw('POST /tools/billing/x', ['Transfer-Encoding: chunked', 'Content-Length: 4'], `0\r\n\r\n${hidden}`).replace(
      'Connection: close\r\n',
      '',
    ),
  );
  expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 400']);
  expect(reached).toEqual([]);
});

test('the headers that a caller names in Connection remove none of ours', async () => {
  const { send, reached } = await startTool({ tool: { forwardHeaders: ['x-tenant'] } });
  await send(
    raw('GET /tools/billing/x', ['X-Tenant: t1', 'Keep-Alive: timeout=5', 'TE: trailers', 'Proxy-Connection: keep-alive']).replace(
      'Connection: close',
      'Connection: close, x-api-key, x-tollgate-request-id, x-tenant, authorization',
    ),
  );
  expect(reached).toHaveLength(1);
  expect(reached[0]?.headers).toMatchObject({ 'x-api-key': 'ours', 'x-tollgate-request-id': 'id-1' });
  for (const name of ['x-tenant', 'keep-alive', 'te', 'proxy-connection', 'authorization'])
    expect(reached[0]?.headers[name]).toBeUndefined();
});

const form = 'Content-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n';

test('where calls are named by their method, nothing else in the request names another tool', async () => {
  const overriding: readonly (readonly [string, string])[] = [
    ['a query', post([], '', '/tools/billing/x?_method=DELETE')],
    ['a query, escaped', post([], '', '/tools/billing/x?%5FMethod=DELETE')],
    ['a query as PHP reads it', post([], '', '/tools/billing/x?.method[]=DELETE')],
    ['a query of another name', post([], '', '/tools/billing/x?X-HTTP-Method-Override=DELETE')],
    ['a form', typed('application/x-www-form-urlencoded', 'id=1&_method=DELETE')],
    ['JSON', json('{"_method":"DELETE"}')],
    ['a form of parts', typed('multipart/form-data; boundary=b', `--b\r\n${form}--b--`)],
  ];
  const byMethod = await startTool({ tool: { nameByMethod: true } });
  for (const [name, bytes] of overriding) expect(`${name}: ${(await byMethod.send(bytes)).slice(0, 12)}`).toBe(`${name}: HTTP/1.1 400`);
  expect(byMethod.reached).toEqual([]);
  for (const bytes of [json('{"a":{"_method":"x"}}'), typed('application/x-www-form-urlencoded', 'method=x'), json('["_method"]')])
    expect(await byMethod.send(bytes)).toMatch(/^HTTP\/1\.1 200/);
  const byName = await startTool();
  for (const [, bytes] of overriding) expect(await byName.send(bytes)).toMatch(/^HTTP\/1\.1 200/);
});
