import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { key, keyText, ruleFor } from '../../../support/snapshots.ts';
import { startTool } from './behind-the-gate.ts';

const json = { 'content-type': 'application/json' };

test('a permitted call reaches the server once, rebuilt: canonical body, our headers, none of the caller’s', async () => {
  const { ask, reached, sidecar } = await startTool();
  const answer = await ask({
    path: '/tools/billing/invoices/a%20b?from=2026%2D01&tag=x&tag=y&flag',
    headers: {
      'content-type': 'Application/JSON; charset=UTF-8',
      'x-api-key': 'theirs',
      'x-forwarded-for': '10.0.0.1',
      'x-tollgate-agent': 'clerk',
      'x-tollgate-session': 's1',
      cookie: 'session=theirs',
      'x-custom': '1',
      accept: 'application/json',
    },
    body: '{ "b": [1.50, "x"],\n "a": {"d": null, "c": true} }',
  });
  expect(answer).toMatchObject({ status: 200, text: '{"ok":true}', headers: { 'x-tollgate-request-id': 'id-1' } });
  expect(reached).toHaveLength(1);
  expect(reached[0]).toMatchObject({
    method: 'POST',
    url: '/api/invoices/a%20b?from=2026-01&tag=x&tag=y&flag',
    body: '{"a":{"c":true,"d":null},"b":[1.5,"x"]}',
  });
  expect(Object.keys(reached[0]?.headers ?? {}).toSorted()).toEqual([
    'accept',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-api-key',
    'x-tollgate-request-id',
  ]);
  expect(reached[0]?.headers).toMatchObject({ 'x-api-key': 'ours', 'content-type': 'application/json', 'x-tollgate-request-id': 'id-1' });
  expect(await sidecar.entries()).toMatchObject([
    {
      hookEvent: 'PreToolUse',
      tool: 'billing',
      code: 'allowed',
      agentName: 'clerk',
      agentTier: 'interactive',
      agentType: 'http::interactive::clerk',
      sessionId: 's1',
      sub: 'ann',
      input: {
        method: 'POST',
        path: '/invoices/a b',
        query: { from: '2026-01', tag: ['x', 'y'], flag: null },
        body: { a: { c: true, d: null }, b: [1.5, 'x'] },
      },
    },
    {
      hookEvent: 'PostToolUse',
      requestId: 'id-1',
      outcome: { isError: false, action: 'pass', outputDigest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
  ]);
});

test('a denied call is 403 with an error and the decision; nothing reaches the server', async () => {
  const { ask, reached, sidecar } = await startTool({ world: { documents: [ruleFor('billing', { permission: 'deny' })] } });
  const answer = await ask({ headers: json, body: '{}' });
  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.text)).toEqual({
    error: expect.stringContaining('was not permitted'),
    decision: { decision: 'deny', reason: expect.stringMatching(/^policy_denied: /), kind: 'terminal', request_id: 'id-1' },
  });
  expect(reached).toEqual([]);
  expect(await sidecar.entries()).toMatchObject([{ code: 'policy_denied', decision: 'deny' }]);
});

test('a throttled call is 429 with the time to retry', async () => {
  const { ask, reached } = await startTool({ world: { documents: [ruleFor('billing', { rateLimit: 1 })] } });
  expect((await ask()).status).toBe(200);
  const answer = await ask();
  expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '61' } });
  expect(JSON.parse(answer.text)).toMatchObject({ decision: { kind: 'retry', retryAfterMs: 61_000 } });
  expect(reached).toHaveLength(1);
});

test('by method, reading and writing are separate tools', async () => {
  const { ask, reached } = await startTool({
    tool: { nameByMethod: true },
    world: { documents: [ruleFor('billing.DELETE', { permission: 'deny' })] },
  });
  expect((await ask({ method: 'GET' })).status).toBe(200);
  expect((await ask({ method: 'DELETE' })).status).toBe(403);
  expect(reached.map(({ method }) => method)).toEqual(['GET']);
});

test('a method that the tool does not accept is not found', async () => {
  const { ask, reached } = await startTool({ tool: { methods: ['GET'] } });
  for (const method of ['DELETE', 'HEAD', 'POST']) expect((await ask({ method })).status).toBe(404);
  expect(reached).toEqual([]);
});

const mail = 'bob@acme-mail.eu';
const redacting = { documents: [ruleFor('billing', { transform: 'redact' })] };

test('where policy redacts, it redacts path, query, headers, JSON, forms and text before they reach the server', async () => {
  const { ask, reached, sidecar } = await startTool({ world: redacting, tool: { forwardHeaders: ['x-customer'] } });
  const path = `/tools/billing/of/${encodeURIComponent(mail)}?to=${encodeURIComponent(mail)}`;
  await ask({ path, headers: { ...json, 'x-customer': mail }, body: JSON.stringify({ to: [mail] }) });
  await ask({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `to=${encodeURIComponent(mail)}&n=1` });
  await ask({ headers: { 'content-type': 'text/plain' }, body: `write to ${mail}` });
  expect(reached.map(({ url, headers, body }) => [decodeURIComponent(url), headers['x-customer'] ?? '', decodeURIComponent(body)])).toEqual(
    [
      ['/api/of/[redacted:email#1]?to=[redacted:email#1]', '[redacted:email#1]', '{"to":["[redacted:email#1]"]}'],
      ['/api/invoices', '', 'n=1&to=[redacted:email#1]'],
      ['/api/invoices', '', 'write to [redacted:email#1]'],
    ],
  );
  expect(JSON.stringify(await sidecar.entries())).not.toContain(mail);
});

test('a body that redaction cannot read is denied where policy redacts, and otherwise recorded by its digest', async () => {
  const form = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\nbob@acme-mail.eu\r\n--b--\r\n';
  const asked = { headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: form };
  const strict = await startTool({ world: redacting });
  const denied = await strict.ask(asked);
  expect(denied.status).toBe(403);
  expect(JSON.parse(denied.text)).toMatchObject({ decision: { reason: expect.stringMatching(/^redaction_unsupported: /) } });
  expect(strict.reached).toEqual([]);
  const plain = await startTool();
  expect((await plain.ask(asked)).status).toBe(200);
  expect(plain.reached).toMatchObject([{ body: form, headers: { 'content-type': 'multipart/form-data; boundary=b' } }]);
  expect((await plain.sidecar.entries())[0]?.input).toMatchObject({
    body: { bytes: form.length, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
});

test('an unreachable server is 502, a silent one 504, each recorded as an error and asked once', async () => {
  const away = await startTool({ tool: { origin: 'http://127.0.0.1:1' } });
  expect(await away.ask()).toMatchObject({ status: 502, text: expect.stringContaining('could not be reached') });
  const silent = await startTool({ tool: { timeoutMs: 50 }, answer: () => {} });
  expect(await silent.ask({ method: 'GET' })).toMatchObject({ status: 504, text: expect.stringContaining('in time') });
  const broken = await startTool({ answer: (request) => request.socket.destroy() });
  expect((await broken.ask({ method: 'GET' })).status).toBe(502);
  for (const { sidecar, reached } of [away, silent, broken]) {
    expect((await sidecar.entries()).map(({ outcome }) => outcome?.isError)).toEqual([undefined, true]);
    expect(reached.length).toBeLessThan(2);
  }
});

test('a request that the server answers with 503 is not retried, and its outcome is a failure', async () => {
  const { ask, reached, sidecar } = await startTool({
    answer: (_request, response) => void response.writeHead(503, { 'retry-after': '0', 'content-type': 'text/plain' }).end('busy'),
  });
  expect(await ask({ method: 'GET' })).toMatchObject({ status: 503, text: 'busy' });
  expect(reached).toHaveLength(1);
  expect((await sidecar.entries())[1]).toMatchObject({ outcome: { isError: true } });
});

test('a redirect is forwarded, not followed', async () => {
  const { ask, reached } = await startTool({
    answer: (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
  });
  expect(await ask({ method: 'GET' })).toMatchObject({ status: 302, headers: { location: '/elsewhere' } });
  expect(reached).toHaveLength(1);
});

test('a call that cannot be recorded does not reach the server', async () => {
  const { ask, reached, sidecar } = await startTool();
  sidecar.spoolFault = 'full';
  expect(await ask()).toMatchObject({ status: 403, text: expect.stringContaining('audit_unavailable') });
  sidecar.spoolFault = 'bug';
  expect((await ask()).status).toBe(500);
  expect(reached).toEqual([]);
});

test('without policy: 503, and nothing reaches the server', async () => {
  const { ask, reached } = await startTool({ world: null });
  expect(await ask()).toMatchObject({ status: 503, text: expect.stringContaining('snapshot_missing') });
  expect(reached).toEqual([]);
});

test('HEAD and answers without a body pass, also where policy redacts', async () => {
  const { ask, reached } = await startTool({
    world: redacting,
    answer: (request, response) => void response.writeHead(request.method === 'HEAD' ? 200 : 204, { 'x-a': '1' }).end(),
  });
  expect(await ask({ method: 'HEAD' })).toMatchObject({ status: 200, text: '', headers: { 'x-a': '1' } });
  expect(await ask({ method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
  expect(reached).toHaveLength(2);
});

test('neither key, headers, path nor body is in the log', async () => {
  const { ask, lines } = await startTool({ tool: { origin: 'http://127.0.0.1:1', headers: { 'x-api-key': 'rosebud-key' } } });
  await ask({
    path: '/tools/billing/rosebud-path?q=rosebud-query',
    headers: { ...json, cookie: 'rosebud-cookie' },
    body: '"rosebud-body"',
  });
  expect(lines.join('\n')).not.toMatch(new RegExp(`rosebud|${keyText('key1')}`));
});

test('the pins of a key apply, whatever the headers claim', async () => {
  const keys = [key({ pins: { tier: 'background', agent: 'clerk', client: 'pinned' } })];
  const { ask, sidecar } = await startTool({ world: { keys } });
  await ask({ headers: { 'x-tollgate-tier': 'interactive', 'x-tollgate-agent': 'root' } });
  expect((await sidecar.entries())[0]).toMatchObject({ agentType: 'pinned::background::clerk', sessionId: 'key-1' });
});

test('a call in progress ends normally while the process stops', async () => {
  const held: ServerResponse[] = [];
  const { ask, app, server, sidecar } = await startTool({ answer: (_request, response) => void held.push(response) });
  const arrived = once(server, 'request');
  const asked = ask({ method: 'GET' });
  await arrived;
  while (held.length === 0) await new Promise((done) => setImmediate(done));
  const closed = app.close();
  held[0]?.end('done');
  expect(await asked).toMatchObject({ status: 200, text: 'done' });
  await closed;
  expect((await sidecar.entries()).map(({ outcome }) => outcome?.isError)).toEqual([undefined, false]);
});
