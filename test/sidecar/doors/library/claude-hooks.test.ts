// The hooks for the Claude Agent SDK, called as the SDK calls them. test/frameworks calls them through the SDK.
import { expect, test } from 'vitest';
import type { ClaudeAnswer, ClaudeHook, ClaudeHooks } from '../../../../sidecar/doors/library/claude-hooks.ts';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { document, type World } from '../../../support/snapshots.ts';

const tiers = ['interactive', 'subagent'] as const;
const world: World = {
  agents: [],
  documents: [
    document({
      tools: [
        ['github.delete_repo', tiers.map((tier) => [tier, { permission: 'deny' }] as const)],
        ['Read', tiers.map((tier) => [tier, { transform: 'redact' }] as const)],
      ],
    }),
  ],
};
const mail = 'bob@acme-mail.eu';
const denial = (reason: unknown) => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
});

async function start(durability: 'kernel' | 'disk' = 'kernel'): Promise<{ sidecar: TestSidecar; run: Run; hooks: ClaudeHooks }> {
  const sidecar = await createTestSidecar({ world, durability });
  const run = startRun(sidecar, { agent: 'assistant', tier: 'interactive' });
  return { sidecar, run, hooks: run.claudeHooks() };
}

const hookOf = (hooks: ClaudeHooks, event: keyof ClaudeHooks): ClaudeHook => hooks[event][0]?.hooks[0] ?? expect.fail();

const fire = (hooks: ClaudeHooks, event: keyof ClaudeHooks, fields: object, signal = new AbortController().signal): Promise<ClaudeAnswer> =>
  hookOf(hooks, event)({ session_id: 's', hook_event_name: event, tool_use_id: 't1', ...fields }, 't1', { signal });

const calling = (tool_name: string, tool_input: object) => ({ tool_name, tool_input });

test('a denied call is refused, under the name that policy has for it', async () => {
  const { sidecar, hooks } = await start();
  expect(await fire(hooks, 'PreToolUse', calling('mcp__github__delete_repo', { repo: 'web' }))).toEqual(
    denial(expect.stringMatching(/^The call of "github\.delete_repo" was not permitted: policy_denied/)),
  );
  expect(await sidecar.entries()).toMatchObject([{ tool: 'github.delete_repo', code: 'policy_denied' }]);
});

test('a permitted call keeps the permissions of the SDK; input and output are redacted', async () => {
  const { sidecar, hooks } = await start();
  expect(await fire(hooks, 'PreToolUse', calling('Glob', { pattern: '*' }))).toEqual({});
  const read = calling('Read', { file_path: mail });
  expect(await fire(hooks, 'PreToolUse', { ...read, tool_use_id: 't2' })).toEqual({
    hookSpecificOutput: { hookEventName: 'PreToolUse', updatedInput: { file_path: '[redacted:email#1]' } },
  });
  const response = { type: 'text', file: { content: `to ${mail}`, numLines: 1 } };
  expect(await fire(hooks, 'PostToolUse', { ...read, tool_use_id: 't2', tool_response: response })).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PostToolUse',
      updatedToolOutput: { type: 'text', file: { content: 'to [redacted:email#1]', numLines: 1 } },
    },
  });
  expect(await fire(hooks, 'PostToolUse', { ...calling('Glob', { pattern: '*' }), tool_response: [mail] })).toEqual({});
  expect((await sidecar.entries()).map(({ hookEvent, tool }) => [hookEvent, tool])).toEqual([
    ['PreToolUse', 'Glob'],
    ['PreToolUse', 'Read'],
    ['PostToolUse', 'Read'],
    ['PostToolUse', 'Glob'],
  ]);
});

test('an output whose call was not decided here is withheld, in its shape', async () => {
  const { hooks } = await start();
  const answer = await fire(hooks, 'PostToolUse', { ...calling('Read', {}), tool_response: { type: 'text', file: { content: mail } } });
  expect(answer).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PostToolUse',
      updatedToolOutput: { type: 'text', file: { content: 'The output is withheld: the call was not decided here.' } },
    },
  });
});

test('a call that failed is recorded; the SDK shows its error whatever the answer is', async () => {
  const { sidecar, hooks } = await start();
  await fire(hooks, 'PreToolUse', calling('Read', { file_path: 'a' }));
  expect(await fire(hooks, 'PostToolUseFailure', { ...calling('Read', { file_path: 'a' }), error: `no file for ${mail}` })).toEqual({});
  expect((await sidecar.entries())[1]).toMatchObject({
    outcome: { isError: true, action: 'pass' },
    findings: [{ kind: 'email', count: 1 }],
  });
});

test.each(['kernel', 'disk'] as const)('where a call cannot be recorded, it is refused (%s)', async (durability) => {
  const { sidecar, hooks } = await start(durability);
  for (const fault of ['full', 'bug'] as const) {
    sidecar.spoolFault = fault;
    expect(await fire(hooks, 'PreToolUse', calling('Glob', {}))).toEqual(denial(expect.stringMatching(/was not (?:permitted|made)/)));
  }
});

test.each([
  ['nothing', {}],
  ['no name of the tool', { tool_input: {} }],
  ['no id of the call', { ...calling('Glob', {}), tool_use_id: undefined }],
  ['an input that is no object', calling('Glob', [])],
])('an event that cannot be read is refused: %s', async (_what, fields) => {
  const { hooks } = await start();
  expect(await fire(hooks, 'PreToolUse', fields)).toEqual(denial(expect.stringMatching(/not made/)));
});

test('an input whose reading throws is refused, not thrown', async () => {
  const { hooks } = await start();
  const input = {
    get tool_name(): string {
      throw new Error('gone');
    },
  };
  expect(await hookOf(hooks, 'PreToolUse')(input, 't1', { signal: new AbortController().signal })).toEqual(
    denial('The call was not made: it could not be decided.'),
  );
});

test('an aborted call is refused', async () => {
  const { hooks } = await start();
  expect(await fire(hooks, 'PreToolUse', calling('Glob', {}), AbortSignal.abort())).toEqual(denial(expect.stringContaining('caller_gone')));
});

test("a subagent's calls are made by a delegated run, one for each subagent", async () => {
  const { sidecar, hooks } = await start();
  const by = (agent_id: string, tool_use_id: string) => ({ ...calling('Glob', {}), agent_id, agent_type: 'clerk', tool_use_id });
  await fire(hooks, 'PreToolUse', by('a1', 't1'));
  await fire(hooks, 'PreToolUse', by('a1', 't2'));
  await fire(hooks, 'PreToolUse', by('a2', 't3'));
  await fire(hooks, 'SubagentStop', { agent_id: 'a1', agent_type: 'clerk' });
  await fire(hooks, 'PreToolUse', by('a1', 't4'));
  const entries = await sidecar.entries();
  expect(entries).toMatchObject(entries.map(() => ({ agentName: 'clerk', agentTier: 'subagent', depth: 1 })));
  expect(new Set(entries.map(({ sessionId }) => sessionId)).size).toBe(3);
});

test("the SDK's own limit is longer than the wait of a call, and a failure blocks", async () => {
  const { run } = await start();
  for (const [waitMs, timeout] of [
    [undefined, 660],
    [1_500, 62],
    [0, 60],
  ] as const)
    expect(run.claudeHooks(waitMs === undefined ? {} : { waitMs }).PreToolUse).toEqual([
      { hooks: [expect.any(Function)], timeout, onFailure: 'block' },
    ]);
  for (const waitMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) expect(() => run.claudeHooks({ waitMs })).toThrow(TypeError);
});
