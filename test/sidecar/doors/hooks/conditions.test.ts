// Conditions at the hook endpoint: over exactly the JSON that the client sent.
import { expect, test } from 'vitest';
import { denyWhen } from '../../../support/cased-rules.ts';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { keyText, ruleFor } from '../../../support/snapshots.ts';

async function start(when: string) {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('mail.send', denyWhen(when))] } });
  const { app } = createTestServer(sidecar);
  const ask = async (path: string, input: string, more = ''): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await app.inject({
      method: 'POST',
      url: `/govern/${path}`,
      headers: { authorization: `Bearer ${keyText('key1')}`, 'content-type': 'application/json' },
      payload: `{"tool_name": "mail.send", "session_id": "s", "agent_name": "bot"${more}, "tool_input": ${input}}`,
    });
    return answer.json<Record<string, unknown>>();
  };
  return {
    sidecar,
    decided: async (input: string, more = '') => (await ask('tool-use', input, more))['decision'],
    delivered: async (input: string) => (await ask('tool-output', input, ', "tool_output": "done"'))['action'],
  };
}

test('conditions read the input of the request', async () => {
  const { decided, sidecar } = await start('args.amount > 100 || args.to.endsWith("@elsewhere.test")');
  expect(await decided('{"amount": 100, "to": "ann@acme.test"}')).toBe('allow');
  expect(await decided('{"amount": 1.5e2, "to": "ann@acme.test"}')).toBe('deny');
  expect(await decided('{"amount": 1, "to": "ann@elsewhere.test"}')).toBe('deny');
  expect(await decided('{"amount": 1}')).toBe('deny');
  expect((await sidecar.entries()).map(({ input, undecided }) => [input, undecided?.length ?? 0])).toEqual([
    [{ amount: 100, to: 'ann@acme.test' }, 0],
    [{ amount: 150, to: 'ann@acme.test' }, 0],
    [{ amount: 1, to: 'ann@elsewhere.test' }, 0],
    [{ amount: 1 }, 1],
  ]);
});

test.each([
  ['a comparison of numbers', 'args.n > 100'],
  ['an equality of numbers', 'args.n == 1'],
  // A tool that reads decimals exactly takes 12345678901234567890.0 and 12345678901234567890 for the same account.
  ['an equality of texts', 'args.n == "12345678901234567890"'],
  ['a function of texts', 'string(args.n).startsWith("1")'],
  ['an element of a list', '[args.n].exists(n, n == 5)'],
  ['the whole input', 'args == {"n": 1}'],
])('a number that a double would round is undecided in %s', async (_, when) => {
  const { decided, sidecar } = await start(when);
  for (const spelling of ['12345678901234567890', '12345678901234567890.0', '9007199254740993', '1e400', '0.1000000000000000055'])
    expect(await decided(`{"n": ${spelling}}`), spelling).toBe('deny');
  const entries = await sidecar.entries();
  expect(entries.map(({ undecided }) => undecided?.[0]?.reason)).toEqual(entries.map(() => 'rounded'));
  // It is recorded as it was written.
  expect(entries[1]?.input).toEqual({ n: '12345678901234567890.0' });
});

test('a text that looks like such a number is a text', async () => {
  const { decided } = await start('args.n == "12345678901234567890"');
  expect(await decided('{"n": "12345678901234567890"}')).toBe('deny');
  expect(await decided('{"n": "12345678901234567891"}')).toBe('allow');
  expect(await decided('{"n": "5", "other": 12345678901234567890}')).toBe('allow');
});

test('an input that two parsers could read differently is not decided by a condition', async () => {
  const { decided, sidecar } = await start('args.amount > 100');
  for (const input of ['{"amount": 1, "amount": 1000}', '{"amount": 1, "\\u0061mount": 1000}', '{"amount": 1} {"amount": 1000}'])
    expect(await decided(input)).toBe('deny');
  expect((await sidecar.entries()).map(({ code }) => code)).toEqual(['call_malformed', 'call_malformed', 'call_malformed']);
});

test('an outcome without a decision is decided by its input', async () => {
  const { delivered, sidecar } = await start('args.amount > 100');
  expect(await delivered('{"amount": 5}')).toBe('pass');
  expect(await delivered('{"amount": 500}')).toBe('block');
  expect(await delivered('{}')).toBe('block');
  expect((await sidecar.entries()).map(({ hookEvent, code }) => [hookEvent, code])).toEqual([
    ['PostToolUse', 'allowed'],
    ['PostToolUse', 'policy_denied'],
    ['PostToolUse', 'policy_denied'],
  ]);
});

test('an outcome belongs to its call, also if the input has a number that a double would round', async () => {
  const { decided, delivered, sidecar } = await start('args.amount > 100');
  expect(await decided('{"amount": 5, "id": 9007199254740993}')).toBe('allow');
  expect(await delivered('{"id": 9007199254740993, "amount": 5}')).toBe('pass');
  const [before, after] = await sidecar.entries();
  expect(after?.requestId).toBe(before?.requestId);
});
