import type { InjectOptions } from 'fastify';
import { bounds } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { hookCases, outputCases, paddedTo, useCases } from '../../../support/hook-cases.ts';
import { agent, key, keyText, member, ruleFor, type World } from '../../../support/snapshots.ts';

const own = keyText('key1');
const mail = 'bob@acme-mail.eu';

interface HookQuestion {
  readonly body?: unknown;
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const use = (fields: object = {}): object => ({
  tool_name: 'mail.send',
  tool_input: { to: 'bob' },
  session_id: 's1',
  agent_name: 'bot',
  ...fields,
});

async function start(world: World | null = {}, options: Parameters<typeof createTestServer>[1] = {}) {
  const sidecar = await createTestSidecar({ world });
  const { app, lines, registry } = createTestServer(sidecar, options);
  async function ask(path: string, { body = use(), authorization = `Bearer ${own}`, headers = {} }: HookQuestion): Promise<Answer> {
    const options: InjectOptions = {
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json', ...(authorization === null ? {} : { authorization }), ...headers },
      payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    };
    const answer = await app.inject(options);
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  }
  const toolUse = (asked: HookQuestion = {}): Promise<Answer> => ask(asked.path ?? '/govern/tool-use', asked);
  const toolOutput = (asked: HookQuestion = {}): Promise<Answer> =>
    ask(asked.path ?? '/govern/tool-output', { body: use({ tool_output: 'done' }), ...asked });
  const codes = async (): Promise<readonly string[]> => (await sidecar.entries()).map(({ hookEvent, code }) => `${hookEvent} ${code}`);
  return { sidecar, app, lines, registry, ask, toolUse, toolOutput, codes };
}

const redacting: World = { documents: [ruleFor('mail.send', { transform: 'redact' })] };

test('an address that ends in a slash, and a null `accepts`, do not prevent a decision', async () => {
  const { ask, codes } = await start();
  expect(await ask('//govern/tool-use', { body: use({ accepts: null }) })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await ask('//govern/tool-output', { body: use({ tool_output: 'done' }) })).toMatchObject({
    status: 200,
    body: { action: 'pass' },
  });
  expect(await codes()).toEqual(['PreToolUse allowed', 'PostToolUse allowed']);
  expect(await ask('/other/govern/tool-use', {})).toMatchObject({ status: 403 });
});

test('a permitted and a denied call are both answered with 200, and each leaves one entry', async () => {
  const { toolUse, codes } = await start({ documents: [ruleFor('github.delete', { permission: 'deny' })] });
  expect(await toolUse()).toEqual({
    status: 200,
    body: { decision: 'allow', reason: expect.stringMatching(/^allowed: /), request_id: 'id-1' },
  });
  expect(await toolUse({ body: use({ tool_name: 'github.delete' }) })).toEqual({
    status: 200,
    body: { decision: 'deny', reason: expect.stringMatching(/^policy_denied: /), kind: 'terminal', request_id: 'id-2' },
  });
  expect(await codes()).toEqual(['PreToolUse allowed', 'PreToolUse policy_denied']);
});

test('a limit of policy is 200, deny, retry, with the time to wait', async () => {
  const { toolUse } = await start({ documents: [ruleFor('mail.send', { rateLimit: 1 })] });
  await toolUse();
  expect(await toolUse()).toMatchObject({ status: 200, body: { decision: 'deny', kind: 'retry', retryAfterMs: 61_000 } });
});

test('the key is accepted with and without Bearer, with and without its workspace in the path', async () => {
  const { toolUse } = await start();
  for (const authorization of [`Bearer ${own}`, `bearer ${own}`, own]) {
    for (const path of ['/govern/tool-use', '/acme/govern/tool-use'])
      expect(await toolUse({ authorization, path })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  }
});

const now = Date.UTC(2026, 5, 25, 12);

test.each([
  ['no key', 401, { authorization: null }],
  ['a malformed key', 401, { authorization: 'Bearer gsk_acme_short' }],
  ['another scheme', 401, { authorization: `Basic ${own}` }],
  ['two keys', 401, { authorization: `Bearer ${own}, Bearer ${own}` }],
  ['an unknown key', 401, { authorization: `Bearer ${keyText('absent')}` }],
  ['a key of another workspace', 401, { authorization: `Bearer ${keyText('key1', 'other')}` }],
  ['an expired key', 401, { authorization: `Bearer ${keyText('expired')}` }],
  ['another workspace in the path', 403, { path: '/other/govern/tool-use' }],
  ['a key without the scope', 403, { authorization: `Bearer ${keyText('reader')}` }],
] as const)('%s: %i, a decision to deny, and no entry', async (_, status, asked) => {
  const keys = [key(), key({ id: 'expired', expiresAt: now }), key({ id: 'reader', scopes: ['policies.read', 'sidecar.sync'] })];
  const { toolUse, toolOutput, sidecar } = await start({ keys });
  expect(await toolUse(asked)).toMatchObject({
    status,
    body: {
      error: expect.any(String),
      decision: 'deny',
      kind: 'terminal',
      reason: expect.stringMatching(/^(?:identity_unknown|key_revoked|key_scope): /),
    },
  });
  const path = 'path' in asked ? asked.path.replace('use', 'output') : '/govern/tool-output';
  expect(await toolOutput({ ...asked, path })).toMatchObject({ status, body: { error: expect.any(String), action: 'block' } });
  expect(await sidecar.entries()).toEqual([]);
});

test('without policy: 200 and a denial that can be retried', async () => {
  const { toolUse, toolOutput } = await start(null);
  expect(await toolUse()).toEqual({
    status: 200,
    body: { decision: 'deny', kind: 'retry', reason: 'snapshot_missing: no policy has been received yet' },
  });
  expect(await toolOutput()).toEqual({
    status: 200,
    body: { action: 'block', reason: 'snapshot_missing: no policy has been received yet' },
  });
});

const oneMiB = bounds.bodyBytes;

/** The table of possible client errors at one endpoint. */
const tables = [
  ['/govern/tool-use', [...hookCases.filter(({ name }) => !name.includes('output')), ...useCases]],
  ['/govern/tool-output', [...hookCases, ...outputCases]],
] as const;

describe.each(tables)('%s', (path, cases) => {
  const isUse = path.endsWith('use');

  test.each(cases)('$name: 200, one denial that states what and where, and an entry of the key', async (one) => {
    const { sidecar, ask } = await start();
    const { status, body } = await ask(path, { body: one.body, headers: one.headers ?? {} });
    expect({ status, answer: body[isUse ? 'decision' : 'action'] }).toEqual({ status: 200, answer: isUse ? 'deny' : 'block' });
    const reason = String(body['reason']);
    expect(reason.slice(0, one.code.length + 2)).toBe(`${one.code}: `);
    expect(reason.slice(one.code.length + 2)).toMatch(one.words);
    expect(body).not.toHaveProperty('error');
    if (isUse) expect(body).toMatchObject({ kind: 'terminal', request_id: 'id-1' });
    const entries = await sidecar.entries();
    expect(entries).toMatchObject([
      {
        hookEvent: isUse ? 'PreToolUse' : 'PostToolUse',
        tool: one.tool ?? '',
        decision: 'deny',
        code: one.code,
        decisionReason: reason,
        keyId: 'key-1',
        sub: 'ann',
        ...one.recorded,
        ...(isUse ? {} : { outcome: { action: 'block', code: one.code } }),
      },
    ]);
    expect(JSON.stringify(entries[0]).length).toBeLessThan(16 * 1024);
  });

  test.each(cases)('$name: $former where TOLLGATE_HOOK_STATUS is http, with an error, and also an entry', async (one) => {
    const { sidecar, ask } = await start({}, { hookStatus: 'http' });
    const { status, body } = await ask(path, { body: one.body, headers: one.headers ?? {} });
    expect(status).toBe(one.former);
    expect(body).toMatchObject({ error: expect.stringMatching(one.words), reason: `${one.code}: ${String(body['error'])}` });
    expect(await sidecar.entries()).toMatchObject([{ code: one.code }]);
  });
});

test('where TOLLGATE_HOOK_STATUS is http, no policy is 503 and too many requests are 429; a decision is 200', async () => {
  const without = await start(null, { hookStatus: 'http' });
  expect(await without.toolUse()).toMatchObject({
    status: 503,
    body: { error: 'no policy has been received yet', decision: 'deny', kind: 'retry' },
  });
  const { toolUse, toolOutput } = await start({}, { hookStatus: 'http', requestsPerSecond: 1 });
  expect(await toolUse()).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await toolUse()).toMatchObject({ status: 429, body: { error: 'at most 1 requests a second for each key', decision: 'deny' } });
  expect(await toolOutput()).toMatchObject({ status: 429, body: { error: expect.any(String), action: 'block' } });
});

test('numbers that a double would round are texts in decisions and records, and unchanged for the client', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  const id = '9007199254740993';
  const body = `{"tool_name":"mail.send","session_id":"s1","tool_input":{"id":${id},"of":[-1e400,1.5,0.1000000000000000055]},"tool_output":${id}}`;
  expect(await toolUse({ body })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await toolOutput({ body })).toEqual({ status: 200, body: { action: 'pass' } });
  const [asked, told] = await sidecar.entries();
  expect(asked).toMatchObject({ input: { id, of: ['-1e400', 1.5, '0.1000000000000000055'] } });
  expect(told?.requestId).toBe(asked?.requestId);
});

test('a changed input is not sent where its numbers would be texts: the call is denied', async () => {
  const { toolUse, toolOutput } = await start(redacting);
  const body = (id: string): string =>
    `{"tool_name":"mail.send","accepts":["modified_input"],"tool_input":{"to":"${mail}","id":${id}},"tool_output":["${mail}",${id}]}`;
  expect(await toolUse({ body: body('7') })).toMatchObject({ body: { decision: 'allow', modified_input: { id: 7 } } });
  expect(await toolUse({ body: body('9007199254740993') })).toMatchObject({
    status: 200,
    body: { decision: 'deny', reason: expect.stringMatching(/^redaction_unsupported: /) },
  });
  // A model reads the output, so numbers may be texts.
  expect(await toolOutput({ body: body('9007199254740993') })).toMatchObject({
    body: { action: 'redact', modified_output: ['[redacted:email#1]', '9007199254740993'] },
  });
});

test('an empty or null name counts as absent, but a request that names a user names one', async () => {
  const { toolUse, sidecar } = await start();
  const empty = { session_id: '', agent_name: '', call_id: '' };
  const absent = [
    'session_id',
    'agent_name',
    'call_id',
    'agent_tier',
    'agent_chain',
    'delegated_tools',
    'client',
    'accepts',
    'impersonate_uid',
  ];
  for (const fields of [empty, Object.fromEntries(absent.map((name) => [name, null]))])
    expect(await toolUse({ body: use(fields) })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await toolUse({ body: use({ impersonate_uid: '' }) })).toMatchObject({ status: 200, body: { decision: 'deny' } });
  expect(await sidecar.entries()).toMatchObject([
    { sessionId: 'key-1', decision: 'allow' },
    { sessionId: 'key-1', decision: 'allow' },
    { decision: 'deny', decisionReason: expect.stringMatching(/^call_malformed: impersonate_uid /) },
  ]);
});

test('a malformed request counts nowhere, and narrows no tools', async () => {
  const { toolUse } = await start({ agents: [agent({ maxToolCalls: 1 })] });
  for (let n = 0; n < 3; n += 1) await toolUse({ body: use({ delegated_tools: ['github.*'], agent_tier: 'root' }) });
  expect(await toolUse()).toMatchObject({ body: { decision: 'allow' } });
});

test('a malformed outcome of a pending call belongs to that call', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  await toolUse({ body: use({ call_id: 'a' }) });
  expect(await toolOutput({ body: use({ call_id: 'a', tool_output: mail, is_error: 'no' }) })).toMatchObject({ body: { action: 'block' } });
  expect(await sidecar.entries()).toMatchObject([
    { requestId: 'id-1', decision: 'allow' },
    { requestId: 'id-1', hookEvent: 'PostToolUse', decision: 'allow', outcome: { action: 'block', code: 'call_malformed' } },
  ]);
});

test('an input whose canonical form is too large is malformed at both endpoints', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  // Each number is written with its 21 digits.
  const body = `{"tool_name":"mail.send","tool_input":[${'1e20,'.repeat(60_000)}0],"tool_output":1}`;
  const reason = expect.stringMatching(/^call_malformed: the input is larger than \d+ characters$/);
  expect(await toolUse({ body })).toMatchObject({ status: 200, body: { decision: 'deny', reason } });
  expect(await toolOutput({ body })).toMatchObject({ status: 200, body: { action: 'block', reason } });
  expect((await sidecar.entries()).map(({ code }) => code)).toEqual(['call_malformed', 'call_malformed']);
});

test('a frozen workspace is reported also for malformed requests', async () => {
  const { toolUse } = await start({ settings: { frozen: true } });
  expect(await toolUse({ body: '{' })).toMatchObject({ body: { reason: expect.stringMatching(/^workspace_frozen: /) } });
});

test('calls of a client without a session are one run of its key', async () => {
  const { toolUse, sidecar } = await start({ agents: [agent({ maxToolCalls: 1 })] });
  const body = { tool_name: 'mail.send', agent_name: 'bot' };
  expect(await toolUse({ body })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await toolUse({ body: { ...body, session_id: null } })).toMatchObject({
    body: { decision: 'deny', reason: expect.stringMatching(/^cap_tool_calls/) },
  });
  expect((await sidecar.entries()).map(({ sessionId }) => sessionId)).toEqual(['key-1', 'key-1']);
});

test('a body of exactly 1 MiB is read', async () => {
  const { toolUse } = await start();
  const body = paddedTo(oneMiB);
  expect(Buffer.byteLength(body)).toBe(oneMiB);
  expect((await toolUse({ body })).status).toBe(200);
});

test('a content type with UTF-8 is read; another path is 404, and another method, each with an error', async () => {
  const { app, toolUse } = await start();
  for (const type of ['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/JSON'])
    expect(await toolUse({ headers: { 'content-type': type } })).toMatchObject({ body: { decision: 'allow' } });
  expect(await toolUse({ path: '/govern/tool-abuse' })).toMatchObject({
    status: 404,
    body: { error: 'there is no POST /govern/tool-abuse' },
  });
  const read = await app.inject({ method: 'GET', url: '/govern/tool-use?token=rosebud' });
  expect({ status: read.statusCode, body: read.body }).toEqual({ status: 404, body: '{"error":"there is no GET /govern/tool-use"}' });
});

test('names that are special elsewhere are ordinary tool names', async () => {
  const { toolUse, sidecar } = await start({ agents: [], documents: [ruleFor('__proto__', { permission: 'deny' })] });
  const decisionOf = async (tool: string) =>
    (await toolUse({ body: use({ tool_name: tool, tool_input: { constructor: 1, toString: 2 } }) })).body['decision'];
  expect(await decisionOf('__proto__')).toBe('deny');
  for (const tool of ['constructor', 'toString', 'hasOwnProperty', '*', 'a/b', '😀']) expect(await decisionOf(tool)).toBe('allow');
  expect((await sidecar.entries())[0]).toMatchObject({ tool: '__proto__', code: 'policy_denied', input: { constructor: 1, toString: 2 } });
});

test('the tier is what the client claims, else what its mode implies', async () => {
  const { toolUse, sidecar } = await start();
  const cases = [
    [{}, 'interactive'],
    [{ agent_tier: 'api' }, 'api'],
    [{ permission_mode: 'bypassPermissions' }, 'background'],
    [{ ci: true }, 'background'],
    [{ agent_id: 'a' }, 'subagent'],
    [{ agent_id: 'a', permission_mode: 'bypassPermissions' }, 'background'],
    [{ agent_tier: 'interactive', permission_mode: 'bypassPermissions' }, 'interactive'],
    [{ agent_tier: null, permission_mode: 'plan' }, 'interactive'],
  ] as const;
  for (const [fields] of cases) await toolUse({ body: use(fields) });
  expect((await sidecar.entries()).map(({ agentTier }) => agentTier)).toEqual(cases.map(([, tier]) => tier));
});

test('the client is the one in the body, else in the header, else "hook"', async () => {
  const { toolUse, sidecar } = await start();
  await toolUse({ body: use({ client: { name: 'cursor', version: '2' } }), headers: { 'x-gs-client': 'other/1' } });
  await toolUse({ headers: { 'x-gs-client': 'claude-code/2.0.1' } });
  await toolUse({ headers: { 'x-gs-client': 'codex' } });
  await toolUse({ headers: { 'x-gs-client': '@acme/agents/0.3.0' } });
  await toolUse();
  expect((await sidecar.entries()).map(({ client, agentType }) => [client, agentType])).toEqual([
    [{ name: 'cursor', version: '2' }, 'cursor::interactive::bot'],
    [{ name: 'claude-code', version: '2.0.1' }, 'claude-code::interactive::bot'],
    [{ name: 'codex' }, 'codex::interactive::bot'],
    [{ name: '@acme/agents', version: '0.3.0' }, '@acme/agents::interactive::bot'],
    [{ name: 'hook' }, 'hook::interactive::bot'],
  ]);
  expect(await toolUse({ body: use({ client: { name: 'a::b' } }) })).toMatchObject({
    status: 200,
    body: { decision: 'deny', reason: expect.stringMatching(/^call_malformed/) },
  });
});

test('a service key acts as itself; naming another user needs the scope for it, and the user must be a member', async () => {
  const keys = [key(), key({ id: 'service', uid: null, role: 'admin', scopes: ['govern', 'govern.impersonate'] })];
  const { toolUse, sidecar } = await start({ keys, members: [member(), member({ uid: 'bob', email: 'bob@acme.test' })] });
  const service = `Bearer ${keyText('service')}`;
  await toolUse({ authorization: service });
  await toolUse({ authorization: service, body: use({ impersonate_uid: 'bob' }) });
  await toolUse({ authorization: service, body: use({ impersonate_uid: 'eve' }) });
  await toolUse({ body: use({ impersonate_uid: 'bob' }) });
  await toolUse({ body: use({ impersonate_uid: 'ann' }) });
  expect((await sidecar.entries()).map(({ sub, userEmail, role, code }) => `${sub} ${userEmail} ${role} ${code}`)).toEqual([
    'apikey:service  admin allowed',
    'bob bob@acme.test member allowed',
    'eve   identity_unknown',
    'bob bob@acme.test member key_scope',
    'ann ann@acme.test member allowed',
  ]);
});

test('the pins of a key apply, whatever the client claims', async () => {
  const keys = [key({ pins: { tier: 'background', agent: 'bot', client: 'pinned' } })];
  const { toolUse, sidecar } = await start({ keys, agents: [agent(), agent({ id: 'agent-2', name: 'root' })] });
  await toolUse({ body: use({ agent_tier: 'interactive', agent_name: 'root', client: { name: 'other' } }) });
  expect(await sidecar.entries()).toMatchObject([{ agentTier: 'background', agentName: 'bot', agentType: 'pinned::background::bot' }]);
});

test('a chain gives depth and names, as the caller claims it and marked so', async () => {
  const { toolUse, sidecar } = await start({ agents: [agent(), agent({ id: 'p', name: 'planner' })] });
  await toolUse({ body: use({ agent_chain: ['planner', 'bot'] }) });
  await toolUse({ body: use({ agent_chain: ['planner'] }) });
  const [first, second] = await sidecar.entries();
  expect(first).toMatchObject({
    depth: 1,
    chain: ['planner', 'bot'],
    runChain: ['s1', 's1'],
    chainClaimed: true,
    sub: 'agent:agent-1',
    originSub: 'ann',
    parentProfileId: 'p',
  });
  expect(second).toMatchObject({ depth: 1, chain: ['planner', 'bot'] });
});

test('the tools that a task was delegated with stay, can only get narrower, and bind descendants', async () => {
  const { toolUse } = await start({
    agents: [agent({ enabledTools: ['mail.*', 'github.*'] }), agent({ id: 'c', name: 'child', enabledTools: ['mail.*', 'github.*'] })],
  });
  const reasonOf = async (fields: object) => String((await toolUse({ body: use(fields) })).body['reason']).split(':')[0];
  expect(await reasonOf({ tool_name: 'github.read' })).toBe('allowed');
  expect(await reasonOf({ tool_name: 'github.read', delegated_tools: ['mail.*'] })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'github.read' })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'mail.send' })).toBe('allowed');
  expect(await reasonOf({ tool_name: 'github.read', delegated_tools: ['github.*', 'mail.send'] })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'mail.read' })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'mail.send' })).toBe('allowed');
  expect(await reasonOf({ tool_name: 'mail.read', agent_name: 'child', agent_chain: ['bot', 'child'] })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'mail.send', agent_name: 'child', agent_chain: ['bot', 'child'] })).toBe('allowed');
  expect(await reasonOf({ tool_name: 'mail.send', delegated_tools: [] })).toBe('delegated_tools');
  expect(await reasonOf({ tool_name: 'github.read', session_id: 's2' })).toBe('allowed');
});

test('caps apply across the requests of a session, also to those that arrive together', async () => {
  const { toolUse } = await start({ agents: [agent({ maxToolCalls: 50 })] });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      toolUse({ body: use({ call_id: `c${at}`, ...(at % 2 === 0 ? { delegated_tools: ['mail.*'] } : {}) }) }),
    ),
  );
  expect(answers.filter(({ body }) => body['decision'] === 'allow')).toHaveLength(50);
  expect((await toolUse({ body: use({ session_id: 's2' }) })).body['decision']).toBe('allow');
});

test('where redaction changes the input, clients that accept one get a changed input, others a denial', async () => {
  const { toolUse, sidecar } = await start(redacting);
  const input = { tool_input: { to: mail, cc: [mail], n: 1 } };
  expect(await toolUse({ body: use(input) })).toMatchObject({
    status: 200,
    body: { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^redaction_unsupported: .*\(email\)/) },
  });
  expect(await toolUse({ body: use({ ...input, accepts: ['modified_input'] }) })).toEqual({
    status: 200,
    body: {
      decision: 'allow',
      reason: expect.any(String),
      request_id: 'id-2',
      modified_input: { to: '[redacted:email#1]', cc: ['[redacted:email#1]'], n: 1 },
      findings: { pii: { types: ['email'], count: 2 } },
    },
  });
  const plain = await toolUse();
  expect(plain).toMatchObject({ body: { decision: 'allow' } });
  expect(plain.body).not.toHaveProperty('modified_input');
  const entries = await sidecar.entries();
  expect(entries.map(({ code }) => code)).toEqual(['redaction_unsupported', 'allowed', 'allowed']);
  expect(JSON.stringify(entries)).not.toContain('example.com');
});

test('an output passes, is redacted, or is blocked, and each leaves one entry', async () => {
  const { toolUse, toolOutput, sidecar } = await start({
    documents: [ruleFor('mail.send', { transform: 'redact' })],
    settings: { auditUnavailable: 'deny' },
  });
  await toolUse({ body: use({ call_id: 'a' }) });
  await toolUse({ body: use({ call_id: 'b' }) });
  await toolUse({ body: use({ call_id: 'c' }) });
  sidecar.time.now += 40;
  expect(await toolOutput({ body: use({ call_id: 'a', tool_output: { n: 1 } }) })).toEqual({ status: 200, body: { action: 'pass' } });
  expect(await toolOutput({ body: use({ call_id: 'b', tool_output: [mail], is_error: true }) })).toEqual({
    status: 200,
    body: {
      action: 'redact',
      modified_output: ['[redacted:email#1]'],
      tool_output: ['[redacted:email#1]'],
      reason: 'allowed: policy redacts the output, and what it found was replaced (email 1)',
      findings: { pii: { types: ['email'], count: 1 } },
    },
  });
  sidecar.spoolFault = 'full';
  expect(await toolOutput({ body: use({ call_id: 'c', tool_output: 'x' }) })).toEqual({
    status: 200,
    body: { action: 'block', reason: expect.stringMatching(/^audit_unavailable: /) },
  });
  const outcomes = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse');
  expect(outcomes).toMatchObject([
    { requestId: 'id-1', outcome: { action: 'pass', isError: false, durationMs: 40 } },
    { requestId: 'id-2', outcome: { action: 'redact', isError: true }, findings: [{ kind: 'email', count: 1 }] },
  ]);
});

test('an outcome is joined to its call by call id, or without one by tool and input', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  const requestOf = async (fields: object) => (await toolUse({ body: use(fields) })).body['request_id'];
  const a = await requestOf({ call_id: 'a' });
  const b = await requestOf({ call_id: 'b' });
  const c = await requestOf({ tool_input: { x: 1, y: [2] } });
  await toolOutput({ body: use({ call_id: 'b', tool_output: 1 }) });
  await toolOutput({ body: use({ tool_input: { y: [2], x: 1 }, tool_output: 1 }) });
  await toolOutput({ body: use({ call_id: 'a', tool_output: 1 }) });
  const outcomes = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse');
  expect(outcomes.map(({ requestId }) => requestId)).toEqual([b, c, a]);
});

test('equal calls at the same time have an outcome each, joined one to one', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  await Promise.all([toolUse(), toolUse(), toolUse()]);
  await Promise.all([toolOutput(), toolOutput(), toolOutput()]);
  const entries = await sidecar.entries();
  const ids = (event: string) =>
    entries
      .filter(({ hookEvent }) => hookEvent === event)
      .map(({ requestId }) => requestId)
      .toSorted();
  expect(ids('PreToolUse')).toHaveLength(3);
  expect(ids('PostToolUse')).toEqual(ids('PreToolUse'));
});

test('the outcome of a call with a redacted input is joined by the input that the client received', async () => {
  const { toolUse, toolOutput, sidecar } = await start(redacting);
  const { body } = await toolUse({ body: use({ tool_input: { to: mail }, accepts: ['modified_input'] }) });
  await toolOutput({ body: use({ tool_input: body['modified_input'], tool_output: 'ok' }) });
  const [decided, outcome] = await sidecar.entries();
  expect(outcome).toMatchObject({ hookEvent: 'PostToolUse', requestId: decided?.requestId, inputDigest: decided?.inputDigest });
});

test('an outcome of another session, user or tool is joined to no call', async () => {
  const { toolUse, toolOutput, sidecar } = await start({
    keys: [key(), key({ id: 'key-2', uid: 'bob' })],
    members: [member(), member({ uid: 'bob' })],
  });
  const { body } = await toolUse({ body: use({ call_id: 'a' }) });
  await toolOutput({ body: use({ call_id: 'a', session_id: 's2', tool_output: 1 }) });
  await toolOutput({ body: use({ call_id: 'a', tool_output: 1 }), authorization: `Bearer ${keyText('key2')}` });
  await toolOutput({ body: use({ call_id: 'a', tool_name: 'github.read', tool_output: 1 }) });
  const outcomes = (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse');
  expect(outcomes).toHaveLength(3);
  expect(outcomes.map(({ requestId }) => requestId)).not.toContain(body['request_id']);
});

test('an outcome without a call is decided by the current policy, and redacted where policy requires it', async () => {
  const { toolOutput, sidecar } = await start({
    documents: [
      ruleFor('mail.send', { transform: 'redact' }),
      { ...ruleFor('github.delete', { permission: 'deny' }), id: { layer: 'role', role: 'member' } },
    ],
  });
  expect(await toolOutput({ body: use({ tool_output: mail }) })).toMatchObject({
    body: { action: 'redact', modified_output: '[redacted:email#1]' },
  });
  await toolOutput({ body: use({ tool_name: 'github.delete', tool_output: 'gone' }) });
  expect(await sidecar.entries()).toMatchObject([
    { hookEvent: 'PostToolUse', decision: 'allow', outcome: { durationMs: 0 } },
    { hookEvent: 'PostToolUse', decision: 'deny', code: 'policy_denied' },
  ]);
});

test('outputs of 8 MiB are redacted, in one text or in many values, and the answer contains the output twice', async () => {
  const { toolOutput, sidecar } = await start(redacting);
  const text = `${mail} ${'plain words and no more '.repeat(349_500)}`;
  const output = text.slice(0, bounds.toolOutputBytes - 2);
  const { status, body } = await toolOutput({ body: use({ tool_output: output }) });
  expect({ status, action: body['action'] }).toEqual({ status: 200, action: 'redact' });
  expect(body['modified_output']).toBe(output.replace(mail, '[redacted:email#1]'));
  expect(body['tool_output']).toBe(body['modified_output']);
  const list = [mail, ...Array.from({ length: 50_000 }, (_, n) => ({ n, line: 'plain words and no more of them' }))];
  const many = await toolOutput({ body: use({ tool_output: list }) });
  expect(many).toMatchObject({ status: 200, body: { action: 'redact' } });
  expect(many.body['tool_output']).toEqual(['[redacted:email#1]', ...list.slice(1)]);
  // Only a digest of them is stored.
  for (const entry of await sidecar.entries()) expect(JSON.stringify(entry).length).toBeLessThan(4_000);
});

test('an output of the size at which clients cut, with each character escaped, is read', async () => {
  const { toolOutput } = await start(redacting);
  const escaped = '\\u00e9'.repeat(200_000 - mail.length);
  const answer = await toolOutput({ body: `{"tool_name":"mail.send","tool_output":"${mail}${escaped}"}` });
  expect(answer).toMatchObject({ status: 200, body: { action: 'redact', reason: expect.stringMatching(/^allowed: .*\(email 1\)$/) } });
});

test('null is an output', async () => {
  const { toolOutput } = await start();
  expect(await toolOutput({ body: use({ tool_output: null }) })).toEqual({ status: 200, body: { action: 'pass' } });
});

test('a call that cannot be recorded is denied with 200, or continues where the workspace allows it', async () => {
  const { toolUse, sidecar } = await start();
  sidecar.spoolFault = 'full';
  expect(await toolUse()).toMatchObject({
    status: 200,
    body: { decision: 'deny', kind: 'retry', reason: expect.stringMatching(/^audit_unavailable/) },
  });
  sidecar.take({ settings: { auditUnavailable: 'allow' } });
  expect(await toolUse()).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(sidecar.unrecorded).toBe(2);
});

test('a sidecar whose own key is refused denies every call and blocks every output', async () => {
  const { toolUse, toolOutput, sidecar } = await start();
  sidecar.cell.refuse('revoked');
  expect(await toolUse()).toMatchObject({ status: 200, body: { decision: 'deny', reason: expect.stringMatching(/^key_revoked/) } });
  expect(await toolOutput({ body: use({ tool_output: mail }) })).toMatchObject({
    body: { action: 'block', reason: expect.stringMatching(/^key_revoked/) },
  });
});

test('caps and delegated tools apply however the calls of a session name their agent, client or tier', async () => {
  const { toolUse } = await start({ agents: [agent({ id: 'a1', name: 'triage', enabledTools: ['mail.*'], maxToolCalls: 2 })] });
  const reason = async (fields: Record<string, unknown>) =>
    String((await toolUse({ body: use({ session_id: 'one', ...fields }) })).body['reason']);
  expect(await reason({ agent_name: 'triage', delegated_tools: ['mail.read'], tool_name: 'mail.read' })).toMatch(/^allowed/);
  expect(await reason({ agent_name: 'a1', tool_name: 'mail.send' })).toMatch(/^delegated_tools/);
  expect(await reason({ agent_name: 'a1', tool_name: 'mail.read', client: { name: 'other' } })).toMatch(/^allowed/);
  expect(await reason({ agent_name: 'triage', tool_name: 'mail.read', agent_tier: 'background' })).toMatch(/^cap_tool_calls/);
});

test('a policy change applies from the next request on', async () => {
  const { toolUse, sidecar } = await start();
  expect((await toolUse()).body['decision']).toBe('allow');
  sidecar.take({ documents: [ruleFor('mail.send', { permission: 'deny' })] });
  expect((await toolUse()).body['decision']).toBe('deny');
  sidecar.take({ keys: [] });
  expect((await toolUse()).status).toBe(401);
});

/** Sends every kind of request to the server, as a client that also makes errors. */
async function everything({
  sidecar,
  toolUse,
  toolOutput,
}: { readonly sidecar: TestSidecar } & Pick<Awaited<ReturnType<typeof start>>, 'toolUse' | 'toolOutput'>): Promise<void> {
  const secret = { tool_input: { word: 'rosebud' }, tool_output: 'rosebud' };
  await toolUse({ body: use(secret) });
  await toolOutput({ body: use(secret) });
  await toolUse({ body: use(secret), authorization: `Bearer ${keyText('rosebud')}` });
  await toolUse({ body: '{"tool_input":"rosebud"' });
  await toolUse({ body: use({ ...secret, tool_name: 7 }) });
  await toolUse({ body: use({ ...secret, pad: 'x'.repeat(oneMiB) }) });
  await toolUse({ path: '/govern/rosebud?word=rosebud' });
  sidecar.spoolFault = 'full';
  await toolUse({ body: use(secret) });
  sidecar.spoolFault = 'bug';
  expect(await toolUse({ body: use(secret) })).toMatchObject({
    status: 500,
    body: { error: 'internal error', decision: 'deny', reason: 'internal_error: internal error' },
  });
}

test('a bug of ours is 500 and a denial, and its text appears only in the log', async () => {
  const { lines, ...server } = await start();
  await everything(server);
  expect(lines.filter((line) => line.includes('"a bug"'))).toHaveLength(1);
});

test('no key and no value of an input or output appears in the log or the metrics', async () => {
  const { lines, registry, ...server } = await start();
  await everything(server);
  expect(lines.join('')).not.toMatch(/rosebud|gsk_/);
  expect(await registry.metrics()).not.toMatch(/rosebud|gsk_/);
});

test('health reports what is held; readiness is 503 with the reasons while the sidecar cannot serve', async () => {
  const { app, registry, toolUse } = await start();
  expect((await app.inject('/healthz')).json()).toMatchObject({ ok: true, policy: { revision: 1, connected: true } });
  expect((await app.inject('/readyz')).statusCode).toBe(200);
  await toolUse();
  await toolUse({ authorization: null });
  expect((await app.inject('/metrics')).body).toContain('tollgate_decisions_total{decision="allow",code="allowed",layer="default"} 1');
  expect(await registry.getSingleMetricAsString('tollgate_unauthenticated_total')).toContain(' 1');
  const empty = await start(null);
  const answer = await empty.app.inject('/readyz');
  expect({ status: answer.statusCode, body: answer.json<unknown>() }).toEqual({
    status: 503,
    body: { error: 'no policy is held', reasons: ['no policy is held'] },
  });
});

test('an outcome is joined to its call once, by the original input or by the input that the tool received', async () => {
  const { sidecar, toolUse, toolOutput } = await start(redacting);
  const asked = { tool_input: { to: mail }, accepts: ['modified_input'] };
  const tell = (tool_input: unknown) => toolOutput({ body: use({ tool_input, tool_output: 'done' }) });
  for (const told of [{ to: mail }, { to: '[redacted:email#1]' }]) {
    const { body } = await toolUse({ body: use(asked) });
    await tell(told);
    const [before, after] = (await sidecar.entries()).slice(-2);
    expect(before?.requestId).toBe(body['request_id']);
    expect(after?.requestId).toBe(body['request_id']);
  }
  // A call that was joined under one of the two inputs no longer waits under the other.
  const taken = new Set((await sidecar.entries()).map(({ requestId }) => requestId));
  for (const told of [{ to: '[redacted:email#1]' }, { to: mail }]) await tell(told);
  const unannounced = (await sidecar.entries()).slice(-2).map(({ requestId }) => requestId);
  expect(unannounced.filter((id) => taken.has(id))).toEqual([]);
});

test('equal calls that were redacted get their outcomes in the order of the calls, whichever input is reported', async () => {
  const { sidecar, toolUse, toolOutput } = await start(redacting);
  const asked = { tool_input: { to: mail }, accepts: ['modified_input'] };
  const ids: unknown[] = [];
  for (let at = 0; at < 3; at++) ids.push((await toolUse({ body: use(asked) })).body['request_id']);
  for (const tool_input of [{ to: '[redacted:email#1]' }, { to: mail }, { to: '[redacted:email#1]' }])
    await toolOutput({ body: use({ tool_input, tool_output: 'done' }) });
  expect((await sidecar.entries()).slice(-3).map(({ requestId }) => requestId)).toEqual(ids);
});

test('a caller whose delegated_tools exceed the memory budget is denied for now, and earlier narrowings of all callers still apply', async () => {
  const { toolUse, codes } = await start({ keys: [key(), key({ id: 'key-2', uid: 'ann' })] });
  const narrow = { delegated_tools: ['github.*'] };
  const asked = (fields: object, by = own) => toolUse({ body: use(fields), authorization: `Bearer ${by}` });
  const other = keyText('key2');
  const allowed = { decision: 'allow' };
  const handed = { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^delegated_tools: /) };
  expect((await asked({ session_id: 'first', ...narrow })).body).toMatchObject(handed);
  expect((await asked({ session_id: 'theirs', ...narrow }, other)).body).toMatchObject(handed);
  const list = (n: number) => ['mail.send', ...Array.from({ length: 999 }, (_, at) => `${n}.${at}.${'x'.repeat(150)}`)];
  let made = 0;
  while ((await asked({ session_id: `s${made}`, delegated_tools: list(made) })).body['decision'] === 'allow') made += 1;
  expect(made).toBeGreaterThan(10);
  const full = await asked({ session_id: 'more', delegated_tools: list(made) });
  expect(full.body).toMatchObject({ decision: 'deny', kind: 'retry', reason: expect.stringMatching(/^sessions_full: /) });
  expect((await asked({ session_id: 'first' })).body).toMatchObject(handed);
  expect((await asked({ session_id: 'plain' })).body).toMatchObject(allowed);
  expect((await asked({ session_id: 'theirs' }, other)).body).toMatchObject(handed);
  expect((await asked({ session_id: 'new', ...narrow }, other)).body).toMatchObject(handed);
  expect((await codes()).filter((code) => code.endsWith(' sessions_full')).length).toBe(2);
});
