// The API document and the page that shows it.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the document needs no key, and redocly finds nothing wrong with it', async () => {
  const document = await (await fetch(`${rest.origin}/openapi.json`)).text();
  expect(JSON.parse(document)).toMatchObject({ openapi: '3.1.0', info: { title: 'Tollgate' } });
  const lint = spawn('sh', ['-c', 'cat | node_modules/.bin/redocly lint'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  const ended = new Promise<number | null>((done) => lint.once('close', done));
  const said = Promise.all([text(lint.stdout), text(lint.stderr)]);
  lint.stdin.end(document);
  const code = await ended;
  expect({ code, said: code === 0 ? [] : await said }).toEqual({ code: 0, said: [] });
});

test('every operation has a name of its own, a summary, a tag, and an answer for each way it can end', () => {
  const { operations } = rest.document;
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { operationId, responses, security, path } of operations) {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
    const statuses = Object.keys(responses);
    if (security.length > 0) expect(statuses, operationId).toEqual(expect.arrayContaining(['401', '403', '503']));
    if (path.includes('{id}')) expect(statuses, operationId).toContain('404');
  }
});

test('the rows of the API description are in it', () => {
  const has = (method: string, path: string) => rest.document.operations.some((one) => one.method === method && one.path === path);
  const admin = '/{workspace}/admin';
  const rows: readonly (readonly [string, string])[] = [
    ...['GET', 'POST'].map((method) => [method, '/api/v1/agents'] as const),
    ...['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, '/api/v1/agents/{id}'] as const),
    ...['workspacePolicy', 'rolePolicies/{role}', 'agentTypePolicies/{key}', 'userPolicies/{uid}'].flatMap((path) =>
      ['GET', 'PUT', 'DELETE'].map((method) => [method, `${admin}/${path}`] as const),
    ),
    ['GET', `${admin}/rolePolicies`],
    ['GET', `${admin}/agentTypePolicies`],
    ['GET', `${admin}/audit`],
  ];
  expect(rows.filter(([method, path]) => !has(method, path))).toEqual([]);
});

test('the page works without external resources: the browser is ordered to load nothing', async () => {
  const page = await fetch(`${rest.origin}/docs/`);
  const html = await page.text();
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self';.*connect-src 'self'/);
  const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source = '']) => new URL(source, `${rest.origin}/docs/`));
  expect(sources.length).toBeGreaterThan(0);
  for (const source of sources) {
    expect(source.origin).toBe(rest.origin);
    const answer = await fetch(source);
    expect(answer.status).toBe(200);
    // The server waits for a connection whose answer is not read.
    await answer.text();
  }
});

test('the page and its script are answered the same every time, and its path without a slash leads to it', async () => {
  const moved = await fetch(`${rest.origin}/docs`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([301, '/docs/']);
  for (const [path, type] of [
    ['/docs/', 'text/html; charset=utf-8'],
    ['/docs/js/scalar.js', 'application/javascript; charset=utf-8'],
  ] as const) {
    const [first, second] = [await fetch(`${rest.origin}${path}`), await fetch(`${rest.origin}${path}`)];
    expect(first.headers.get('content-type')).toBe(type);
    const text = await first.text();
    expect(text.length).toBeGreaterThan(500);
    expect((await second.text()) === text).toBe(true);
    const head = await fetch(`${rest.origin}${path}`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  }
});

test('every operation that may have a body documents that it may be too large or of the wrong type', () => {
  const writes = rest.document.operations.filter(({ method }) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method));
  expect(writes.length).toBeGreaterThan(20);
  // An error in the request of a hook is a decision, not a status.
  const isHook = (operationId: string): boolean => /^govern(?:Tool|Cost)/.test(operationId);
  for (const { operationId, responses } of writes.filter((one) => !isHook(one.operationId)))
    expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(['400', '413', '415']));
  const hooks = writes.filter(({ operationId }) => isHook(operationId));
  expect(hooks).toHaveLength(6);
  for (const { operationId, responses } of hooks) expect(Object.keys(responses), operationId).toEqual(['200', '401', '403', '500', '503']);
});

test('running an agent documents its input, its refusals, and the id of the run', () => {
  const operation = rest.document.operations.find(({ operationId }) => operationId === 'runAgent');
  const { body, responses } = operation ?? {};
  expect(body).toMatchObject({ required: ['input'], properties: { input: { type: 'string', minLength: 1, pattern: '\\S' } } });
  const headersOf = (status: string) => Object.keys(Object(responses?.[status]).headers ?? {});
  expect(headersOf('429')).toEqual(['Retry-After']);
  for (const status of ['200', '500', '502', '503']) expect(headersOf(status), status).toEqual(['X-Tollgate-Run-Id']);
});

test('parameters are documented with their types', () => {
  const shown = (id: string) =>
    Object.fromEntries(
      (rest.document.operations.find(({ operationId }) => operationId === id)?.parameters ?? []).map(({ name, schema }) => [name, schema]),
    );
  const limit = { type: 'integer', default: 200 };
  expect(shown('queryAudit')).toMatchObject({
    limit,
    since: { type: 'string', format: 'date-time' },
    decision: { type: 'string', enum: ['allow', 'deny'] },
  });
  expect(shown('exportAudit')).toMatchObject({ since: { format: 'date-time' }, until: { format: 'date-time' } });
  for (const id of ['listEvents', 'readPolicyHistory']) expect(shown(id)).toMatchObject({ limit });
  // What is clamped is not refused.
  for (const { operationId, parameters } of rest.document.operations)
    for (const { name, schema } of parameters.filter((one) => one.name === 'limit' || one.name === 'top'))
      expect([operationId, name, Object.keys(schema)]).not.toEqual([operationId, name, expect.arrayContaining(['maximum'])]);
  for (const id of ['readAgentTypePolicy', 'writeAgentTypePolicy', 'deleteAgentTypePolicy'])
    expect(shown(id)['key']).toMatchObject({ pattern: expect.stringContaining('interactive|subagent|background|api') });
  expect(shown('writeRolePolicy')).toMatchObject({ role: { type: 'string', enum: ['owner', 'admin', 'member'] } });
});
