// Conditions over the input of a library call: the tool gets exactly what they read, whatever the caller's object is and
// becomes. Conditions over the agent, the time and a call that waits.
import { expect, test } from 'vitest';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../../../sidecar/engine/govern/verdict.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { caseOf, denyWhen } from '../../../support/cased-rules.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, ruleFor, type World } from '../../../support/snapshots.ts';

const run = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'bot', tier: 'interactive' });
const deniedAbove100: World = { documents: [ruleFor('mail.send', denyWhen('args.amount > 100'))] };

async function guardedMail(world: World, durability: 'kernel' | 'disk' = 'kernel') {
  const sidecar = await createTestSidecar({ world, durability });
  const got: unknown[] = [];
  const send = run(sidecar).guard('mail.send', (input: unknown) => {
    got.push(input);
    return 'sent';
  });
  const codes = async (): Promise<readonly unknown[]> =>
    (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(({ code }) => code);
  return { sidecar, got, send, codes };
}

test('a case that denies names itself and its reason to the model, and the tool does not run', async () => {
  const rule = { cases: [caseOf('args.amount > 100', { permission: 'deny', reason: 'ask for a smaller amount' }, 'large')] };
  const { send, got, sidecar } = await guardedMail({ documents: [ruleFor('mail.send', rule)] });
  expect(await send({ amount: 100 })).toBe('sent');
  await expect(send({ amount: 101 })).rejects.toThrow('cases["large"]): ask for a smaller amount');
  expect(got).toEqual([{ amount: 100 }]);
  expect((await sidecar.entries()).at(-1)).toMatchObject({
    code: 'policy_denied',
    rule: { layer: 'workspace', path: 'tools["mail.send"].interactive.cases["large"]' },
    input: { amount: 101 },
  });
});

test('a rule whose case cannot be evaluated is as strict as it may be, and the entry says which part is missing', async () => {
  const { send, got, sidecar } = await guardedMail(deniedAbove100);
  for (const input of [{}, { amount: '1' }, { amount: null }, { amount: [1] }, null, 'text', 7, undefined])
    await expect(send(input)).rejects.toThrow(ToolDenied);
  expect(got).toEqual([]);
  const entries = await sidecar.entries();
  expect(entries).toHaveLength(8);
  const place = { document: 'workspace', path: 'tools["mail.send"].interactive.cases["case"]' };
  expect(entries.map(({ undecided }) => undecided)).toEqual([
    [{ ...place, reason: 'absent', at: 'args.amount' }],
    [{ ...place, reason: 'type', at: 'args.amount > 100' }],
    [{ ...place, reason: 'type', at: 'args.amount > 100' }],
    [{ ...place, reason: 'type', at: 'args.amount > 100' }],
    [{ ...place, reason: 'absent', at: 'args.amount' }],
    [{ ...place, reason: 'type', at: 'args.amount' }],
    [{ ...place, reason: 'type', at: 'args.amount' }],
    [{ ...place, reason: 'absent', at: 'args.amount' }],
  ]);
});

test('a number that JSON does not have is undecided, also in a list', async () => {
  const { send, got } = await guardedMail(deniedAbove100);
  for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    await expect(send({ amount })).rejects.toThrow('args.amount cannot be evaluated (type)');
  const ofList = await guardedMail({ documents: [ruleFor('mail.send', denyWhen('args.amounts.exists(one, one > 100)'))] });
  await expect(ofList.send({ amounts: [1, Number.NaN] })).rejects.toThrow(ToolDenied);
  expect([...got, ...ofList.got]).toEqual([]);
});

test('without conditions the tool gets the very object of the caller', async () => {
  const { send, got } = await guardedMail({ documents: [ruleFor('mail.send', { permission: 'allow' })] });
  const input = { when: new Date(), self: {} };
  await send(input);
  expect(got[0]).toBe(input);
});

test('an object that another task changes between decision and call changes nothing', async () => {
  // The entry is on disk before the tool runs, so other tasks run in between.
  const { send, got, sidecar } = await guardedMail(deniedAbove100, 'disk');
  const input = { amount: 5, to: { name: 'ann' }, list: [1] };
  const sending = send(input);
  input.amount = 5_000;
  input.to.name = 'eve';
  input.list.push(2);
  expect(await sending).toBe('sent');
  expect(got).toEqual([{ amount: 5, to: { name: 'ann' }, list: [1] }]);
  expect((await sidecar.entries())[0]?.input).toEqual({ amount: 5, to: { name: 'ann' }, list: [1] });
});

test('a getter or a proxy that answers differently each time is read once', async () => {
  const { send, got, codes } = await guardedMail(deniedAbove100);
  const answers = (first: number, then: number) => {
    let reads = 0;
    return () => ((reads += 1) === 1 ? first : then);
  };
  const changing = answers(5, 5_000);
  await send(Object.defineProperty({}, 'amount', { get: changing, enumerable: true }));
  const alternating = answers(5, 5_000);
  await send(new Proxy({ amount: 0 }, { get: (_target, name) => (name === 'amount' ? alternating() : undefined) }));
  await expect(send(Object.defineProperty({}, 'amount', { get: answers(5_000, 5), enumerable: true }))).rejects.toThrow(ToolDenied);
  expect(got).toEqual([{ amount: 5 }, { amount: 5 }]);
  // The tool's object has no code of the caller.
  expect(Object.getOwnPropertyDescriptor(got[0], 'amount')).toMatchObject({ value: 5 });
  expect(await codes()).toEqual(['allowed', 'allowed', 'policy_denied']);
});

test('a class instance and a date become what their JSON says, and bytes pass as they are', async () => {
  class Order {
    readonly amount = 5;
    readonly secret = () => 'hidden';
    get total() {
      return 5_000;
    }
  }
  const { send, got } = await guardedMail({
    documents: [ruleFor('mail.send', denyWhen('args.order.amount > 100 || timestamp(args.when) > timestamp("2027-01-01T00:00:00Z")'))],
  });
  const bytes = Buffer.from('x');
  const map = new Map([['a', 1]]);
  await send({ order: new Order(), when: new Date('2026-06-01T00:00:00Z'), bytes, map });
  expect(got).toEqual([{ order: { amount: 5, secret: expect.any(Function) }, when: '2026-06-01T00:00:00.000Z', bytes, map }]);
  const [first] = got as readonly { readonly bytes: unknown; readonly map: unknown; readonly order: unknown }[];
  expect(first?.bytes).toBe(bytes);
  expect(first?.map).toBe(map);
  expect(first?.order).not.toBeInstanceOf(Order);
});

test.each(['size(args.part) > 0', 'args.part == "x"', 'args.part.a == 1', '"x" in args.part', 'string(args.part) == "x"'])(
  'what has no JSON is undecided for %s',
  async (when) => {
    const { send, got, sidecar } = await guardedMail({ documents: [ruleFor('mail.send', denyWhen(when))] });
    const parts = [Buffer.from('x'), new Map([['a', 1]]), () => 'x', Symbol('x'), new Set(['x']), new String('x')];
    for (const part of parts) await expect(send({ part })).rejects.toThrow(ToolDenied);
    expect(got).toEqual([]);
    expect((await sidecar.entries()).map(({ undecided }) => undecided?.[0]?.reason)).toEqual(parts.map(() => 'type'));
  },
);

test('names that every object has are ordinary keys', async () => {
  const { send, got } = await guardedMail({
    documents: [
      ruleFor(
        'mail.send',
        denyWhen('has(args.constructor) || has(args.toString) || "__proto__" in args && args["__proto__"].amount > 100'),
      ),
    ],
  });
  await send({ to: 'ann' });
  await send(JSON.parse('{"__proto__": {"amount": 5}}'));
  await expect(send(JSON.parse('{"__proto__": {"amount": 500}}'))).rejects.toThrow(ToolDenied);
  await expect(send({ constructor: 1 })).rejects.toThrow(ToolDenied);
  // An inherited value is no value of the input.
  await send(Object.create({ constructor: 1, toString: 1 }));
  expect(got).toHaveLength(3);
  expect(Object.getOwnPropertyNames(got[1])).toEqual(['__proto__']);
});

test('an input that cannot be copied is malformed', async () => {
  const { send, got, codes } = await guardedMail(deniedAbove100);
  const circular: Record<string, unknown> = { amount: 1 };
  circular['self'] = circular;
  const thrower = {
    get amount(): number {
      throw new Error('no');
    },
  };
  for (const input of [circular, thrower, { amount: 1, toJSON: () => circular }]) await expect(send(input)).rejects.toThrow(ToolDenied);
  expect(got).toEqual([]);
  expect(await codes()).toEqual(['call_malformed', 'call_malformed', 'call_malformed']);
});

test('a tool of a set, and a tool of an MCP client, get what was decided', async () => {
  const got: unknown[] = [];
  const sidecar = await createTestSidecar({
    world: { agents: [], documents: [ruleFor('mail.send', denyWhen('args.amount > 100'))] },
    durability: 'disk',
  });
  const own = run(sidecar);
  const tools = own.guardTools({ send: { execute: async (input: { amount: number }) => void got.push(input) } }, { server: 'mail' });
  const client = {
    callTool: async (params: { name: string; arguments?: Record<string, unknown> }) => {
      got.push(params);
      return { content: [] };
    },
    listTools: async () => ({ tools: ['send', 'look'].map((name) => ({ name })) }),
  };
  const guarded = own.guardTools(client, { server: 'mail' });
  const input = { amount: 5 };
  const given = { name: 'send', arguments: { amount: 6 } };
  const calling = [tools.send.execute(input), guarded.callTool(given)];
  input.amount = 5_000;
  given.arguments.amount = 6_000;
  given.name = 'look';
  await Promise.all(calling);
  expect(got).toEqual(expect.arrayContaining([{ amount: 5 }, { name: 'send', arguments: { amount: 6 } }]));
  // The name is read once too.
  let reads = 0;
  const changing = {
    get name() {
      return (reads += 1) === 1 ? 'look' : 'send';
    },
    arguments: { amount: 7_000 },
  };
  await guarded.callTool(changing);
  expect(got.at(-1)).toEqual({ name: 'look', arguments: { amount: 7_000 } });
  await expect(tools.send.execute({ amount: 101 })).rejects.toThrow(ToolDenied);
  expect(await guarded.callTool({ name: 'send', arguments: { amount: 101 } })).toMatchObject({ isError: true });
  // A tool is listed if some input may be allowed.
  expect(await guarded.listTools()).toEqual({ tools: [{ name: 'send' }, { name: 'look' }] });
  expect(got).toHaveLength(3);
});

test('redaction comes after conditions: they read what the caller sent', async () => {
  const rule = { cases: [caseOf('domain(args.to) == "acme-mail.eu"', { transform: 'redact' })] };
  const { send, got } = await guardedMail({ documents: [ruleFor('mail.send', rule)] });
  await send({ to: 'bob@acme-mail.eu' });
  await send({ to: 'bob@other-mail.eu' });
  expect(got).toEqual([{ to: '[redacted:email#1]' }, { to: 'bob@other-mail.eu' }]);
});

test('the limit of a case counts only the calls of the case', async () => {
  const rule = { cases: [caseOf('args.amount > 100', { rateLimit: 1 })] };
  const { send, codes } = await guardedMail({ documents: [ruleFor('mail.send', rule)] });
  for (const amount of [5, 500, 6, 7]) await send({ amount });
  await expect(send({ amount: 501 })).rejects.toThrow('rate_limited');
  // It may be a call of the case.
  await expect(send({})).rejects.toThrow('rate_limited');
  expect(await codes()).toEqual(['allowed', 'allowed', 'allowed', 'allowed', 'rate_limited', 'rate_limited']);
});

test('each hop of a delegation is decided with its own agent', async () => {
  const tools = { enabledTools: ['mail.send'] };
  const agents = [agent(tools), agent({ id: 'agent-2', name: 'helper', ...tools }), agent({ id: 'agent-3', name: 'other', ...tools })];
  const tries = async (when: string): Promise<readonly string[]> => {
    const sidecar = await createTestSidecar({ world: { agents, documents: [ruleFor('mail.send', denyWhen(when))] } });
    const root = run(sidecar);
    const runs = [root, root.delegate('helper'), root.delegate('other')];
    return Promise.all(runs.map(async (one) => ((await one.decide({ tool: 'mail.send', input: {} })).allowed ? 'allow' : 'deny')));
  };
  expect(await tries('agent.name == "helper"')).toEqual(['allow', 'deny', 'allow']);
  // A rule that binds the root binds what it delegates.
  expect(await tries('agent.name == "bot" && agent.tier == "interactive"')).toEqual(['deny', 'deny', 'deny']);
  expect(await tries('agent.tier == "subagent"')).toEqual(['allow', 'deny', 'deny']);
  expect(await tries('agent.chain == ["bot", "other"]')).toEqual(['allow', 'allow', 'deny']);
  expect(await tries('agent.id == "agent-2"')).toEqual(['allow', 'deny', 'allow']);
});

test('a call that waits for a lease is decided once: by the input and the time of when it began', async () => {
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  const rule = { rateLimit: 1, cases: [caseOf('args.amount > 100 || now >= timestamp("2026-06-25T12:00:01Z")')] };
  const world = { documents: [ruleFor('mail.send', rule)] };
  const sidecar = await createTestSidecar({ world, counters: createLeasedCounters(leases, 60) });
  leases.opened();
  leases.policyChanged({ epoch: 'e', number: 1 }, sidecar.time.now);
  const input = { amount: 5 };
  const deciding = run(sidecar).decide({ tool: 'mail.send', input });
  expect(deciding).toBeInstanceOf(Promise);
  input.amount = 5_000;
  sidecar.time.wallTime += 2_000;
  const [ask] = leases.asks(sidecar.time.now);
  if (ask === undefined) throw new Error('nothing was asked');
  const result = { kind: 'grant', id: 1, tokens: 1, ttlMs: 2_000, max: 1, shared: false, ageMs: null } as const;
  leases.answered([{ counter: ask.counter, number: ask.number, result }], sidecar.time.now);
  expect(await deciding).toMatchObject({ allowed: true, input: { amount: 5 } });
  // A new call is decided by its own time.
  expect(await run(sidecar).decide({ tool: 'mail.send', input: { amount: 5 } })).toMatchObject({ code: 'policy_denied' });
});

test('the time of a condition is that of the control plane, as far as it is known', async () => {
  const world: World = {
    settings: {
      outage: { maxStalenessSeconds: 3_600, then: { interactive: 'last_known', subagent: 'deny', background: 'deny', api: 'deny' } },
    },
    documents: [ruleFor('mail.send', denyWhen('now.getHours("Europe/Berlin") >= 18'))],
  };
  const sidecar = await createTestSidecar({ world });
  const decided = async (): Promise<unknown> => (await run(sidecar).decide({ tool: 'mail.send', input: {} })).decision.code;
  // 14:00 in Berlin.
  expect(await decided()).toBe('allowed');
  sidecar.cell.heard(null, sidecar.time.wallTime + 4 * 3_600_000);
  expect(await decided()).toBe('policy_denied');
  // The entry keeps the time of this machine.
  expect((await sidecar.entries()).map(({ ts }) => ts)).toEqual(['2026-06-25T12:00:00.000Z', '2026-06-25T12:00:00.000Z']);
  // The difference is kept while the control plane is away.
  sidecar.cell.lost();
  sidecar.time.now += 4_000_000;
  expect(await decided()).toBe('policy_denied');
  expect((await sidecar.entries()).at(-1)).toMatchObject({ outage: true });
  sidecar.cell.heard(null, sidecar.time.wallTime);
  expect(await decided()).toBe('allowed');
});

test('a call with a flaw is denied because of it, and no condition is evaluated', async () => {
  const sidecar = await createTestSidecar({ world: deniedAbove100 });
  const flaw = { code: 'call_malformed', words: 'it has a flaw' } as const;
  const input = {
    get amount(): number {
      throw new Error('the input was read');
    },
  };
  expect(await run(sidecar).decide({ tool: 'mail.send', input, flaw })).toMatchObject({ code: 'call_malformed' });
  expect((await sidecar.entries())[0]).not.toHaveProperty('undecided');
});
