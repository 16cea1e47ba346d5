// The hook endpoint of the control plane: the protocol over real HTTP, decided by the policy of the key's workspace,
// recorded in its audit log, and valid by the API document.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request } from 'undici';
import { hookCases, outputCases, useCases } from '../support/hook-cases.ts';
import { hookClients } from '../support/hook-clients.ts';
import { eventually } from '../support/programs.ts';
import { field, operatorKey } from './rest.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

let rest: RunsRest;
beforeAll(async () => {
  rest = await createRunsRest();
});
afterAll(() => rest.close());

const keyWith = async (scopes: readonly string[], fields: object = {}) => {
  const answer = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'hooks', scopes, ...fields } });
  return { key: field(answer, 'key'), id: field(answer, 'id') };
};

let sessions = 0;
const use = (fields: object = {}) => ({
  tool_name: 'mail.send',
  tool_input: { to: 'bob' },
  session_id: `hooks-${(sessions += 1)}`,
  agent_tier: 'api',
  ...fields,
});
const asks = (body: object, key?: string) => rest.ask('POST', '/govern/tool-use', { body, ...(key === undefined ? {} : { key }) });

const policy = async (document: object): Promise<void> => {
  expect(await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: document })).toMatchObject({ status: 200 });
};

interface Entry {
  readonly hookEvent: string;
  readonly [field: string]: unknown;
}

/** The entries of a session, oldest first, once there are `count` of them. */
async function entriesOf(session: string, count: number): Promise<readonly Entry[]> {
  const question = async (): Promise<readonly Entry[]> => {
    const { body } = await rest.ask('GET', `/acme/admin/audit?session=${session}&limit=1000`);
    return (body as { readonly entries: readonly Entry[] }).entries.toReversed();
  };
  return eventually(question, (entries) => entries.length >= count);
}

test('a call is decided by the policy just written, and both of its entries are in the audit log', async () => {
  await policy({ tools: { 'shell.run': { api: { permission: 'deny' } } } });
  const body = use({ client: { name: 'tests', version: '1' } });
  expect(await asks(body)).toMatchObject({ status: 200, body: { decision: 'allow', request_id: expect.any(String) } });
  expect(await rest.ask('POST', '/acme/govern/tool-output', { body: { ...body, tool_output: 'sent' } })).toMatchObject({
    status: 200,
    body: { action: 'pass' },
  });
  expect(await asks({ ...body, tool_name: 'shell.run' })).toMatchObject({
    status: 200,
    body: { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^policy_denied: the workspace denies/) },
  });
  const counted = await rest.deps.registry.getSingleMetricAsString('tollgate_decisions_total');
  expect(counted).toContain('tollgate_decisions_total{decision="deny",code="policy_denied",layer="workspace"} 1');
  const entries = await entriesOf(body.session_id, 3);
  expect(entries).toMatchObject([
    { hookEvent: 'PreToolUse', tool: 'mail.send', decision: 'allow', sub: 'owner', client: { name: 'tests', version: '1' } },
    { hookEvent: 'PostToolUse', tool: 'mail.send', outcome: { action: 'pass' } },
    { hookEvent: 'PreToolUse', tool: 'shell.run', decision: 'deny' },
  ]);
  expect(entries[0]?.['requestId']).toBe(entries[1]?.['requestId']);
});

test('a write of policy takes effect at the next call', async () => {
  for (const permission of ['deny', 'allow', 'deny'] as const) {
    await policy({ tools: { 'felt.now': { api: { permission } } } });
    expect(await asks(use({ tool_name: 'felt.now' }))).toMatchObject({ body: { decision: permission } });
  }
});

test('the key is accepted with and without Bearer, here and on no other path', async () => {
  const bare = (path: string, method: 'GET' | 'POST', body?: object) =>
    request(`${rest.origin}${path}`, {
      method,
      headers: { authorization: rest.owner, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  for (const path of ['/govern/tool-use', '/acme/govern/tool-use']) {
    const answer = await bare(path, 'POST', use());
    expect({ status: answer.statusCode, body: await answer.body.json() }).toMatchObject({ status: 200, body: { decision: 'allow' } });
  }
  const elsewhere = await bare('/api/v1/agents', 'GET');
  await elsewhere.body.dump();
  expect(elsewhere.statusCode).toBe(401);
});

test.each([
  ['no key', null, '/govern/tool-use', 401],
  ['an unknown key', `gsk_acme_${'x'.repeat(40)}`, '/govern/tool-use', 401],
  ['a key of another form', 'something', '/govern/tool-use', 401],
  ["another workspace's path", undefined, '/other/govern/tool-use', 403],
] as const)('%s: the status names the error of the key, and the body holds a denial or a block', async (_, key, path, status) => {
  const asked = { body: use(), ...(key === undefined ? {} : { key }) };
  expect(await rest.ask('POST', path, asked)).toMatchObject({ status, body: { error: expect.any(String), decision: 'deny' } });
  const output = path.replace('tool-use', 'tool-output');
  expect(await rest.ask('POST', output, { ...asked, body: use({ tool_output: '' }) })).toMatchObject({ status, body: { action: 'block' } });
});

test('a key needs the scope govern, and a revoked one is invalid immediately', async () => {
  const reader = await keyWith(['policies.read', 'agents.write']);
  expect(await asks(use(), reader.key)).toMatchObject({
    status: 403,
    body: { decision: 'deny', reason: expect.stringMatching(/^key_scope/) },
  });
  const { key, id } = await keyWith(['govern']);
  expect(await asks(use(), key)).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await rest.ask('DELETE', `/acme/admin/keys/${id}`)).toMatchObject({ status: 200 });
  expect(await asks(use(), key)).toMatchObject({ status: 401, body: { decision: 'deny' } });
});

test('a key of another workspace is decided by the policy of that workspace', async () => {
  await policy({ tools: { 'only.acme': { api: { permission: 'deny' } } } });
  expect(await asks(use({ tool_name: 'only.acme' }))).toMatchObject({ body: { decision: 'deny' } });
  expect(await asks(use({ tool_name: 'only.acme' }), rest.other)).toMatchObject({ body: { decision: 'allow' } });
});

test('the used part of a session’s caps stays used, and a chain of agents is recorded', async () => {
  await rest.createAgent({ name: 'capped', maxToolCalls: 2, enabledTools: ['mail.send'] });
  const body = use({ agent_name: 'capped' });
  const decisions = [];
  for (let call = 0; call < 3; call++) decisions.push((await asks({ ...body, call_id: `c${call}` })).body);
  expect(decisions).toMatchObject([{ decision: 'allow' }, { decision: 'allow' }, { reason: expect.stringMatching(/^cap_tool_calls/) }]);
});

test('redaction replaces the input where the client supports that, denies where it does not, and replaces the output', async () => {
  await policy({ tools: { 'mail.redacted': { api: { transform: 'redact' } } } });
  const body = use({ tool_name: 'mail.redacted', tool_input: { to: 'bob@acme-mail.eu' } });
  expect(await asks(body)).toMatchObject({ body: { decision: 'deny', reason: expect.stringMatching(/^redaction_unsupported/) } });
  expect(await asks({ ...body, accepts: ['modified_input'] })).toMatchObject({
    body: { decision: 'allow', modified_input: { to: '[redacted:email#1]' }, findings: { pii: { types: ['email'], count: 1 } } },
  });
  expect(await rest.ask('POST', '/govern/tool-output', { body: { ...body, tool_output: 'for bob@acme-mail.eu' } })).toMatchObject({
    body: { action: 'redact', modified_output: 'for [redacted:email#1]' },
  });
  expect(JSON.stringify(await entriesOf(body.session_id, 3))).not.toContain('acme-mail');
});

const useTable = [...hookCases.filter(({ name }) => !name.includes('output')), ...useCases];

test.each([
  ...useTable.map((one) => ({ ...one, at: 'tool-use', hookEvent: 'PreToolUse' })),
  ...[...hookCases, ...outputCases].map((one) => ({ ...one, at: 'tool-output', hookEvent: 'PostToolUse' })),
])('$at, $name: 200 and a denial with the error and its place', async ({ at, body, headers = {}, code, words }) => {
  const sent = { 'content-type': 'application/json', ...headers };
  const answer = await rest.ask('POST', `/govern/${at}`, { body: Buffer.from(body), headers: sent });
  expect(answer).toMatchObject({ status: 200, body: at === 'tool-use' ? { decision: 'deny', kind: 'terminal' } : { action: 'block' } });
  const reason = field(answer, 'reason');
  expect(reason.slice(0, code.length + 2)).toBe(`${code}: `);
  expect(reason.slice(code.length + 2)).toMatch(words);
});

test('each of them leaves an entry of the key, with the tool as far as it could be read', async () => {
  const { key, id } = await keyWith(['govern']);
  for (const { body, headers = {} } of useTable)
    await rest.ask('POST', '/govern/tool-use', {
      key,
      body: Buffer.from(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const question = async (): Promise<readonly Entry[]> => {
    const { body } = await rest.ask('GET', '/acme/admin/audit?limit=1000');
    return (body as { readonly entries: readonly Entry[] }).entries.filter(({ keyId }) => keyId === id).toReversed();
  };
  const entries = await eventually(question, (found) => found.length >= useTable.length);
  expect(entries.map(({ tool, code, decision }) => ({ tool, code, decision }))).toEqual(
    useTable.map(({ tool = '', code }) => ({ tool, code, decision: 'deny' })),
  );
  for (const entry of entries) expect(entry).not.toHaveProperty('mended');
});

test('numbers that a double would round are texts in the entry, and an empty session counts as absent', async () => {
  const { key, id } = await keyWith(['govern']);
  const body = Buffer.from('{"tool_name":"big.numbers","session_id":"","tool_input":{"id":9007199254740993}}');
  expect(await rest.ask('POST', '/govern/tool-use', { key, body, headers: { 'content-type': 'application/json' } })).toMatchObject({
    status: 200,
    body: { decision: 'allow' },
  });
  expect(await entriesOf(id, 1)).toMatchObject([{ tool: 'big.numbers', sessionId: id, input: { id: '9007199254740993' } }]);
});

test('a body that is too large is answered while it is sent, and is not read to its end', async () => {
  const sent = connect(Number(new URL(rest.origin).port), '127.0.0.1');
  const head = `POST /govern/tool-use HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rest.owner}\r\nContent-Type: application/json\r\n`;
  sent.write(`${head}Content-Length: 1000000000\r\n\r\n{`);
  const [first] = (await once(sent.setEncoding('utf8'), 'data')) as [string];
  expect(first).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(first).toContain('input_too_large');
  sent.destroy();
});

test.each(hookClients)('a client in the field: $client', async ({ headers, before, after }) => {
  const sent = { headers };
  expect(await rest.ask('POST', '/govern/tool-use', { body: before, ...sent })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  if (after === undefined) return;
  expect(await rest.ask('POST', '/govern/tool-output', { body: after, ...sent })).toMatchObject({ status: 200, body: { action: 'pass' } });
});

test('requests of a key above its rate per second are 200 with a decision, and one entry counts them', async () => {
  const few = await createRunsRest({ requestsPerSecond: 2 });
  try {
    const ask = (url: string, body: object) => few.ask('POST', url, { body });
    const answers = [await ask('/govern/tool-use', use()), await ask('/acme/govern/tool-use', use())];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const reason = 'request_limit: at most 2 requests a second for each key';
    const refused = await ask('/govern/tool-use', use());
    expect(refused).toMatchObject({ status: 200, body: { decision: 'deny', reason, kind: 'retry', retryAfterMs: 500 } });
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(await ask('/govern/tool-output', use({ tool_output: '' }))).toMatchObject({ status: 200, body: { action: 'block', reason } });
    few.clock.now = new Date(few.clock.now.getTime() + 500);
    expect(await ask('/govern/tool-use', use())).toMatchObject({ status: 200, body: { decision: 'allow' } });
    const question = async (): Promise<readonly Entry[]> => {
      const { body } = await few.ask('GET', '/acme/admin/audit?limit=1000');
      return (body as { readonly entries: readonly Entry[] }).entries.filter(({ code }) => code === 'request_limit');
    };
    const [entry] = await eventually(question, (found) => found.length > 0);
    expect(entry).toMatchObject({
      hookEvent: 'PreToolUse',
      decision: 'deny',
      decisionReason: "request_limit: 2 requests were refused unread in the last second: 2 over the key's limit of requests a second",
      sub: 'owner',
      tool: '',
    });
  } finally {
    await few.close();
  }
});

test('while the server closes hooks are decided, and all other requests are refused', async () => {
  const closing = await createRunsRest();
  try {
    const body = JSON.stringify(use());
    const head = `Host: x\r\nAuthorization: Bearer ${closing.owner}\r\n`;
    const post = `POST /govern/tool-use HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    // The server waits for connections with a request in progress; their next request arrives while it closes.
    const began = async () => {
      const socket = connect(Number(new URL(closing.origin).port), '127.0.0.1').setEncoding('utf8');
      socket.write(`${post}Expect: 100-continue\r\n\r\n`);
      await once(socket, 'data');
      return socket;
    };
    const sockets = [await began(), await began()] as const;
    const closed = closing.app.close();
    const answered = sockets.map(async (socket, at) => {
      let text = '';
      socket.on('data', (more: string) => {
        text += more;
      });
      socket.write(`${body}${at === 0 ? `${post}\r\n${body}` : `GET /api/v1/agents HTTP/1.1\r\n${head}\r\n`}`);
      await once(socket, 'close');
      return {
        statuses: [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
        allowed: text.split('"decision":"allow"').length - 1,
      };
    });
    expect(await Promise.all(answered)).toEqual([
      { statuses: ['200', '200'], allowed: 2 },
      { statuses: ['200', '503'], allowed: 1 },
    ]);
    await closed;
  } finally {
    await closing.close();
  }
});

test('where TOLLGATE_HOOK_STATUS is http, a refusal has its former status', async () => {
  const config = { publicUrl: null, operatorKey, patchPerMinute: 30, hookStatus: 'http', traceUrl: null } as const;
  const former = await createRunsRest({ requestsPerSecond: 1, config });
  try {
    const post = async (body: string) => {
      const headers = { authorization: `Bearer ${former.owner}`, 'content-type': 'application/json' };
      const answer = await request(`${former.origin}/govern/tool-use`, { method: 'POST', headers, body });
      return { status: answer.statusCode, body: await answer.body.json() };
    };
    expect(await post('{')).toMatchObject({ status: 400, body: { error: expect.any(String), decision: 'deny' } });
    expect(await post('{')).toMatchObject({ status: 429, body: { error: expect.any(String), decision: 'deny', kind: 'retry' } });
  } finally {
    await former.close();
  }
});

test('a frozen workspace is denied by the next call', async () => {
  await rest.ask('POST', '/acme/admin/freeze');
  expect(await asks(use())).toMatchObject({ status: 200, body: { decision: 'deny' } });
  await rest.ask('POST', '/acme/admin/unfreeze');
  expect(await asks(use())).toMatchObject({ status: 200, body: { decision: 'allow' } });
});

test('after 10 keys of its network that are not valid, a hook with another one is a denial with 200, and a valid key is decided', async () => {
  const bad = (at: number): string => `gsk_acme_${String(at).padStart(40, 'x')}`;
  for (let at = 0; at < 10; at += 1) await asks(use(), bad(at));
  expect(await asks(use(), bad(10))).toMatchObject({
    status: 200,
    body: { decision: 'deny', kind: 'retry', reason: expect.stringMatching(/^request_limit: /), retryAfterMs: expect.any(Number) },
  });
  expect(await asks(use())).toMatchObject({ status: 200, body: { decision: 'allow' } });
});

test('the log holds no key and no input', async () => {
  await asks(use({ tool_input: { note: 'rosebud' } }));
  await rest.ask('POST', '/govern/tool-use', { body: '{"tool_name":"rosebud"', headers: { 'content-type': 'application/json' } });
  const log = rest.lines.join('');
  expect(log).not.toContain('rosebud');
  expect(log).not.toContain(rest.owner);
});
