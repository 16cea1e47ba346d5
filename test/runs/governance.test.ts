import { expect, test } from 'vitest';
import type { StoredDocument } from '../../sidecar/engine/compile/policy-document.ts';
import type { ModelEvent, ModelRequest } from '../../control-plane/runs/model.ts';
import { callOf, createTestToolbox, someAgent, someState, startRunning, usageOf } from '../support/running.ts';
import { workspaceServer } from '../support/snapshots.ts';

const rule = (tools: StoredDocument['document']['tools']): Pick<ReturnType<typeof someState>, 'documents'> => ({
  documents: [{ id: { layer: 'workspace' }, document: { tools: tools ?? {} } }],
});
const deny = { api: { permission: 'deny' }, subagent: { permission: 'deny' } } as const;
const redact = { api: { transform: 'redact' } } as const;
const mail = 'bob@acme-mail.eu';

const offered = (request: ModelRequest | undefined): readonly string[] | undefined => request?.tools.map(({ alias }) => alias);

test('a model is offered exactly the tools that policy lets its caller call', async () => {
  const running = await startRunning({ state: rule({ 'box.two': deny }) });
  await running.run();
  expect(offered(running.model.requests[0])).toEqual(['box__one']);
  const nothing = await startRunning({ state: { agents: [someAgent({ enabledTools: [] })] } });
  await nothing.run();
  expect(offered(nothing.model.requests[0])).toEqual([]);
  const scoped = await startRunning({
    state: { servers: [workspaceServer({ name: 'box', tools: [{ name: 'one', requiredScopes: ['box:read'] }] })] },
  });
  await scoped.run();
  expect(offered(scoped.model.requests[0])).toEqual(['box__two']);
});

test('a case is decided by the arguments that the model wrote: the tool is offered, and only what is allowed reaches it', async () => {
  const cases = [{ name: 'large', when: 'args.n > 100', permission: 'deny', reason: 'at most 100' }] as const;
  const running = await startRunning({
    state: rule({ 'box.one': { api: { permission: 'allow', cases } } }),
    lines: [
      {
        toolCalls: [
          callOf('box.one', { n: 100 }),
          callOf('box.one', { n: 101 }),
          callOf('box.one', { n: '1' }),
          callOf('box.one', '{"n": 1, "n": 101}'),
          callOf('box.one', '{"n": 12345678901234567890}'),
        ],
      },
      { text: 'done' },
    ],
  });
  await running.run();
  expect(offered(running.model.requests[0])).toEqual(['box__one', 'box__two']);
  expect(running.toolbox.seen).toEqual([{ name: 'box.one', input: { n: 100 } }]);
  const told = running.model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []));
  expect(told?.[1]).toContain('cases["large"]): at most 100');
  const entries = (await running.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse');
  expect(entries.map(({ code, undecided }) => [code, undecided?.[0]?.reason])).toEqual([
    ['allowed', undefined],
    ['policy_denied', undefined],
    ['policy_denied', 'type'],
    ['call_malformed', undefined],
    ['call_malformed', undefined],
  ]);
});

test('a tool that is denied during the run is refused, recorded, and no longer offered', async () => {
  const running = await startRunning({
    lines: [
      (_request) => {
        running.take(rule({ 'box.one': deny }));
        return once(callOf('box.one'));
      },
      { text: 'done' },
    ],
  });
  const { events } = await running.run();
  expect(running.toolbox.seen).toEqual([]);
  expect(offered(running.model.requests[1])).toEqual(['box__two']);
  const governance = events.find(({ kind }) => kind === 'governance');
  expect(governance?.data).toMatchObject({
    decision: 'deny',
    reason: 'policy_denied: the workspace denies api calls of "box.one" (tools["box.one"].api)',
    rule: { layer: 'workspace', path: 'tools["box.one"].api', revision: 2 },
  });
  expect((await running.entries()).map(({ code, revision }) => [code, revision])).toEqual([['policy_denied', 2]]);
});

test.each([
  ['removed', []],
  ['registered again', [workspaceServer({ name: 'box', definition: 'second', tools: [] })]],
])('a tool whose server is %s during the run is refused with an explanation, recorded, and no longer offered', async (_, servers) => {
  const scopes = [{ name: 'two', requiredScopes: ['box:read'] }];
  const running = await startRunning({
    state: { servers: [workspaceServer({ name: 'box', definition: 'first', tools: scopes })] },
    lines: [
      () => {
        running.take({ servers });
        return once(callOf('box.one'), callOf('box.two'), callOf('box.one', 'no JSON'));
      },
      { text: 'done' },
    ],
  });
  const { end } = await running.run();
  expect(running.toolbox.seen).toEqual([]);
  expect(end.data).toMatchObject({ stopReason: 'goal_complete', output: 'done' });
  expect(offered(running.model.requests[1])).toEqual([]);
  expect(running.model.requests[1]?.messages.at(-1)).toMatchObject({
    isError: true,
    output: expect.stringContaining('its server is gone'),
  });
  const entries = (await running.entries()).map(({ tool, decision, code, decisionReason }) => [tool, decision, code, decisionReason]);
  const refused = ['deny', 'call_malformed', 'call_malformed: its server is gone'];
  expect(entries).toEqual(['box.one', 'box.two', 'box.one'].map((tool) => [tool, ...refused]));
});

test('a server whose tools are listed again, or whose scopes alone change, remains available', async () => {
  const running = await startRunning({
    state: { servers: [workspaceServer({ name: 'box', definition: 'first', tools: [] })] },
    lines: [
      () => {
        running.take({
          servers: [workspaceServer({ name: 'box', definition: 'first', tools: [{ name: 'two', requiredScopes: ['box:read'] }] })],
        });
        return once(callOf('box.one'), callOf('box.two'));
      },
      { text: 'done' },
    ],
  });
  await running.run();
  expect(running.toolbox.seen).toMatchObject([{ name: 'box.one' }]);
});

async function* once(...toolCalls: ReturnType<typeof callOf>[]): AsyncGenerator<ModelEvent> {
  yield { kind: 'reply', text: '', toolCalls, usage: usageOf(1, 1), finish: 'tool_calls' };
}

test('redacted values reach neither the tool, the model, the stream, the audit log nor the stored run', async () => {
  const toolbox = createTestToolbox(async ({ input }) => ({ said: input, from: `carl@acme-mail.eu` }));
  const running = await startRunning({
    toolbox,
    state: rule({ 'box.one': redact }),
    lines: [{ toolCalls: [callOf('box.one', { to: mail })] }, { text: 'done' }],
  });
  const { id, events } = await running.run();
  expect(toolbox.seen).toEqual([{ name: 'box.one', input: { to: '[redacted:email#1]' } }]);
  const heard = running.model.requests[1]?.messages.at(-1);
  expect(heard).toMatchObject({ output: '{"from":"[redacted:email#2]","said":{"to":"[redacted:email#1]"}}' });
  const kept = running.books.runs.get(id)?.end?.transcript;
  expect(JSON.stringify([events, kept, await running.entries()])).not.toContain('acme-mail.eu');
  expect(kept).toMatchObject([
    { role: 'user', text: 'do it' },
    { role: 'assistant', toolCalls: [{ tool: 'box.one', input: { to: '[redacted:email#1]' } }] },
    { role: 'tool', decision: 'allow', isError: false, output: { said: { to: '[redacted:email#1]' } } },
    { role: 'assistant', text: 'done' },
  ]);
});

test('a layer in audit mode changes no payload, and what is stored is redacted', async () => {
  const documents = [{ id: { layer: 'workspace' } as const, document: { mode: 'audit' as const, tools: { 'box.one': redact } } }];
  const running = await startRunning({
    state: { documents },
    lines: [{ toolCalls: [callOf('box.one', { to: mail })] }, { text: 'done' }],
  });
  const { id, events } = await running.run();
  expect(running.toolbox.seen).toEqual([{ name: 'box.one', input: { to: mail } }]);
  expect(running.model.requests[1]?.messages.at(-1)).toMatchObject({ output: `{"did":{"to":"${mail}"}}` });
  expect(JSON.stringify(events)).toContain(mail);
  expect(JSON.stringify([running.books.runs.get(id)?.end, await running.entries()])).not.toContain(mail);
});

test('where the defaults redact, text from people and from the model is stored redacted, and returned unchanged', async () => {
  const documents = [{ id: { layer: 'workspace' } as const, document: { defaults: redact } }];
  const running = await startRunning({ state: { documents }, lines: [{ text: `wrote to ${mail}` }] });
  const { id, end } = await running.run({ input: `write to ${mail}`, context: { boss: mail } });
  expect(end.data).toMatchObject({ output: `wrote to ${mail}` });
  const { end: kept, request } = running.books.runs.get(id) ?? {};
  expect(request).toEqual({ input: 'write to [redacted:email#1]', context: { boss: '[redacted:email#1]' } });
  expect(kept).toMatchObject({ output: 'wrote to [redacted:email#1]' });
  expect(JSON.stringify(kept)).not.toContain(mail);
});

/** Runs `work` between the reply and the decisions on its calls. */
async function* afterwards(reply: AsyncIterable<ModelEvent>, work: () => void): AsyncGenerator<ModelEvent> {
  try {
    yield* reply;
  } finally {
    work();
  }
}

test.each([
  ['the workspace is frozen', { frozen: true }],
  ['the agent is suspended', { agents: [someAgent({ suspended: true })] }],
  ['the agent is deleted', { agents: [] }],
  ['the key is revoked', { keys: [] }],
  ['the member leaves', { members: [], keys: [] }],
])('once %s, a run makes no more calls and ends', async (_, change) => {
  const running = await startRunning({
    lines: [() => afterwards(once(callOf('box.one')), () => running.take(change))],
  });
  expect((await running.run()).end.data).toMatchObject({ stopReason: 'cancelled' });
  expect([running.toolbox.seen.length, running.model.requests.length]).toEqual([0, 1]);
  expect((await running.entries()).map(({ decision }) => decision)).toEqual(['deny']);
});

test('a rotated key counts as another key', async () => {
  const [key] = someState().keys;
  const running = await startRunning({
    lines: [
      () => afterwards(once(callOf('box.one')), () => running.take({ keys: key === undefined ? [] : [{ ...key, hash: 'b'.repeat(64) }] })),
    ],
  });
  await running.run();
  expect((await running.entries()).map(({ code }) => code)).toEqual(['key_revoked']);
});

test('a key with the scope to start runs needs no scope to govern, and a key without it is rejected', async () => {
  expect((await (await startRunning()).run()).end.kind).toBe('done');
  const [key] = someState().keys;
  const reading = await startRunning({ state: { keys: key === undefined ? [] : [{ ...key, scopes: ['agents.read'] }] } });
  await expect(reading.run()).rejects.toMatchObject({ code: 'forbidden' });
});

test('a session based on a member runs as that member, and never uses another key', async () => {
  const session = { credential: { kind: 'session', hash: 'c'.repeat(64), expiresAt: null }, keyId: 'session:s1' } as const;
  const running = await startRunning({ state: { keys: [] }, lines: [{ toolCalls: [callOf('box.one')] }, { text: 'done' }] });
  expect((await running.run({}, { actor: session })).end.data).toMatchObject({ stopReason: 'goal_complete' });
  expect((await running.entries())[0]).toMatchObject({ sub: 'ann', keyId: 'session:s1', role: 'member' });
  await expect(running.run({}, { actor: { ...session, uid: 'bob', sub: 'bob' } })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(running.run({}, { actor: { ...session, keyId: 'key-9' } })).rejects.toMatchObject({ code: 'forbidden' });
});

test('a key pins the tier and the client of the runs that it starts', async () => {
  const running = await startRunning({ lines: [{ toolCalls: [callOf('box.one')] }, { text: 'done' }] });
  await running.run({}, { actor: { pins: { tier: 'background', agent: 'root', client: 'cron' } } });
  expect((await running.entries())[0]).toMatchObject({
    agentTier: 'background',
    agentType: 'cron::background::root',
    client: { name: 'cron' },
  });
});

test('all runs of a user share one limit', async () => {
  const documents = [{ id: { layer: 'workspace' } as const, document: { tools: { 'box.one': { api: { rateLimit: 3 } } } } }];
  const running = await startRunning({
    state: { documents },
    lines: [
      { toolCalls: [callOf('box.one'), callOf('box.one')] },
      { text: 'done' },
      { toolCalls: [callOf('box.one'), callOf('box.one')] },
      { text: 'done' },
    ],
  });
  await running.run();
  await running.run();
  const decided = (await running.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse').map(({ code }) => code);
  expect(decided).toEqual(['allowed', 'allowed', 'allowed', 'rate_limited']);
});

test('a secret in a name that the model invented is stored nowhere and reported nowhere', async () => {
  const secret = 'AKIAZ7Q2XN5KD3WLRT6P';
  const running = await startRunning({
    lines: [{ toolCalls: [callOf(`box.${secret}`), { ...callOf('box.x'), alias: mail }, callOf('box.ghost')] }, { text: 'done' }],
  });
  const { id, events } = await running.run();
  const names = events.flatMap((event) => (event.kind === 'governance' ? [event.data.tool] : []));
  expect(names).toEqual(['unknown', 'unknown', 'box.ghost']);
  const kept = JSON.stringify([events, running.books.runs.get(id)?.end, await running.entries()]);
  expect(kept).not.toContain(secret);
  expect(kept).not.toContain(mail);
});
