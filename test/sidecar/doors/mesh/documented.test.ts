// The configurations in docs/doors/mesh.md are files. The page shows them unchanged, and they do what the page says.
// Envoy's runs in test/e2e/envoy.test.ts. For agentgateway's, a script sends the same requests.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bounds } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { agent, ruleFor } from '../../../support/snapshots.ts';
import { documented, documentedText, through } from './as-agentgateway.ts';
import { own, startTestMesh } from './asked-by-a-gateway.ts';

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8');
const page = read('docs/doors/mesh.md');
const pageOfTimes = read('docs/doors/http.md');
const mail = 'bob@acme-mail.eu';
const mark = '[redacted:email#1]';
const caller = { key: own };

test.each(['examples/envoy.yaml', 'examples/agentgateway.yaml'])('the page shows %s unchanged, and links to it', (path) => {
  expect(page).toContain(`\`\`\`yaml\n${read(path)}\`\`\``);
  expect(page).toContain(`](../../${path})`);
});

interface Filter {
  readonly name: string;
  readonly typed_config: {
    readonly failure_mode_allow: boolean;
    readonly grpc_service: { readonly timeout: string };
    readonly with_request_body: { readonly max_request_bytes: number };
  };
}

test('the timeout of Envoy is longer than a decision waits, it fails closed, and it sends bodies as large as are read', () => {
  const text = read('examples/envoy.yaml');
  const [, filters = ''] = /^ +http_filters:\n([\s\S]*?)^ {2}clusters:/m.exec(text) ?? [];
  const [filter] = parse(filters) as readonly Filter[];
  expect(filter).toMatchObject({
    name: 'envoy.filters.http.ext_authz',
    typed_config: { failure_mode_allow: false, with_request_body: { max_request_bytes: bounds.bodyBytes } },
  });
  const seconds = Number(/^(\d+)s$/.exec(filter?.typed_config.grpc_service.timeout ?? '')?.[1]);
  expect(seconds * 1000).toBeGreaterThan(4 * bounds.leaseWaitMs);
  expect(pageOfTimes).toContain(`\`TOLLGATE_LEASE_WAIT_MS\`: ${bounds.leaseWaitMs} ms unless set, 5,000 at most`);
  expect(page).toContain(`${bounds.payloadCharacters.toLocaleString('en-US')} characters`);
});

test('agentgateway is configured where its version looks, asks about everything that it can, and fails closed', () => {
  const { mcpGuardrails, apiKey } = documented.mcp.policies;
  expect(apiKey.keys.map(({ metadata }) => Object.keys(metadata))).toEqual([['tollgate']]);
  expect(mcpGuardrails.processors).toMatchObject([{ kind: 'remote', failureMode: 'failClosed', methods: { '*': 'full' } }]);
  expect(documentedText).not.toContain('failOpen');
});

test('through agentgateway a call is denied, limited and redacted both ways, with both entries, and the key identifies its caller', async () => {
  const mesh = await startTestMesh({
    documents: [
      ruleFor('github.drop', { permission: 'deny' }),
      { ...ruleFor('github.send', { transform: 'redact' }), id: { layer: 'role', role: 'member' } },
      { ...ruleFor('github.read', { rateLimit: 1 }), id: { layer: 'user', uid: 'ann', part: 'organisation' } },
    ],
  });
  const call = (name: string, fields: object = {}) =>
    through(mesh, caller, 'tools/call', {
      params: { name, arguments: { to: mail } },
      headers: { 'x-tollgate-agent': 'clerk' },
      result: { content: [{ type: 'text', text: mail }] },
      ...fields,
    });
  expect(await call('drop')).toMatchObject({
    params: null,
    answer: { error: 'PERMISSION_DENIED', reason: expect.stringContaining('policy') },
  });
  expect(await call('send')).toMatchObject({
    params: { name: 'send', arguments: { to: mark } },
    headers: { 'x-tollgate-request-id': 'id-2' },
    answer: { content: [{ type: 'text', text: mark }] },
  });
  expect((await call('read')).params).not.toBeNull();
  expect((await call('read')).answer).toMatchObject({ error: 'RESOURCE_EXHAUSTED' });
  expect(
    (await mesh.sidecar.entries()).map(({ hookEvent, tool, code, sub, agentName }) => [hookEvent, tool, code, sub, agentName]),
  ).toEqual([
    ['PreToolUse', 'github.drop', 'policy_denied', 'ann', 'clerk'],
    ['PreToolUse', 'github.send', 'allowed', 'ann', 'clerk'],
    ['PostToolUse', 'github.send', 'allowed', 'ann', 'clerk'],
    ['PreToolUse', 'github.read', 'allowed', 'ann', 'clerk'],
    ['PostToolUse', 'github.read', 'allowed', 'ann', 'clerk'],
    ['PreToolUse', 'github.read', 'rate_limited', 'ann', 'clerk'],
  ]);
});

test.each([
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'to', value: 'a' } }],
  ['resources/subscribe', { uri: 'file:///x' }],
  ['resources/unsubscribe', { uri: 'file:///x' }],
])('%s, which agentgateway shows only as a result, is withheld, redacted and recorded as policy decides', async (method, params) => {
  const ask = async (rule: Parameters<typeof ruleFor>[1]) => {
    const mesh = await startTestMesh({ documents: [ruleFor(`github.${method}`, rule)] });
    const { answer } = await through(mesh, caller, method, { params, result: { completion: { values: [mail] } } });
    return { answer, entries: (await mesh.sidecar.entries()).map(({ hookEvent, tool, outcome }) => [hookEvent, tool, outcome?.action]) };
  };
  expect(await ask({})).toEqual({ answer: { completion: { values: [mail] } }, entries: [['PostToolUse', `github.${method}`, 'pass']] });
  expect(await ask({ permission: 'deny' })).toMatchObject({
    answer: { error: 'PERMISSION_DENIED' },
    entries: [['PostToolUse', `github.${method}`, 'block']],
  });
  expect(await ask({ transform: 'redact' })).toEqual({
    answer: { completion: { values: [mark] } },
    entries: [['PostToolUse', `github.${method}`, 'redact']],
  });
});

test('a request shown only as a result needs a key, and an agent named there is the one that policy knows', async () => {
  const mesh = await startTestMesh({ agents: [agent({ name: 'clerk', suspended: true })] });
  const complete = (headers: Record<string, string>, key: string = own) =>
    through(mesh, { key }, 'completion/complete', { headers, result: { completion: { values: [] } } });
  expect((await complete({})).answer).toEqual({ completion: { values: [] } });
  expect((await complete({ 'x-tollgate-agent': 'clerk' })).answer).toMatchObject({ error: 'PERMISSION_DENIED' });
  expect((await complete({}, 'gsk_acme_unknown')).answer).toMatchObject({ error: 'PERMISSION_DENIED' });
  const { processors, ...guardrails } = documented.mcp.policies.mcpGuardrails;
  const { tollgate_authorization: _, ...metadata } = processors[0].metadata;
  const config = {
    mcp: {
      ...documented.mcp,
      policies: { ...documented.mcp.policies, mcpGuardrails: { ...guardrails, processors: [{ ...processors[0], metadata }] as const } },
    },
  };
  expect((await through(mesh, { key: own, config }, 'completion/complete', { result: {} })).answer).toMatchObject({
    error: 'INVALID',
    reason: expect.stringContaining('tollgate_authorization'),
  });
});

const denyMail = (tool: string) => ({ documents: [ruleFor(`mail.${tool}`, { permission: 'deny' })] });
const both = ['github', 'mail'];

test.each([
  ['resources/list', { resources: [{ uri: 'github+file:///a' }, { uri: 'mail+file:///b' }, { uri: 'ui://c' }] }, [0]],
  ['resources/templates/list', { resourceTemplates: [{ uriTemplate: 'mail+x:{a}' }, { uriTemplate: 'github+x:{a}' }] }, [1]],
  ['prompts/list', { prompts: [{ name: 'github_a' }, { name: 'mail_b' }] }, [0]],
  ['prompts/list', { prompts: [{ name: 'a' }, { name: 'github_b' }] }, []],
])('%s of two targets is decided for each, and shows only what the permitting targets have', async (method, result, shown) => {
  const [field = '', items = []] = Object.entries(result)[0] ?? [];
  const permitted = await startTestMesh();
  expect((await through(permitted, caller, method, { targets: both, result })).answer).toEqual(result);
  expect((await permitted.sidecar.entries()).map(({ hookEvent, tool }) => [hookEvent, tool])).toEqual([
    ['PreToolUse', `github.${method}`],
    ['PreToolUse', `mail.${method}`],
    ['PostToolUse', `github.${method}`],
    ['PostToolUse', `mail.${method}`],
  ]);
  const halved = await startTestMesh(denyMail(method));
  expect((await through(halved, caller, method, { targets: both, result: { ...result, nextCursor: 'c' } })).answer).toEqual({
    [field]: shown.map((at) => (items as readonly unknown[])[at]),
    nextCursor: 'c',
  });
  const denied = await startTestMesh({
    documents: [
      ruleFor(`mail.${method}`, { permission: 'deny' }),
      { ...ruleFor(`github.${method}`, { permission: 'deny' }), id: { layer: 'role', role: 'member' } },
    ],
  });
  expect(await through(denied, caller, method, { targets: both, result })).toMatchObject({
    params: null,
    answer: { error: 'PERMISSION_DENIED' },
  });
});

test('a list of two targets is redacted where policy redacts for one of them', async () => {
  const mesh = await startTestMesh({ documents: [ruleFor('mail.prompts/list', { transform: 'redact' })] });
  const result = { prompts: [{ name: 'mail_a', description: mail }, { name: 'github_b' }] };
  expect((await through(mesh, caller, 'prompts/list', { targets: both, result })).answer).toEqual({
    prompts: [{ name: 'mail_a', description: mark }, { name: 'github_b' }],
  });
});

test('a request for two targets that is not a list goes to both or to none, and what was permitted is given back', async () => {
  const mesh = await startTestMesh({
    documents: [
      ruleFor('mail.logging/setLevel', { permission: 'deny' }),
      { ...ruleFor('github.logging/setLevel', { rateLimit: 1 }), id: { layer: 'role', role: 'member' } },
    ],
  });
  const level = { params: { level: 'info' }, result: {} };
  expect(await through(mesh, caller, 'logging/setLevel', { ...level, targets: both })).toMatchObject({ params: null });
  expect((await through(mesh, caller, 'logging/setLevel', level)).params).toEqual({ level: 'info' });
  expect((await through(mesh, caller, 'logging/setLevel', level)).params).toBeNull();
  const entries = (await mesh.sidecar.entries()).map(({ hookEvent, tool, code, outcome }) => [hookEvent, tool, outcome?.code ?? code]);
  expect(entries.slice(0, 3)).toEqual([
    ['PreToolUse', 'github.logging/setLevel', 'allowed'],
    ['PreToolUse', 'mail.logging/setLevel', 'policy_denied'],
    ['PostToolUse', 'github.logging/setLevel', 'policy_denied'],
  ]);
});

test.each([
  ['one target, no prefix', ['github'], ['read', 'delete'], ['read']],
  ['one target, always a prefix', ['github'], ['github_read', 'github_delete'], ['github_read']],
  ['one target whose own names begin with its name', ['github'], ['github_read', 'github_wipe'], ['github_read']],
  ['two targets', both, ['github_read', 'github_delete', 'mail_send', 'mail_drop'], ['github_read', 'mail_send']],
  ['two targets, never a prefix', both, ['read', 'delete', 'send', 'drop', 'github_wipe'], ['read', 'send']],
])('a list of tools shows what policy permits: %s', async (_, targets, names, shown) => {
  const rules = Object.fromEntries(
    ['github.delete', 'github.github_wipe', 'mail.dr*'].map((tool) => [tool.replace('dr*', 'drop'), { permission: 'deny' as const }]),
  );
  const [first, ...rest] = Object.keys(rules);
  const mesh = await startTestMesh({
    documents: [
      ruleFor(first ?? '', { permission: 'deny' }),
      ...rest.map((tool, at) => ({
        ...ruleFor(tool, { permission: 'deny' }),
        id: at === 0 ? ({ layer: 'role', role: 'member' } as const) : ({ layer: 'user', uid: 'ann', part: 'organisation' } as const),
      })),
    ],
  });
  const result = { tools: names.map((name) => ({ name })) };
  expect((await through(mesh, caller, 'tools/list', { targets, result })).answer).toEqual({ tools: shown.map((name) => ({ name })) });
});

test.each([
  ['always', ['github'], ['github_read', 'github_delete'], ['github_read']],
  ['two targets', both, ['github_read', 'github_delete', 'mail_send'], ['github_read']],
  ['never', both, ['read', 'delete', 'send'], ['read']],
])('an agent that has only some tools sees only these: %s', async (_, targets, names, shown) => {
  const mesh = await startTestMesh({ agents: [agent({ name: 'clerk', enabledTools: ['github.read'] })] });
  const result = { tools: names.map((name) => ({ name })) };
  const headers = { 'x-tollgate-agent': 'clerk' };
  expect((await through(mesh, caller, 'tools/list', { targets, headers, result })).answer).toEqual({
    tools: shown.map((name) => ({ name })),
  });
});

test('arguments that are too large are rejected, and the error states the maximum size', async () => {
  const mesh = await startTestMesh();
  const params = { name: 'read', arguments: { text: 'x'.repeat(bounds.payloadCharacters) } };
  expect((await through(mesh, caller, 'tools/call', { params, result: {} })).answer).toMatchObject({
    reason: expect.stringContaining(`${bounds.payloadCharacters} characters`),
  });
  const redacting = await startTestMesh({ documents: [ruleFor('github.read', { transform: 'redact' })] });
  expect((await through(redacting, caller, 'tools/call', { params, result: {} })).answer).toMatchObject({
    reason: expect.stringContaining(`${bounds.payloadCharacters} characters`),
  });
});
