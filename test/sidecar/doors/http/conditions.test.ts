// Conditions over the requests of HTTP tools: what the tool's server receives is what they read.
import { expect, test } from 'vitest';
import { caseOf, denyWhen } from '../../../support/cased-rules.ts';
import { document, ruleFor, type World } from '../../../support/snapshots.ts';
import { raw, startTool } from './behind-the-gate.ts';

const json = { 'content-type': 'application/json' };
const deniedWhen = (when: string): World => ({ documents: [ruleFor('billing', denyWhen(when))] });

test('conditions read method, path, query and body, decoded, and the server gets the same', async () => {
  const when = 'args.method != "POST" || args.path != "/a b/c" || args.query.to != "ann" || args.body.amount > 100';
  const { ask, reached, sidecar } = await startTool({ world: deniedWhen(when) });
  const asked = (path: string, body: string, method = 'POST') => ask({ method, path: `/tools/billing${path}`, headers: json, body });
  expect((await asked('/a%20b/c?to=ann', '{"amount": 1e2}')).status).toBe(200);
  for (const [path, body] of [
    ['/a%20b/c?to=ann', '{"amount": 101}'],
    ['/a%20b/c?to=ann', '{"amount": "1"}'],
    ['/a%20b/c?to=ann', '[]'],
    ['/a%20b/c?to=eve', '{"amount": 1}'],
    // A list is no text: a server may read either of them.
    ['/a%20b/c?to=ann&to=eve', '{"amount": 1}'],
    ['/a%20b/c', '{"amount": 1}'],
    ['/a%20b', '{"amount": 1}'],
  ] as const)
    expect((await asked(path, body)).status, `${path} ${body}`).toBe(403);
  expect(reached.map(({ method, url, body }) => [method, url, body])).toEqual([['POST', '/api/a%20b/c?to=ann', '{"amount":100}']]);
  expect((await sidecar.entries())[0]?.input).toEqual({ method: 'POST', path: '/a b/c', query: { to: 'ann' }, body: { amount: 100 } });
});

test.each([
  ['bytes', 'application/octet-stream', '\u0001\u0002'],
  ['a form of several parts', 'multipart/form-data; boundary=x', '--x\r\n\r\n{"amount": 1}\r\n--x--'],
  ['a body without a type', '', '{"amount": 1}'],
])('a body of which the input has only size and digest is undecided: %s', async (_, type, body) => {
  const { ask, reached, sidecar } = await startTool({ world: deniedWhen('args.body.amount > 100') });
  expect((await ask({ headers: type === '' ? {} : { 'content-type': type }, body })).status).toBe(403);
  expect(reached).toEqual([]);
  expect((await sidecar.entries())[0]).toMatchObject({
    input: { body: { sha256: expect.any(String) } },
    undecided: [{ reason: 'type', at: 'args.body' }],
  });
  // Its size is not a field of it either, and a condition on something else decides.
  expect(
    (
      await startTool({ world: deniedWhen('args.body.bytes > 0') }).then((one) =>
        one.ask({ headers: { 'content-type': type || 'x/y' }, body }),
      )
    ).status,
  ).toBe(403);
  expect(
    (
      await startTool({ world: deniedWhen('args.path == "/x"') }).then((one) =>
        one.ask({ headers: { 'content-type': type || 'x/y' }, body }),
      )
    ).status,
  ).toBe(200);
});

test('a request without a body has none, which is no body that is not shown', async () => {
  const { ask } = await startTool({ world: deniedWhen('has(args.body)') });
  expect((await ask({ method: 'GET' })).status).toBe(200);
  expect((await ask({ headers: json, body: '{}' })).status).toBe(403);
});

test('the input has the headers that conditions name, and no others', async () => {
  const { ask, reached, sidecar } = await startTool({
    world: {
      documents: [
        ruleFor('billing', denyWhen('args.headers["x-tenant"] != "a"')),
        // A rule for another role, which names another header of the workspace.
        document({ id: { layer: 'role', role: 'owner' }, defaults: [['api', denyWhen('has(args.headers.accept)')]] }),
      ],
    },
  });
  const headers = { ...json, 'x-tenant': 'a', accept: '*/*', 'x-other': 'secret', cookie: 'session=1' };
  expect((await ask({ headers, body: '{}' })).status).toBe(200);
  expect((await ask({ headers: { ...headers, 'x-tenant': 'b' }, body: '{}' })).status).toBe(403);
  expect((await ask({ headers: json, body: '{}' })).status).toBe(403);
  const entries = await sidecar.entries();
  const inputs = entries.filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(({ input }) => input);
  expect(inputs).toMatchObject([{ headers: { 'x-tenant': 'a', accept: '*/*' } }, { headers: { 'x-tenant': 'b', accept: '*/*' } }, {}]);
  expect(JSON.stringify(inputs)).not.toMatch(/secret|session|authorization/);
  expect(inputs[2]).not.toHaveProperty('headers');
  // Naming a header forwards nothing.
  expect(reached).toHaveLength(1);
  expect(reached[0]?.headers).not.toHaveProperty('x-tenant');
  expect(reached[0]?.headers).toMatchObject({ accept: '*/*' });
});

test.each([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
  'x-auth-token',
  'x-tollgate-agent',
  'X-Tenant',
])('a condition that names %s is undecided at an HTTP tool, whether the header is there or not', async (name) => {
  for (const when of [
    `args.headers["${name}"] == "x"`,
    `has(args.headers.x) || "${name}" in args.headers`,
    `!("${name}" in args.headers)`,
  ]) {
    const { ask, reached, sidecar } = await startTool({ world: deniedWhen(when), tool: { forwardHeaders: ['x-auth-token'] } });
    for (const headers of [{}, { [name]: 'x' }] as readonly Record<string, string>[])
      expect((await ask({ headers: { ...headers, ...json }, body: '{}' })).status, when).toBe(
        name === 'authorization' && name in headers ? 401 : 403,
      );
    expect(reached).toEqual([]);
    const [entry] = await sidecar.entries();
    expect(entry).toMatchObject({ undecided: [{ reason: 'hidden', at: 'args.headers' }] });
    expect(entry?.input).not.toHaveProperty('headers');
  }
});

test.each([
  'args.headers.exists(h, h == "x-evil")',
  'size(args.headers) > 0',
  'args == {"method": "POST"}',
  '[args].exists(a, has(a.headers.x))',
])('a condition that reads headers without a name is undecided: %s', async (when) => {
  const { ask, sidecar } = await startTool({ world: deniedWhen(when) });
  expect((await ask({ headers: json, body: '{}' })).status).toBe(403);
  expect((await sidecar.entries())[0]).toMatchObject({ undecided: [{ reason: 'hidden', at: 'args.headers' }] });
});

test('a header that occurs twice, or with another spelling, is no text', async () => {
  const { send, reached, sidecar } = await startTool({ world: deniedWhen('args.headers["x-tenant"] == "b"') });
  const asked = (...headers: readonly string[]) =>
    send(raw('POST /tools/billing/x', ['Content-Type: application/json', 'Content-Length: 2', ...headers], '{}'));
  expect(await asked('X-Tenant: a')).toMatch(/^HTTP\/1.1 200/);
  for (const smuggled of [['X-Tenant: a', 'X-Tenant: b'], ['X-Tenant: a', 'X_Tenant: b'], ['X_Tenant: b'], ['X-Tenant: \u00e9']])
    expect(await asked(...smuggled), smuggled.join()).toMatch(/^HTTP\/1.1 403/);
  expect(reached).toHaveLength(1);
  const inputs = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(({ input }) => input);
  expect(inputs).toMatchObject([
    { headers: { 'x-tenant': 'a' } },
    { headers: { 'x-tenant': ['a', 'b'] } },
    { headers: { 'x-tenant': ['a', 'b'] } },
    { headers: { 'x-tenant': ['b'] } },
    { headers: { 'x-tenant': [expect.any(String)] } },
  ]);
});

test('a header that the tool accepts is read and forwarded as one text, and redacted like the rest of the input', async () => {
  const rule = { transform: 'redact' as const, cases: [caseOf('args.headers["x-tenant"] == "evil"')] };
  const { send, reached } = await startTool({ world: { documents: [ruleFor('billing', rule)] }, tool: { forwardHeaders: ['x-tenant'] } });
  const asked = (...headers: readonly string[]) =>
    send(raw('POST /tools/billing/x', ['Content-Type: application/json', 'Content-Length: 2', ...headers], '{}'));
  expect(await asked('X-Tenant: a', 'X-Tenant: bob@acme-mail.eu')).toMatch(/^HTTP\/1.1 200/);
  expect(await asked('X-Tenant: evil')).toMatch(/^HTTP\/1.1 403/);
  expect(reached.map(({ headers }) => headers['x-tenant'])).toEqual(['a, [redacted:email#1]']);
});

test('a changed policy changes which headers are shown', async () => {
  const { ask, sidecar } = await startTool({ world: deniedWhen('args.path == "/x"') });
  const headers = { ...json, 'x-one': '1', 'x-two': '2' };
  await ask({ headers, body: '{}' });
  sidecar.take({ documents: [ruleFor('billing', denyWhen('args.headers["x-one"] == "2"'))] });
  await ask({ headers, body: '{}' });
  sidecar.take({ documents: [ruleFor('billing', denyWhen('args.headers["x-two"] == "1"'))] });
  await ask({ headers, body: '{}' });
  const inputs = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(({ input }) => input);
  expect(inputs).toMatchObject([{ method: 'POST' }, { headers: { 'x-one': '1' } }, { headers: { 'x-two': '2' } }]);
  expect(inputs[0]).not.toHaveProperty('headers');
});
