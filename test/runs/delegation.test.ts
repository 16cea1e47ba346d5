import { describe, expect, test } from 'vitest';
import { agentTools } from '../../control-plane/runs/delegation.ts';
import type { ModelEvent, ModelRequest } from '../../control-plane/runs/model.ts';
import { createArgumentsProblem } from '../../control-plane/runs/tools/arguments.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import { callOf, createTestToolbox, type Line, someAgent, someState, someTool, startRunning, usageOf } from '../support/running.ts';
import { workspaceServer } from '../support/snapshots.ts';

const boss = (fields: Parameters<typeof someAgent>[0] = {}) => someAgent({ canDelegate: true, ...fields });
const child = (name: string, fields: Parameters<typeof someAgent>[0] = {}) =>
  someAgent({ id: name.padEnd(20, '0'), name, systemPrompt: `I am ${name}`, ...fields });

/** Each agent says its own lines in order, and then repeats the last of them without end. */
const cast = (parts: Readonly<Record<string, readonly Line[]>>): readonly Line[] => {
  const at = new Map<string, number>();
  return [
    (request) => {
      const name = Object.keys(parts).find((one) => request.system.includes(`I am ${one}`)) ?? 'root';
      const lines = parts[name] ?? [];
      const line = lines[Math.min(at.get(name) ?? 0, lines.length - 1)] ?? { text: 'nothing' };
      at.set(name, (at.get(name) ?? 0) + 1);
      return typeof line === 'function' ? line(request) : said(line);
    },
  ];
};

async function* said({
  text = '',
  toolCalls = [],
  usage = usageOf(10, 5),
}: Exclude<Line, (...args: never[]) => unknown>): AsyncGenerator<ModelEvent> {
  yield { kind: 'reply', text, toolCalls, usage, finish: 'stop' };
}

const offered = (request: ModelRequest | undefined): readonly string[] => request?.tools.map(({ alias }) => alias) ?? [];
const of = (requests: readonly ModelRequest[], name: string): ModelRequest | undefined =>
  requests.find(({ system }) => system.includes(name));

test('another agent runs a task as a child of this one, and its answer comes back; the entries contain the chain', async () => {
  const running = await startRunning({
    state: { agents: [boss(), child('helper')] },
    lines: cast({
      root: [{ toolCalls: [callOf('agents.helper', { task: 'look' })] }, { text: 'told' }],
      helper: [{ toolCalls: [callOf('box.one', { n: 1 })] }, { text: 'found' }],
    }),
  });
  const { id, end, kinds } = await running.run();
  expect(end.data).toMatchObject({ output: 'told', stopReason: 'goal_complete', usage: { toolCallCount: 1, promptTokens: 20 } });
  expect(kinds).toEqual(['tool_calls', 'governance', 'tool_result', 'done']);
  expect(of(running.model.requests, 'helper')?.messages).toEqual([{ role: 'user', text: 'look' }]);
  expect(running.model.requests.at(-1)?.messages.at(-1)).toMatchObject({
    output: '{"output":"found","stopReason":"goal_complete","runId":"run-2"}',
  });
  const entries = await running.entries();
  expect(entries.map(({ hookEvent, tool, sub }) => `${hookEvent} ${tool} ${sub}`)).toEqual([
    'PreToolUse agents.helper ann',
    `PreToolUse box.one agent:${child('helper').id}`,
    `PostToolUse box.one agent:${child('helper').id}`,
    'PostToolUse agents.helper ann',
  ]);
  expect(entries[1]).toMatchObject({
    agentTier: 'subagent',
    originSub: 'ann',
    userEmail: 'ann@acme.test',
    depth: 1,
    chain: ['root', 'helper'],
    runChain: [id, 'run-2'],
    parentProfileId: someAgent().id,
    sessionId: id,
  });
  expect(entries[1]).not.toHaveProperty('chainClaimed');
  expect(running.books.runs.get('run-2')).toMatchObject({
    parentRunId: id,
    sub: 'ann',
    agentName: 'helper',
    end: { status: 'completed', output: 'found' },
  });
});

test('the root pays for all runs below it, and its budget bounds them', async () => {
  const running = await startRunning({
    state: { agents: [boss({ maxBudgetCents: 2 }), child('helper', { maxBudgetCents: 1_000, maxToolRounds: 1_000 })] },
    lines: cast({
      root: [{ toolCalls: [callOf('agents.helper', { task: 'spend' })] }, { text: 'told' }],
      helper: [{ text: 'more', toolCalls: [callOf('box.one')], usage: usageOf(2_000, 100) }],
    }),
  });
  // The input is long enough that what the child leaves over pays for no further call of the root.
  const { end } = await running.run({ input: 'x'.repeat(3_000) });
  expect(end.data).toMatchObject({ stopReason: 'max_budget' });
  expect(running.books.runs.get('run-2')).toMatchObject({ end: { stopReason: 'max_budget', output: 'more' } });
  const spent = running.books.runs.get('run-1')?.spent ?? 0;
  expect(spent).toBeLessThanOrEqual(2_000_000);
  expect(spent).toBeGreaterThan(1_500_000);
  expect(end.data).toMatchObject({ usage: { estimatedCostCents: spent / 1e6 } });
});

test('a run is offered one tool for each agent that it may delegate to', async () => {
  const agents = [
    boss(),
    child('helper', { description: 'helps' }),
    child('hermit', { delegatable: false }),
    child('ill', { suspended: true }),
    child('twin'),
    child('twin2', { name: 'twin' }),
    child('long', { name: 'x'.repeat(200) }),
  ];
  const running = await startRunning({ state: { agents } });
  await running.run();
  const ids = ['twin', 'twin2', 'long'].map((name) => `agents__${name.padEnd(20, '0')}`);
  expect(offered(running.model.requests[0]).filter((alias) => alias.startsWith('agents'))).toEqual(['agents__helper', ...ids]);
  expect(running.model.requests[0]?.tools.find(({ alias }) => alias === 'agents__helper')?.description).toContain('Its description: helps');

  const none = await startRunning({ state: { agents: [someAgent(), child('helper')] } });
  await none.run();
  expect(offered(none.model.requests[0])).toEqual(['box__one', 'box__two']);
  const denied = await startRunning({
    state: {
      agents: [boss(), child('helper')],
      documents: [{ id: { layer: 'workspace' }, document: { tools: { 'agents.*': { api: { permission: 'deny' } } } } }],
    },
  });
  await denied.run();
  expect(offered(denied.model.requests[0])).toEqual(['box__one', 'box__two']);
});

test('a tool server with the name of the agent tools replaces none of them', async () => {
  const toolbox = createTestToolbox(undefined, [someTool('agents.helper'), someTool('box.one')]);
  const running = await startRunning({
    toolbox,
    state: { agents: [boss(), child('helper')] },
    lines: cast({ root: [{ toolCalls: [callOf('agents.helper', { task: 'x' })] }, { text: 'told' }], helper: [{ text: 'I did' }] }),
  });
  await running.run();
  expect(toolbox.seen).toEqual([]);
  expect(offered(running.model.requests[0])).toEqual(['box__one', 'agents__helper']);
});

test('no agent receives a task twice in a chain, or deeper than any agent of the chain allows', async () => {
  const agents = [
    boss({ maxDelegationDepth: 2 }),
    child('one', { canDelegate: true }),
    child('two', { canDelegate: true }),
    child('three'),
  ];
  const pass = (to: string): readonly Line[] => [{ toolCalls: [callOf(`agents.${to}`, { task: 'go' })] }, { text: 'back' }];
  const running = await startRunning({
    state: { agents },
    lines: cast({
      root: pass('one'),
      one: pass('two'),
      two: [{ toolCalls: [callOf('agents.three', { task: 'go' }), callOf('agents.one', { task: 'go' })] }, { text: 'end' }],
    }),
  });
  expect((await running.run()).end.data).toMatchObject({ stopReason: 'goal_complete', output: 'back' });
  const others = (name: string): readonly string[] =>
    offered(of(running.model.requests, `I am ${name}`)).filter((alias) => alias.startsWith('agents'));
  expect([others('one'), others('two'), of(running.model.requests, 'I am three')]).toEqual([
    ['agents__two', 'agents__three'],
    [],
    undefined,
  ]);
  const refused = (await running.entries()).filter(({ decision }) => decision === 'deny');
  expect(refused.map(({ tool, code, depth }) => [tool, code, depth])).toEqual([
    ['agents.three', 'delegation_denied', 2],
    ['agents.one', 'delegation_denied', 2],
  ]);
  const told = running.model.requests
    .filter(({ system }) => system.includes('I am two'))
    .at(-1)
    ?.messages.slice(-2);
  expect(told).toMatchObject([
    { output: expect.stringMatching(/delegation_denied: .*allows at most 2 hops below it, but the chain has 3/) },
    { output: expect.stringMatching(/delegation_denied: .*allows at most 2 hops below it, but the chain has 3/) },
  ]);
});

test('an agent that calls itself, or one above it, is rejected as a cycle, and a missing agent as a malformed call', async () => {
  const running = await startRunning({
    state: { agents: [boss(), child('one', { canDelegate: true })] },
    lines: cast({
      root: [{ toolCalls: [callOf('agents.one', { task: 'go' })] }, { text: 'back' }],
      one: [{ toolCalls: ['one', 'root', 'ghost'].map((name) => callOf(`agents.${name}`, { task: 'go' })) }, { text: 'end' }],
    }),
  });
  await running.run();
  const refused = (await running.entries()).filter(({ decision }) => decision === 'deny');
  expect(refused.map(({ tool, code }) => [tool, code])).toEqual([
    ['agents.one', 'delegation_denied'],
    ['agents.root', 'delegation_denied'],
    ['agents.ghost', 'call_malformed'],
  ]);
});

test('a child has the tools and scopes that its whole chain has, and of the scopes only those that are delegated', async () => {
  const servers = [
    workspaceServer({
      name: 'box',
      definition: 'box',
      tools: [
        { name: 'one', requiredScopes: ['read'] },
        { name: 'two', requiredScopes: ['write'] },
      ],
    }),
  ];
  const agents = [
    boss({ scopes: ['read', 'write'], enabledTools: ['box.*'] }),
    child('helper', { scopes: ['read', 'write', 'more'], enabledTools: ['box.one', 'box.two', 'mail.send'] }),
  ];
  const toolbox = createTestToolbox(undefined, [someTool('box.one'), someTool('box.two'), someTool('mail.send')]);
  const offers = async (input: object): Promise<readonly string[]> => {
    const running = await startRunning({
      toolbox,
      state: { agents, servers },
      lines: cast({
        root: [{ toolCalls: [callOf('agents.helper', { task: 'x', ...input })] }, { text: 'told' }],
        helper: [{ text: 'ok' }],
      }),
    });
    await running.run();
    return offered(of(running.model.requests, 'I am helper'));
  };
  expect(await offers({})).toEqual(['box__one', 'box__two']);
  expect(await offers({ scopes: ['read', 'more'] })).toEqual(['box__one']);
  expect(await offers({ scopes: [] })).toEqual([]);
});

test('the end of the parent ends the child, and is reported after it', async () => {
  let asked = (): void => {};
  const childAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const running = await startRunning({
    state: { agents: [boss({ maxDurationMs: 60_000 }), child('helper')] },
    lines: cast({
      root: [{ toolCalls: [callOf('agents.helper', { task: 'x' })] }],
      helper: [
        async function* () {
          asked();
          yield await new Promise<never>(() => undefined);
        },
      ],
    }),
  });
  const ran = running.run();
  await childAsked;
  running.clock.advance(60_000);
  const { end } = await ran;
  expect(end.data).toMatchObject({ stopReason: 'max_duration' });
  expect(running.books.runs.get('run-2')?.end).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' });
  const { spent = 0, reserved } = running.books.runs.get('run-1') ?? {};
  expect([end.data, reserved]).toMatchObject([{ usage: { estimatedCostCents: spent / 1e6 } }, 0]);
});

test('a child that is cancelled, or whose provider fails, ends alone, and the parent is notified', async () => {
  const running = await startRunning({
    state: { agents: [boss(), child('helper', { model: 'unknown' }), child('other')] },
    lines: cast({
      root: [{ toolCalls: [callOf('agents.helper', { task: 'x' }), callOf('agents.other', { task: 'x' })] }, { text: 'told' }],
      other: [
        () => {
          running.halt('run-2', 'cancelled');
          return said({ text: 'never heard' });
        },
      ],
    }),
  });
  const { end, events } = await running.run();
  expect(end.data).toMatchObject({ output: 'told', stopReason: 'goal_complete' });
  const results = events.flatMap((event) => (event.kind === 'tool_result' ? [[event.data.isError, event.data.output]] : []));
  const refusal = 'delegation_denied: the agent cannot run: the model unknown is not known';
  expect(results).toContainEqual([true, expect.stringContaining(refusal)]);
  expect(results).toContainEqual([false, { output: '', stopReason: 'cancelled', runId: 'run-2' }]);
});

test('a chain can be 16 hops deep, and not deeper', async () => {
  const names = Array.from({ length: 18 }, (_, n) => `a${String(n).padStart(2, '0')}`);
  const agents = [boss(), ...names.map((name) => child(name, { canDelegate: true }))];
  const pass = (to: string): readonly Line[] => [{ toolCalls: [callOf(`agents.${to}`, { task: 'go' })] }, { text: 'back' }];
  const parts = Object.fromEntries(names.map((name, n) => [name, pass(names[n + 1] ?? '')]));
  const running = await startRunning({ state: { agents }, lines: cast({ root: pass('a00'), ...parts }) });
  await running.run();
  expect(running.books.runs.size).toBe(17);
  expect(Math.max(...(await running.entries()).map(({ depth }) => depth))).toBe(16);
});

describe('child runs', () => {
  const calls = (tasks: number) => ({ toolCalls: Array.from({ length: tasks }, () => callOf('agents.helper', { task: 'wait' })) });
  /**
   * The children wait for each other until the maximum number is running. In a second round the same number runs
   * again.
   */
  const handing = async (tasks: number, fitting: number, below?: { readonly each: number; readonly all: number }) => {
    let there = 0;
    let open = (): void => {};
    const all = new Promise<void>((resolve) => {
      open = resolve;
    });
    const running = await startRunning({
      ...(below === undefined ? {} : { below }),
      state: { agents: [boss({ maxToolCalls: 1_000 }), child('helper')] },
      lines: cast({
        root: [calls(tasks), calls(fitting), { text: 'told' }],
        helper: [
          async function* () {
            there += 1;
            if (there === fitting) open();
            await all;
            yield* said({ text: 'done' });
          },
        ],
      }),
    });
    const { end, events } = await running.run();
    expect(end.data).toMatchObject({ output: 'told' });
    const results = events.flatMap((event) => (event.kind === 'tool_result' ? [event.data] : []));
    expect([results.length, running.books.runs.size]).toEqual([tasks + fitting, 1 + 2 * fitting]);
    return results.flatMap(({ isError, output }) => (isError ? [output] : []));
  };

  test('are at most 64 at once below one run, and a further call fails with an explanation', async () => {
    const words = 'The task was not started: 64 agents already work for this run. Delegate it again when one of them has answered.';
    expect(await handing(66, 64)).toEqual([words, words]);
  });

  test('are bounded for the whole process, and one that ends frees its place', async () => {
    expect(await handing(3, 2, { each: 64, all: 2 })).toEqual([
      'The task was not started: too many agents work in this control plane. Delegate it again later.',
    ]);
  });
});

test('an input that is not a task is rejected, whatever the schema accepted', async () => {
  const tools = agentTools(
    { governed: { mayDelegateTo: () => true, chainProblem: () => null }, modelProblem: () => null },
    someState().agents,
    () => Promise.resolve({ output: 'ran', isError: false }),
  );
  const context = { signal: new AbortController().signal, trace: {} };
  for (const input of [null, {}, { task: 1 }, { task: ' \n' }, { task: 'x', scopes: 'all' }, { task: 'x', scopes: [1] }]) {
    expect((await tools.call('agents.root', input, context)).isError).toBe(true);
  }
  expect(await tools.call('agents.root', { task: 'x', scopes: ['a'] }, context)).toEqual({ output: 'ran', isError: false });
  expect((await tools.call('agents.ghost', { task: 'x' }, context)).isError).toBe(true);
});

test('a task of blanks is not delegated', async () => {
  const running = await startRunning({
    state: { agents: [boss(), child('helper')] },
    argumentsProblem: createArgumentsProblem(createSchemaProblem()),
    lines: cast({ root: [{ toolCalls: [callOf('agents.helper', { task: ' \n\t' })] }, { text: 'told' }] }),
  });
  await running.run();
  expect([...running.books.runs.keys()]).toEqual(['run-1']);
  const heard = running.model.requests.at(-1)?.messages.at(-1);
  expect(heard).toMatchObject({ isError: true, output: expect.stringContaining('task must match pattern') });
});

test('an agent whose model cannot run here is not offered as a tool', async () => {
  const agents = [boss(), child('helper'), child('lost', { model: 'gone/model' })];
  const running = await startRunning({ state: { agents }, lines: [{ text: 'done' }] });
  await running.run();
  expect(offered(running.model.requests[0])).toEqual(['box__one', 'box__two', 'agents__helper']);
});
