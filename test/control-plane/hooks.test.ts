// The hook endpoint of the control plane: the protocol over real HTTP, decided by the policy of the key's workspace, recorded
// in its audit log, and as the API document says.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request } from 'undici';
import { hookClients } from '../support/hook-clients.ts';
import { eventually } from '../support/programs.ts';
import { field } from './rest.ts';
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

/** Of a session, oldest first, once there are so many. */
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

test('a write of policy is felt by the next call', async () => {
  for (const permission of ['deny', 'allow', 'deny'] as const) {
    await policy({ tools: { 'felt.now': { api: { permission } } } });
    expect(await asks(use({ tool_name: 'felt.now' }))).toMatchObject({ body: { decision: permission } });
  }
});

test('the key is taken with and without Bearer, here and on no other path', async () => {
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
] as const)('%s: a status that speaks of the key, with a denial or a block in it', async (_, key, path, status) => {
  const asked = { body: use(), ...(key === undefined ? {} : { key }) };
  expect(await rest.ask('POST', path, asked)).toMatchObject({ status, body: { error: expect.any(String), decision: 'deny' } });
  const output = path.replace('tool-use', 'tool-output');
  expect(await rest.ask('POST', output, { ...asked, body: use({ tool_output: '' }) })).toMatchObject({ status, body: { action: 'block' } });
});

test('a key needs the scope govern, and a revoked one is dead at once', async () => {
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

test('a key of another workspace is decided by the policy of its own', async () => {
  await policy({ tools: { 'only.acme': { api: { permission: 'deny' } } } });
  expect(await asks(use({ tool_name: 'only.acme' }))).toMatchObject({ body: { decision: 'deny' } });
  expect(await asks(use({ tool_name: 'only.acme' }), rest.other)).toMatchObject({ body: { decision: 'allow' } });
});

test('what a session has used of its caps stays used, and a chain of agents is recorded', async () => {
  await rest.createAgent({ name: 'capped', maxToolCalls: 2, enabledTools: ['mail.send'] });
  const body = use({ agent_name: 'capped' });
  const decisions = [];
  for (let call = 0; call < 3; call++) decisions.push((await asks({ ...body, call_id: `c${call}` })).body);
  expect(decisions).toMatchObject([{ decision: 'allow' }, { decision: 'allow' }, { reason: expect.stringMatching(/^cap_tool_calls/) }]);
});

test('redaction replaces the input where the client takes that, is refused where it does not, and replaces the output', async () => {
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

test.each([
  ['a key that is there twice', '{"tool_name":"t","tool_name":"u"}', 400],
  ['a number that would be rounded', '{"tool_name":"t","tool_input":9007199254740993}', 400],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400],
  ['an unknown tier', JSON.stringify(use({ agent_tier: 'root' })), 400],
  ['no tool', '{}', 400],
  ['more than 1 MiB', JSON.stringify(use({ pad: 'x'.repeat(1_048_576) })), 413],
] as const)('%s is refused with a denial that says why', async (_, body, status) => {
  expect(await rest.ask('POST', '/govern/tool-use', { body, headers: { 'content-type': 'application/json' } })).toMatchObject({
    status,
    body: { error: expect.any(String), decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^call_malformed: /) },
  });
});

test.each(hookClients)('a client in the field: $client', async ({ headers, before, after }) => {
  const sent = { headers };
  expect(await rest.ask('POST', '/govern/tool-use', { body: before, ...sent })).toMatchObject({ status: 200, body: { decision: 'allow' } });
  if (after === undefined) return;
  expect(await rest.ask('POST', '/govern/tool-output', { body: after, ...sent })).toMatchObject({ status: 200, body: { action: 'pass' } });
});

test('more requests of a key than it may ask in a second are 429 with a decision, and leave no entry', async () => {
  const few = await createRunsRest({ requestsPerSecond: 2 });
  try {
    const ask = (url: string, body: object) => few.ask('POST', url, { body });
    const answers = [await ask('/govern/tool-use', use()), await ask('/acme/govern/tool-use', use())];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const words = 'at most 2 requests a second for each key';
    expect(await ask('/govern/tool-use', use())).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { error: words, decision: 'deny', reason: `rate_limited: ${words}`, kind: 'retry', retryAfterMs: 500 },
    });
    expect(await ask('/govern/tool-output', use({ tool_output: '' }))).toMatchObject({ status: 429, body: { action: 'block' } });
    few.clock.now = new Date(few.clock.now.getTime() + 500);
    expect(await ask('/govern/tool-use', use())).toMatchObject({ status: 200 });
  } finally {
    await few.close();
  }
});

test('a frozen workspace is denied by the next call', async () => {
  await rest.ask('POST', '/acme/admin/freeze');
  expect(await asks(use())).toMatchObject({ status: 200, body: { decision: 'deny' } });
  await rest.ask('POST', '/acme/admin/unfreeze');
  expect(await asks(use())).toMatchObject({ status: 200, body: { decision: 'allow' } });
});

test('no key and no input stands in the log', async () => {
  await asks(use({ tool_input: { note: 'rosebud' } }));
  await rest.ask('POST', '/govern/tool-use', { body: '{"tool_name":"rosebud"', headers: { 'content-type': 'application/json' } });
  const log = rest.lines.join('');
  expect(log).not.toContain('rosebud');
  expect(log).not.toContain(rest.owner);
});
