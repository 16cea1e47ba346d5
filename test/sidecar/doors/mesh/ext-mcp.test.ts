import { expect, test } from 'vitest';
import { collectGarbage } from '../../../bench/garbage.ts';
import { ruleFor } from '../../../support/snapshots.ts';
import { callOf, jsonOf, mcpRequest, mcpResponse, own, startTestMesh, text } from './asked-by-a-gateway.ts';

const mail = 'bob@acme-mail.eu';
const call = { name: 'create_issue', arguments: { title: 'x' } };

test('a permitted call passes without the key, and its result is recorded with it', async () => {
  const { checkRequest, checkResponse, sidecar } = await startTestMesh();
  const asked = await checkRequest(
    mcpRequest('tools/call', call, {
      headers: [
        { key: 'authorization', value: Buffer.from(`Bearer ${own}`) },
        { key: 'x-tollgate-agent', value: Buffer.from('clerk') },
        { key: 'mcp-session-id', value: Buffer.from('m1') },
        { key: ':path', value: Buffer.from('/mcp') },
      ],
    }),
  );
  expect(asked).toMatchObject({
    result: 'pass',
    headerMutation: { remove: ['authorization', 'x-tollgate-agent'], set: [{ key: 'x-tollgate-request-id' }] },
  });
  sidecar.time.now += 25;
  expect(await checkResponse(mcpResponse('tools/call', { content: [], isError: true }, callOf(asked)))).toMatchObject({ result: 'pass' });
  expect(await sidecar.entries()).toMatchObject([
    {
      hookEvent: 'PreToolUse',
      tool: 'github.create_issue',
      code: 'allowed',
      agentType: 'agentgateway::interactive::clerk',
      sessionId: 'm1',
      input: { title: 'x' },
    },
    { hookEvent: 'PostToolUse', requestId: 'id-1', outcome: { isError: true, durationMs: 25, action: 'pass' } },
  ]);
});

test('a denied call is an error with the decision, and a throttled one states it', async () => {
  const { checkRequest } = await startTestMesh({
    documents: [
      ruleFor('github.create_issue', { permission: 'deny' }),
      { ...ruleFor('github.list', { rateLimit: 1 }), id: { layer: 'role', role: 'member' } },
    ],
  });
  const denied = await checkRequest(mcpRequest('tools/call', call));
  expect(denied).toMatchObject({ result: 'error', error: { code: 'PERMISSION_DENIED', reason: expect.stringContaining('policy_denied') } });
  expect(jsonOf(denied.error?.mcpError)).toMatchObject({ error: expect.any(String), decision: { decision: 'deny', kind: 'terminal' } });
  await checkRequest(mcpRequest('tools/call', { name: 'list' }));
  expect(await checkRequest(mcpRequest('tools/call', { name: 'list' }))).toMatchObject({ error: { code: 'RESOURCE_EXHAUSTED' } });
});

test('where policy redacts, arguments and results are replaced, and the rest of the message is kept', async () => {
  const { checkRequest, checkResponse, sidecar } = await startTestMesh({
    documents: [ruleFor('github.create_issue', { transform: 'redact' })],
  });
  const params = { name: 'create_issue', arguments: { to: mail }, _meta: { progressToken: 1 } };
  const asked = await checkRequest(mcpRequest('tools/call', params));
  expect(asked.result).toBe('mutated');
  expect(jsonOf(asked.mutated)).toEqual({ ...params, arguments: { to: '[redacted:email#1]' } });
  const answered = await checkResponse(
    mcpResponse(
      'tools/call',
      { content: [{ type: 'text', text: mail }], structuredContent: { owner: mail }, isError: false },
      callOf(asked),
    ),
  );
  expect(answered.result).toBe('mutated');
  expect(jsonOf(answered.mutated)).toEqual({
    content: [{ type: 'text', text: '[redacted:email#1]' }],
    structuredContent: { owner: '[redacted:email#1]' },
    isError: false,
  });
  expect(JSON.stringify(await sidecar.entries())).not.toContain(mail);
});

test('the answer of a client within a call is redacted as its arguments are', async () => {
  const { checkRequest } = await startTestMesh({ documents: [ruleFor('github.create_issue', { transform: 'redact' })] });
  const params = { name: 'create_issue', arguments: { n: 1 }, inputResponses: { q: { action: 'accept', content: { to: mail } } } };
  const asked = await checkRequest(mcpRequest('tools/call', params));
  expect(jsonOf(asked.mutated)).toEqual({ ...params, inputResponses: { q: { action: 'accept', content: { to: '[redacted:email#1]' } } } });
});

test('where policy redacts and results are not visible, the call is denied', async () => {
  const { checkRequest } = await startTestMesh({ documents: [ruleFor('github.create_issue', { transform: 'redact' })] });
  expect(await checkRequest(mcpRequest('tools/call', call, { metadataContext: null }))).toMatchObject({
    result: 'error',
    error: { reason: expect.stringContaining('redaction_unsupported') },
  });
});

test('a result for which no permitted call is pending is rejected, also a second one', async () => {
  const { checkRequest, checkResponse } = await startTestMesh();
  const asked = await checkRequest(mcpRequest('tools/call', call));
  for (const id of [null, 'forged', '__proto__']) {
    expect(await checkResponse(mcpResponse('tools/call', { content: [] }, id))).toMatchObject({
      result: 'error',
      error: { code: 'INVALID', reason: expect.stringContaining('tollgate_call') },
    });
  }
  const listed = await checkRequest(mcpRequest('tools/list', null));
  expect((await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(listed)))).result).toBe('error');
  expect((await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(asked)))).result).toBe('pass');
  expect((await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(asked)))).result).toBe('error');
});

test('a list shows the tools that policy permits, from one server and from several', async () => {
  const { checkRequest, checkResponse, sidecar } = await startTestMesh({ documents: [ruleFor('github.delete', { permission: 'deny' })] });
  const list = async (names: readonly string[], serviceNames: string[]) => {
    const asked = await checkRequest(mcpRequest('tools/list', null, { serviceNames }));
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    const answer = await checkResponse(mcpResponse('tools/list', { tools, nextCursor: 'c' }, callOf(asked), { serviceNames }));
    return answer.result === 'pass' ? 'pass' : jsonOf(answer.mutated);
  };
  expect(await list(['read', 'delete'], ['github'])).toEqual({
    tools: [{ name: 'read', inputSchema: { type: 'object' } }],
    nextCursor: 'c',
  });
  expect(await list(['mail_send', 'github_delete', 'elsewhere_x'], ['github', 'mail'])).toEqual({
    tools: [
      { name: 'mail_send', inputSchema: { type: 'object' } },
      { name: 'elsewhere_x', inputSchema: { type: 'object' } },
    ],
    nextCursor: 'c',
  });
  expect(await list(['read'], ['github'])).toEqual({ tools: [{ name: 'read', inputSchema: { type: 'object' } }], nextCursor: 'c' });
  expect(await sidecar.entries()).toEqual([]);
});

test.each([
  ['tools that are there twice', '{"tools":[{"name":"delete"}],"tools":[{"name":"read"}]}'],
  ['tools that are there twice, once escaped', '{"tools":[{"name":"read"}],"t\\u006fols":[{"name":"delete"}]}'],
  ['tools under a look-alike key', '{"tools":[{"name":"read"}],"Tools":[{"name":"delete"}]}'],
  ['a name that appears twice', '{"tools":[{"name":"delete","name":"read"}]}'],
  ['tools that are no list', '{"tools":{"0":{"name":"delete"}}}'],
  ['something behind it', '{"tools":[]}{"tools":[{"name":"delete"}]}'],
  ['bytes that are not UTF-8', Buffer.from([...Buffer.from('{"tools":[],"x":"'), 0xff, 0x22, 0x7d])],
])('a list with %s is not returned', async (_, list) => {
  const { checkRequest, checkResponse } = await startTestMesh({ documents: [ruleFor('github.delete', { permission: 'deny' })] });
  const asked = await checkRequest(mcpRequest('tools/list', null));
  const answer = await checkResponse({ ...mcpResponse('tools/list', '', callOf(asked)), mcpResponse: Buffer.from(list) });
  expect(answer).toMatchObject({ result: 'error', error: { code: 'INVALID', reason: expect.stringMatching(/^the result /) } });
});

test('the definitions of tools in a list stay as they were written', async () => {
  const { checkRequest, checkResponse } = await startTestMesh();
  const asked = await checkRequest(mcpRequest('tools/list', null));
  const text = '{"tools":[{"name":"read","inputSchema":{"maximum":9223372036854775807}}],"nextCursor":"c"}';
  const answer = await checkResponse(mcpResponse('tools/list', text, callOf(asked)));
  expect(Buffer.from(answer.mutated ?? '').toString()).toBe(text);
});

test('reads are decided too, including other lists; the remaining known methods pass', async () => {
  const { checkRequest, checkResponse, sidecar } = await startTestMesh({
    documents: [ruleFor('github.resources/read', { permission: 'deny' })],
  });
  expect((await checkRequest(mcpRequest('resources/read', { uri: 'file:///x' }))).result).toBe('error');
  expect((await checkRequest(mcpRequest('prompts/get', { name: 'p', _meta: {} }))).result).toBe('pass');
  expect((await checkRequest(mcpRequest('completion/complete', { argument: { name: 'to', value: 'a' } }))).result).toBe('pass');
  const list = await checkRequest(mcpRequest('prompts/list', null));
  expect((await checkResponse(mcpResponse('prompts/list', { prompts: [] }, callOf(list)))).result).toBe('pass');
  for (const method of ['initialize', 'ping', 'notifications/initialized'])
    expect((await checkRequest(mcpRequest(method, null))).result).toBe('pass');
  expect((await sidecar.entries()).map(({ tool, input }) => [tool, input])).toEqual([
    ['github.resources/read', { uri: 'file:///x' }],
    ['github.prompts/get', { name: 'p' }],
    ['github.completion/complete', { argument: { name: 'to', value: 'a' } }],
    ['github.prompts/list', {}],
    ['github.prompts/list', undefined],
  ]);
});

test('the key can come as metadata, where headers do not', async () => {
  const { checkRequest } = await startTestMesh();
  const metadataContext = text({ tollgate_phase: 'full', tollgate_authorization: `Bearer ${own}` });
  expect((await checkRequest(mcpRequest('tools/call', call, { headers: [], metadataContext }))).result).toBe('pass');
});

test.each([
  ['no key', mcpRequest('tools/call', call, { headers: [] })],
  [
    'two keys',
    mcpRequest('tools/call', call, { headers: [1, 2].map(() => ({ key: 'Authorization', value: Buffer.from(`Bearer ${own}`) })) }),
  ],
  ['params with a key twice', mcpRequest('tools/call', '{"name":"read","name":"delete"}')],
  ['params with a key twice, once escaped', mcpRequest('tools/call', '{"name":"read","n\\u0061me":"delete"}')],
  ['params with a look-alike key', mcpRequest('tools/call', '{"name":"read","Name":"delete"}')],
  ['params with something behind', mcpRequest('tools/call', '{"name":"read"},"method":"ping"')],
  ['params that are a list', mcpRequest('tools/call', '[{"name":"read"}]')],
  ['params that are not UTF-8', mcpRequest('tools/call', null, { mcpRequest: Buffer.from([0x7b, 0xff, 0x7d]) })],
  ['a number that would be rounded', mcpRequest('tools/call', '{"name":"read","arguments":{"n":12345678901234567890}}')],
  ['no name', mcpRequest('tools/call', '{"arguments":{}}')],
  ['a name that is a list', mcpRequest('tools/call', '{"name":["read"]}')],
  ['no params', mcpRequest('tools/call', null)],
  ['a method in capitals', mcpRequest('Tools/Call', call)],
  ['an unknown method', mcpRequest('tools/execute', call)],
  ['no method', mcpRequest('', call)],
  ['a method with a quote', mcpRequest('tools/call","method":"ping', call)],
  ['an unknown notification', mcpRequest('notifications/call', call)],
  ['no server', mcpRequest('tools/call', call, { serviceNames: [] })],
  ['a call for two servers', mcpRequest('tools/call', call, { serviceNames: ['github', 'mail'] })],
  [
    'an unknown tier',
    mcpRequest('tools/call', call, {
      headers: [...(mcpRequest('', null).headers ?? []), { key: 'x-tollgate-tier', value: Buffer.from('root') }],
    }),
  ],
] as const)('%s is an error, and leaves no entry', async (_, request) => {
  const { checkRequest, sidecar, failures } = await startTestMesh();
  expect(await checkRequest(request)).toMatchObject({ result: 'error', error: { reason: expect.any(String) } });
  expect(await sidecar.entries()).toEqual([]);
  expect(failures).toEqual([]);
});

test('a failure of ours is an error of the call, and nothing passes', async () => {
  const { checkRequest, checkResponse, sidecar, failures } = await startTestMesh();
  const asked = await checkRequest(mcpRequest('tools/call', call));
  sidecar.spoolFault = 'bug';
  expect(await checkRequest(mcpRequest('tools/call', call))).toMatchObject({ error: { code: 'UNKNOWN' } });
  expect(await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(asked)))).toMatchObject({ error: { code: 'UNKNOWN' } });
  expect(failures).toHaveLength(2);
});

test('calls whose results do not come keep nothing of their inputs in memory', async () => {
  const { checkRequest, checkResponse } = await startTestMesh();
  const title = 'x'.repeat(1_000_000);
  const ask = async (): Promise<string> => callOf(await checkRequest(mcpRequest('tools/call', { ...call, arguments: { title } })));
  await ask();
  const before = collectGarbage();
  const asked: string[] = [];
  while (asked.length < 60) asked.push(await ask());
  // A sixth of what the inputs use.
  expect(collectGarbage() - before).toBeLessThan(10_000_000);
  for (const id of asked) expect(await checkResponse(mcpResponse('tools/call', { content: [] }, id))).toMatchObject({ result: 'pass' });
});

test('where the decision for one server fails, the permit for another is taken back', async () => {
  const { checkRequest, sidecar } = await startTestMesh();
  const append = sidecar.spool.appendAsync.bind(sidecar.spool);
  let appended = 0;
  const failing = async (entry: string): Promise<number> => {
    appended += 1;
    if (appended === 2) throw new Error('a bug');
    return append(entry);
  };
  Object.assign(sidecar.spool, { appendAsync: failing });
  const asked = await checkRequest({ ...mcpRequest('prompts/list', null), serviceNames: ['a', 'b'] });
  expect(asked.result).toBe('error');
  const entries = await sidecar.entries();
  const withdrawn = entries.filter(({ outcome }) => outcome?.action === 'block').map(({ tool }) => tool);
  expect(withdrawn).toContain('a.prompts/list');
});
