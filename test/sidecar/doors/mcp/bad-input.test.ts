// Attackers pass gateways through parser differences. After each request, the test checks what reached the tool server:
// nothing.
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { key, ruleFor } from '../../../support/snapshots.ts';
import {
  behind,
  type Behind,
  call,
  metaOf,
  modernCall,
  modernHeaders,
  overHttp,
  own,
  record,
  send,
  sendRaw,
  type ProxyRequest,
  serversOf,
  startProxied,
} from './proxied.ts';

const denying = (): Promise<Behind> => behind({ documents: [ruleFor('s.delete', { permission: 'deny' })] });

test('the requests of these tests reach the tool server when they contain no error', async () => {
  const { up, proxied } = await denying();
  expect((await send(proxied, 's', { body: call('echo', { a: 1 }) })).status).toBe(200);
  expect(up.heard.map(({ body }) => body)).toEqual([
    '{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"a":1},"name":"echo"}}',
  ]);
});

const envelope = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;

const bodies: readonly (readonly [string, string | Uint8Array, number, number])[] = [
  ['a name that appears twice', envelope('{"name":"echo","name":"delete","arguments":{}}'), 400, -32_700],
  ['a name that appears twice after escapes are decoded', envelope(String.raw`{"name":"echo","n\u0061me":"delete"}`), 400, -32_700],
  [
    'a method that appears twice',
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete"}}',
    400,
    -32_700,
  ],
  [
    'params that are there twice',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"params":{"name":"delete"}}',
    400,
    -32_700,
  ],
  ['an argument that appears twice', envelope('{"name":"echo","arguments":{"to":"a","to":"b"}}'), 400, -32_700],
  ['Name next to name', envelope('{"name":"echo","Name":"delete"}'), 400, -32_602],
  ['NAME alone', envelope('{"NAME":"delete"}'), 400, -32_602],
  ['Arguments next to arguments', envelope('{"name":"echo","arguments":{},"Arguments":{"x":1}}'), 400, -32_602],
  ['a name whose a is Cyrillic', envelope('{"name":"echo","n\u0430me":"delete"}'), 400, -32_602],
  ['a name with a character that is not seen', envelope('{"name":"echo","name\u200b":"delete"}'), 400, -32_602],
  ['a name in full-width letters', envelope('{"name":"echo","\uff4e\uff41\uff4d\uff45":"delete"}'), 400, -32_602],
  ['a name with a NUL behind it', envelope(String.raw`{"name":"echo","name\u0000":"delete"}`), 400, -32_602],
  ['Method next to method', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"delete"}}', 400, -32_600],
  ['a look-alike key of _meta', envelope('{"name":"echo","_meta":{"ProgressToken":1}}'), 400, -32_602],
  ['a batch', `[${envelope('{"name":"echo"}')}]`, 400, -32_600],
  ['a batch of none', '[]', 400, -32_600],
  ['a second message behind the first', `${envelope('{"name":"echo"}')}${envelope('{"name":"delete"}')}`, 400, -32_700],
  ['a second message in the next line', `${envelope('{"name":"echo"}')}\n${envelope('{"name":"delete"}')}`, 400, -32_700],
  ['text behind the message', `${envelope('{"name":"echo"}')} x`, 400, -32_700],
  ['nothing', '', 400, -32_700],
  ['a byte order mark', `\uFEFF${envelope('{"name":"echo"}')}`, 400, -32_700],
  ['bytes that are not UTF-8', Buffer.from(envelope('{"name":"\xe9cho"}'), 'latin1'), 400, -32_700],
  ['UTF-16', Buffer.from(envelope('{"name":"echo"}'), 'utf16le'), 400, -32_700],
  ['half of a surrogate pair', envelope(String.raw`{"name":"echo","arguments":{"a":"\ud800"}}`), 400, -32_700],
  ['a number that would be rounded', envelope('{"name":"echo","arguments":{"id":9007199254740993}}'), 400, -32_700],
  ['65 levels', envelope(`{"name":"echo","arguments":{"a":${'['.repeat(65)}${']'.repeat(65)}}}`), 400, -32_700],
  ['100,001 values', envelope(`{"name":"echo","arguments":{"a":[${Array(100_001).fill('1').join(',')}]}}`), 400, -32_700],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}', 400, -32_600],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"echo"}}', 400, -32_600],
  ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"echo"}}', 400, -32_600],
  ['JSON-RPC 1.0', '{"id":1,"method":"tools/call","params":{"name":"echo"}}', 400, -32_600],
  ['params in a list', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo"]}', 400, -32_600],
  ['a call with a result', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"result":{}}', 400, -32_600],
  ['a response with params', '{"jsonrpc":"2.0","id":1,"result":{},"params":{"name":"echo"}}', 400, -32_600],
  ['a response with result and error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', 400, -32_600],
  ['a call without an id', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}', 400, -32_601],
  ['an unknown notification', '{"jsonrpc":"2.0","method":"notifications/tools/call","params":{"name":"echo"}}', 400, -32_601],
  ['a method in other case', '{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"echo"}}', 200, -32_601],
  ['a method with a blank', '{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"echo"}}', 400, -32_600],
  ['a method that is a path', '{"jsonrpc":"2.0","id":1,"method":"ping/../tools/call","params":{"name":"echo"}}', 200, -32_601],
  ['a method named __proto__', '{"jsonrpc":"2.0","id":1,"method":"__proto__"}', 200, -32_601],
  ['a method of an extension', '{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"1"}}', 200, -32_601],
  ['a method of servers', '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}', 200, -32_601],
  ['a name that is no text', envelope('{"name":["echo"]}'), 200, -32_602],
  ['no name', envelope('{"arguments":{}}'), 200, -32_602],
  ['arguments that are a list', envelope('{"name":"echo","arguments":["delete"]}'), 200, -32_602],
  ['arguments that are text', envelope('{"name":"echo","arguments":"{}"}'), 200, -32_602],
  ['a call as a task', envelope('{"name":"echo","task":{"ttl":1}}'), 200, -32_602],
  ['a progress token of 201 characters', envelope(`{"name":"echo","_meta":{"progressToken":"${'x'.repeat(201)}"}}`), 400, -32_602],
  ['a progress token that is an object', envelope('{"name":"echo","_meta":{"progressToken":{}}}'), 400, -32_602],
  ['a progress token that is null', envelope('{"name":"echo","_meta":{"progressToken":null}}'), 400, -32_602],
  ['_meta that is a list', envelope('{"name":"echo","_meta":[]}'), 400, -32_602],
];

test.each(bodies)('refused: %s', async (_what, body, status, code) => {
  const { up, proxied } = await denying();
  const got = await send(proxied, 's', { body });
  expect([got.status, got.body.error?.code]).toEqual([status, code]);
  expect(up.heard).toEqual([]);
});

const good = call('echo', {});

const requests: readonly (readonly [string, ProxyRequest, number])[] = [
  ['no key', { body: good, headers: { authorization: null } }, 401],
  ['a key that is none', { body: good, headers: { authorization: 'Bearer gsk_acme_x' } }, 401],
  ['a key of another workspace than the path names', { body: good, path: '/other/mcp/s' }, 403],
  ['a page of another site', { body: good, headers: { origin: 'https://evil.example' } }, 403],
  ['a page that does not say where it is from', { body: good, headers: { origin: 'null' } }, 403],
  ['a page whose name begins like ours', { body: good, headers: { origin: 'http://localhost.evil.example' } }, 403],
  ['text/plain', { body: JSON.stringify(good), headers: { 'content-type': 'text/plain' } }, 415],
  ['no content type', { body: Buffer.from(JSON.stringify(good)), headers: { 'content-type': null } }, 415],
  ['a type that begins like JSON', { body: good, headers: { 'content-type': 'application/jsonp' } }, 415],
  ['JSON of another kind', { body: good, headers: { 'content-type': 'application/json-rpc' } }, 415],
  ['another charset', { body: good, headers: { 'content-type': 'application/json; charset=utf-16' } }, 415],
  ['two charsets', { body: good, headers: { 'content-type': 'application/json; charset=utf-8; charset=utf-16' } }, 415],
  ['a compressed body', { body: gzipSync(JSON.stringify(good)), headers: { 'content-encoding': 'gzip' } }, 415],
  ['a body over 1 MiB', { body: call('echo', { a: 'x'.repeat(1_048_576) }) }, 413],
  ['a server that is not there', { body: good, path: '/mcp/other' }, 404],
  ['a path that leads out of the server', { body: good, path: '/mcp/s%2f..%2fother' }, 404],
  ['a path below the server', { body: good, path: '/mcp/s/admin' }, 404],
  ['a session that does not exist', { body: good, headers: { 'mcp-session-id': 'guessed' } }, 404],
  ['a stream of a session that does not exist', { method: 'GET', headers: { 'mcp-session-id': 'guessed' } }, 404],
  ['the end of a session that does not exist', { method: 'DELETE', headers: { 'mcp-session-id': 'guessed' } }, 404],
  ['PUT', { method: 'PUT', body: good }, 404],
  ['a tier that is none', { body: good, headers: { 'x-tollgate-tier': 'root' } }, 400],
  ['an agent name with an end that is not seen', { body: good, headers: { 'x-tollgate-agent': 'a\u00ad' } }, 400],
  ['a header that no header may be', { body: good, headers: { 'mcp-name': '\u00e9' } }, 400],
];

test.each(requests)('refused: %s', async (_what, sent, status) => {
  const { up, proxied } = await denying();
  expect((await send(proxied, 's', sent)).status).toBe(status);
  expect(up.heard).toEqual([]);
});

describe('2026-07-28', () => {
  const headers = modernHeaders('tools/call', 'echo');
  const cases: readonly (readonly [string, object, Record<string, string | null>, number, number])[] = [
    ['a header that names another tool', modernCall('delete'), headers, 400, -32_020],
    ['a header that names another method', modernCall('echo'), { ...headers, 'mcp-method': 'tools/list' }, 400, -32_020],
    ['a header of a method in other case', modernCall('echo'), { ...headers, 'mcp-method': 'TOOLS/CALL' }, 400, -32_020],
    ['a header of another revision', modernCall('echo'), { ...headers, 'mcp-protocol-version': '2025-11-25' }, 400, -32_020],
    ['no header of the revision', modernCall('echo'), { ...headers, 'mcp-protocol-version': null }, 400, -32_020],
    ['no header of the method', modernCall('echo'), { ...headers, 'mcp-method': null }, 400, -32_020],
    ['no header of the name', modernCall('echo'), { ...headers, 'mcp-name': null }, 400, -32_020],
    ['a name in broken Base64', modernCall('echo'), { ...headers, 'mcp-name': '=?base64?ZWNobw?=' }, 400, -32_020],
    [
      'a name in Base64 that is another',
      modernCall('echo'),
      { ...headers, 'mcp-name': `=?base64?${Buffer.from('delete').toString('base64')}?=` },
      400,
      -32_020,
    ],
    ['a revision only in the header', call('echo'), headers, 400, -32_602],
    [
      'a greeting of old with the header of new',
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
      { 'mcp-protocol-version': '2026-07-28' },
      400,
      -32_020,
    ],
    [
      'a revision that is no text',
      { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': 1 } } },
      {},
      400,
      -32_602,
    ],
    [
      'an unknown revision',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: metaOf({ 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }) },
      },
      { ...modernHeaders('tools/list'), 'mcp-protocol-version': '2099-01-01' },
      400,
      -32_022,
    ],
    [
      'a method of old',
      { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { _meta: metaOf() } },
      modernHeaders('logging/setLevel'),
      404,
      -32_601,
    ],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, { 'mcp-protocol-version': '2026-07-28' }, 400, -32_600],
    ['a call without an id', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'echo', _meta: metaOf() } }, headers, 400, -32_601],
  ];
  test.each(cases)('refused: %s', async (_what, body, sent, status, code) => {
    const { up, proxied } = await denying();
    const got = await send(proxied, 's', { body, headers: sent });
    expect([got.status, got.body.error?.code]).toEqual([status, code]);
    expect(up.heard).toEqual([]);
  });

  const tools = [
    {
      name: 'echo',
      inputSchema: {
        type: 'object',
        properties: { to: { type: 'string', 'x-mcp-header': 'To' }, n: { type: 'integer', 'x-mcp-header': 'N' } },
      },
    },
  ];

  test.each([
    ['a header that repeats another argument', { 'mcp-param-to': 'eve' }],
    ['no header for an argument', {}],
    ['a header in broken Base64', { 'mcp-param-to': '=?base64?####?=' }],
    ['a number that is another', { 'mcp-param-to': 'ann', 'mcp-param-n': '2' }],
    ['a number in another notation', { 'mcp-param-to': 'ann', 'mcp-param-n': '0x1' }],
  ])('refused: %s', async (_what, params) => {
    const { up, proxied } = await denying();
    up.tools = null;
    up.answer = (heard, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: (JSON.parse(heard.body) as { id: string }).id, result: { tools } }));
    const got = await send(proxied, 's', { body: modernCall('echo', { to: 'ann', n: 1 }), headers: { ...headers, ...params } });
    expect([got.status, got.body.error?.code]).toEqual([400, -32_020]);
    // The list was requested, and nothing else.
    expect(up.heard.map(({ headers: { 'mcp-method': method } }) => method)).toEqual(['tools/list']);
    expect(got.text).not.toContain('eve');
  });
});

describe('two interpretations of one connection', () => {
  const body = JSON.stringify(good);
  const head = (...lines: readonly string[]): string =>
    [
      `POST /mcp/s HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${own}`,
      'Accept: application/json, text/event-stream',
      ...lines,
      '',
      '',
    ].join('\r\n');
  const json = 'Content-Type: application/json';
  const length = `Content-Length: ${Buffer.byteLength(body)}`;

  test('the same bytes in order do reach the tool server', async () => {
    const { up, proxied } = await denying();
    expect(await sendRaw(proxied, head(json, length) + body)).toContain('HTTP/1.1 200');
    expect(up.heard).toHaveLength(1);
  });

  const raw: readonly (readonly [string, string, string])[] = [
    [
      'a body in pieces that also has a length',
      `${head(json, length, 'Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      '400',
    ],
    ['two lengths', head(json, length, 'Content-Length: 5') + body, '400'],
    ['a length that is none', head(json, 'Content-Length: 5, 5') + body, '400'],
    [
      'an encoding in another case behind chunked',
      `${head(json, 'Transfer-Encoding: chunked, Identity')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      '400',
    ],
    ['two content types', head(json, 'Content-Type: text/plain', length) + body, '400'],
    ['two names', head(json, length, 'Mcp-Name: echo', 'Mcp-Name: delete') + body, '400'],
    ['two sessions', head(json, length, 'Mcp-Session-Id: a', 'mcp-session-id: b') + body, '400'],
    ['a header continued in the next line', head(json, length, 'Mcp-Name: echo', ' delete') + body, '400'],
    ['an upgrade', head(json, length, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13') + body, '400'],
    [
      'an upgrade to HTTP/2',
      head(json, length, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk') + body,
      '400',
    ],
    [
      'a stream that has a body',
      `GET /mcp/s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${own}\r\n${json}\r\n${length}\r\n\r\n${body}`,
      '400',
    ],
    ['a path with dots', head(json, length).replace('/mcp/s', '/mcp/../mcp/s') + body, '404'],
    ['an address instead of a path', head(json, length).replace('/mcp/s', 'http://other.example/mcp/s') + body, '400'],
  ];
  test.each(raw)('refused: %s', async (_what, text, status) => {
    const { up, proxied } = await denying();
    expect(await sendRaw(proxied, text)).toContain(`HTTP/1.1 ${status}`);
    expect(up.heard).toEqual([]);
  });
});

test('a session of one caller is not a session of another', async () => {
  const up = await record((heard, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'sid' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: (JSON.parse(heard.body) as { id: number }).id, result: {} })),
  );
  const proxied = await startProxied(serversOf(overHttp('s', up)), { keys: [key(), key({ id: 'key-2' })] });
  const other = own.replace('key1', 'key2');
  await send(proxied, 's', {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    },
  });
  expect(up.heard).toHaveLength(1);
  const headers = { 'mcp-session-id': 'sid' };
  expect((await send(proxied, 's', { body: good, headers: { ...headers, authorization: `Bearer ${other}` } })).status).toBe(404);
  expect(up.heard).toHaveLength(1);
  expect((await send(proxied, 's', { body: good, headers })).status).toBe(200);
  expect(up.heard).toHaveLength(2);
});
