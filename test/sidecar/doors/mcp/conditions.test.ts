// Conditions behind the MCP proxy, in both revisions: over the arguments that the server gets.
import { describe, expect, test } from 'vitest';
import { caseOf, denyWhen } from '../../../support/cased-rules.ts';
import { document, ruleFor } from '../../../support/snapshots.ts';
import { behind, type Behind, call, json, metaOf, modernCall, modernHeaders, rpcOf, send } from './proxied.ts';

const above100 = { documents: [ruleFor('s.a', denyWhen('args.amount > 100'))] };
const eras = [
  ['2025-11-25', (name: string, args?: object) => ({ body: call(name, args) })],
  ['2026-07-28', (name: string, args?: object) => ({ body: modernCall(name, args), headers: modernHeaders('tools/call', name) })],
] as const;
const paramsIn = ({ up }: Behind): readonly unknown[] => up.heard.map((heard) => rpcOf(heard).params?.['arguments']);

describe.each(eras)('in revision %s', (_, asked) => {
  test('a call is decided by its arguments, and the server gets them', async () => {
    const one = await behind(above100);
    const sent = async (args?: object) => (await send(one.proxied, 's', asked('a', args))).body;
    expect((await sent({ amount: 100, to: 'ann' })).result).not.toHaveProperty('isError');
    for (const args of [{ amount: 101 }, { amount: '1' }, {}, undefined])
      expect((await sent(args)).result, JSON.stringify(args)).toMatchObject({ isError: true });
    expect(paramsIn(one)).toEqual([{ amount: 100, to: 'ann' }]);
    expect(await one.proxied.codes()).toEqual([
      'PreToolUse s.a allowed',
      'PostToolUse s.a allowed',
      ...Array.from({ length: 4 }, () => 'PreToolUse s.a policy_denied'),
    ]);
  });

  test('a denial by a case is a result for the model, and a tool that no input may call is unknown', async () => {
    const rules = [
      ...ruleFor('s.a', denyWhen('args.amount > 100')).tools,
      ...ruleFor('s.echo', { permission: 'deny', cases: [caseOf('args.amount > 100', { reason: 'never' })] }).tools,
    ];
    const one = await behind({ documents: [document({ tools: rules })] });
    const large = (await send(one.proxied, 's', asked('a', { amount: 101 }))).body;
    expect(large.error).toBeUndefined();
    expect(JSON.stringify(large.result)).toContain('policy_denied');
    expect((await send(one.proxied, 's', asked('echo', { amount: 1 }))).body.error?.message).toBe('Unknown tool: echo');
    expect(one.up.heard).toEqual([]);
  });

  test('a key that occurs twice, or a number that a double would round, is refused before a decision', async () => {
    const one = await behind(above100);
    const { body, ...headers } = asked('a', { amount: 1 });
    for (const args of ['{"amount":1,"amount":1000}', '{"amount":1,"\\u0061mount":1000}', '{"amount":12345678901234567890}']) {
      const text = JSON.stringify(body).replace('{"amount":1}', args);
      expect(text).toContain(args);
      const { status, body: answer } = await send(one.proxied, 's', { ...headers, body: text });
      expect([status, answer.error?.code]).toEqual([400, -32_700]);
    }
    expect(one.up.heard).toEqual([]);
  });
});

test('a list shows a tool if some input may be allowed', async () => {
  const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
  const rules = {
    // Some inputs are denied.
    a: denyWhen('args.amount > 100'),
    // Some inputs are allowed.
    b: { permission: 'deny', cases: [caseOf('args.amount < 100', { permission: 'allow' })] },
    // No input is allowed.
    c: { permission: 'deny', cases: [caseOf('args.amount < 100', { transform: 'redact' })] },
    d: { permission: 'deny', cases: [caseOf('args.amount < 100', { permission: 'deny' })] },
    // The limit of a case is only that of its calls, the limit of the rule is that of all.
    e: { cases: [caseOf('args.amount < 100', { rateLimit: 0 })] },
    f: { rateLimit: 0, cases: [caseOf('args.amount < 100', { permission: 'allow' })] },
  } as const;
  const one = await behind({
    documents: [
      document({ tools: Object.entries(rules).map(([name, rule]) => [`s.${name}`, tiers.map((tier) => [tier, rule] as const)] as const) }),
    ],
  });
  one.up.tools = null;
  one.up.answer = (heard, response) =>
    json(response, {
      jsonrpc: '2.0',
      id: rpcOf(heard).id,
      result: { tools: Object.keys(rules).map((name) => ({ name, inputSchema: { type: 'object' } })) },
    });
  const { body } = await send(one.proxied, 's', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  const tools = (body.result?.['tools'] ?? []) as readonly { readonly name: string }[];
  expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'e']);
});

test('a request that is no call is decided by its params too', async () => {
  const one = await behind({
    documents: [
      document({
        tools: [
          ...ruleFor('s.resources/read', denyWhen('!args.uri.startsWith("file:///srv/")')).tools,
          ...ruleFor('s.logging/setLevel', denyWhen('args.level == "debug"')).tools,
          ...ruleFor('s.resources/list', denyWhen('has(args.cursor)')).tools,
        ],
      }),
    ],
  });
  const asked = async (method: string, params: object) =>
    (await send(one.proxied, 's', { body: { jsonrpc: '2.0', id: 1, method, params } })).body;
  expect(await asked('resources/read', { uri: 'file:///srv/a' })).toMatchObject({ result: {} });
  expect(await asked('resources/read', { uri: 'file:///etc/a' })).toMatchObject({
    error: { message: expect.stringContaining('policy_denied') },
  });
  expect(await asked('logging/setLevel', { level: 'info' })).toMatchObject({ result: {} });
  expect(await asked('logging/setLevel', { level: 'debug' })).toMatchObject({
    error: { message: expect.stringContaining('policy_denied') },
  });
  expect(await asked('logging/setLevel', {})).toMatchObject({ error: { message: expect.stringContaining('policy_denied') } });
  expect(await asked('resources/list', {})).toMatchObject({ result: {} });
  expect((await asked('resources/list', { cursor: 'x' })).result).toEqual({ resources: [] });
  expect(one.up.heard.map((heard) => [rpcOf(heard).method, rpcOf(heard).params])).toEqual([
    ['resources/read', { uri: 'file:///srv/a' }],
    ['logging/setLevel', { level: 'info' }],
    ['resources/list', {}],
  ]);
});

test('answers to questions of the server are no arguments', async () => {
  const one = await behind(above100);
  const answers = { q: { action: 'accept', content: { amount: 1 } } };
  const asked = (params: object) =>
    send(one.proxied, 's', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', inputResponses: answers, _meta: metaOf(), ...params } },
      headers: modernHeaders('tools/call', 'a'),
    });
  expect((await asked({})).body.result).toMatchObject({ isError: true });
  expect((await asked({ arguments: { amount: 5 } })).body.result).not.toHaveProperty('isError');
});
