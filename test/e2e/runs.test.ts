// Runs agents as the README says: `npm start` on a fresh folder, `curl -N` of a streamed run, a real MCP server, and
// the models of two providers behind the variables of the README, simulated by aimock.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsOf, type SentEvent } from '../../cli/api/streams.ts';
import { environment } from '../support/environment.ts';
import { ask, type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const everything = 'node_modules/.bin/mcp-server-everything';

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const variables = (): Readonly<Record<string, string>> => ({
  TOLLGATE_OWNER_KEY: ownerKey,
  TOLLGATE_DATA_DIR: dataDir,
  TOLLGATE_TOOL_COMMANDS: everything,
});

async function prepareRuns(rest: string, agent: object): Promise<string> {
  await ask(`${rest}/default/admin/toolServers`, ownerKey, { body: { name: 'every', command: [everything] } });
  const { status, body } = await ask(`${rest}/api/v1/agents`, ownerKey, { body: { enabledTools: ['every.*'], ...agent } });
  expect({ status, body }).toMatchObject({ status: 200 });
  return String(body['id']);
}

/** `curl -N` of a streamed run, as a user types it; its output so far is in `told`. */
function curl(rest: string, agentId: string, input: string) {
  const body = JSON.stringify({ input, stream: true });
  const headers = ['-H', `Authorization: Bearer ${ownerKey}`, '-H', 'Content-Type: application/json'];
  const child = spawn('curl', ['-sS', '-N', ...headers, `${rest}/api/v1/agents/${agentId}/run`, '-d', body], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const told: SentEvent[] = [];
  const over = (async (): Promise<number | null> => {
    const exited = once(child, 'exit');
    for await (const event of eventsOf(child.stdout.setEncoding('utf8'))) told.push(event);
    await exited;
    return child.exitCode;
  })();
  return { told, over };
}

const kindsOf = (told: readonly SentEvent[]): readonly string[] => told.filter(({ data }) => data !== null).map(({ event }) => event);
const ofKind = (told: readonly SentEvent[], kind: string): readonly unknown[] =>
  told.filter(({ event }) => event === kind).map(({ data }) => JSON.parse(data ?? 'null') as unknown);

interface Entry {
  readonly hookEvent: string;
  readonly tool: string;
}

async function entriesOf(rest: string, session: string): Promise<readonly Entry[]> {
  const { body } = await eventually(
    () => ask(`${rest}/default/admin/audit?session=${session}`, ownerKey),
    ({ body }) => Array.isArray(body['entries']) && body['entries'].some(({ hookEvent }) => hookEvent === 'PostToolUse'),
  );
  return body['entries'] as readonly Entry[];
}

/** Resolves once its output contains the text. */
async function printed(program: ChildProcess, text: RegExp): Promise<string> {
  let output = '';
  for await (const piece of program.stdout?.setEncoding('utf8') ?? []) {
    output += String(piece);
    const [, found] = text.exec(output) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`it ended without: ${output}`);
}

test('npm start on a fresh folder, and curl -N of a run of demo/echo that calls a real MCP server; Ctrl-C lets a run finish', async () => {
  // Its own process group, as a terminal makes it: Ctrl-C reaches all of it.
  const npm = spawn('npm', ['start'], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environment({ TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', TOLLGATE_LOG_LEVEL: 'warn', ...variables() }),
  });
  const exited = once(npm, 'exit');
  try {
    const rest = await printed(npm, /REST +(\S+)\n/);
    const id = await prepareRuns(rest, { name: 'sums', model: 'demo/echo' });
    const run = curl(rest, id, 'call every.get-sum {"a": 2, "b": 3}');
    expect(await run.over).toBe(0);
    const [first] = run.told;
    const runId = /^run (.+)$/.exec(first?.comment ?? '')?.[1] ?? '';
    expect([...new Set(kindsOf(run.told))]).toEqual(['tool_calls', 'governance', 'tool_result', 'text', 'done']);
    expect(ofKind(run.told, 'governance')).toMatchObject([{ tool: 'every.get-sum', decision: 'allow' }]);
    expect(ofKind(run.told, 'tool_result')).toMatchObject([{ tool: 'every.get-sum', isError: false, output: 'The sum of 2 and 3 is 5.' }]);
    expect(ofKind(run.told, 'done')).toMatchObject([{ id: runId, stopReason: 'goal_complete', usage: { toolCallCount: 1 } }]);
    expect((await entriesOf(rest, runId)).map(({ hookEvent, tool }) => `${hookEvent} ${tool}`).toSorted()).toEqual([
      'PostToolUse every.get-sum',
      'PreToolUse every.get-sum',
    ]);

    const slow = curl(
      rest,
      id,
      'call every.trigger-long-running-operation {"duration": 2, "steps": 1}\nthen\ncall every.echo {"message": "still here"}',
    );
    await eventually(
      async () => kindsOf(slow.told),
      (kinds) => kinds.includes('governance'),
    );
    process.kill(-(npm.pid ?? 0), 'SIGINT');
    expect(await slow.over).toBe(0);
    // The tool server has not received the interrupt.
    expect(ofKind(slow.told, 'tool_result')).toMatchObject([
      { tool: 'every.trigger-long-running-operation', isError: false },
      { tool: 'every.echo', isError: false },
    ]);
    expect(ofKind(slow.told, 'done')).toMatchObject([{ stopReason: 'goal_complete' }]);
    expect(await exited).toEqual([0, null]);
  } finally {
    if (npm.exitCode === null && npm.signalCode === null) {
      process.kill(-(npm.pid ?? 0), 'SIGKILL');
      await exited;
    }
  }
});

describe('a model of a provider', () => {
  const mock = new LLMock({ port: 0 });
  let plane: ControlPlane;
  beforeAll(async () => {
    await mock.start();
    plane = await startControlPlane({
      ...variables(),
      TOLLGATE_OPENAI_API_KEY: 'sk-openai',
      TOLLGATE_OPENAI_BASE_URL: `${mock.url}/v1`,
      TOLLGATE_ANTHROPIC_API_KEY: 'sk-anthropic',
      TOLLGATE_ANTHROPIC_BASE_URL: `${mock.url}/v1`,
      TOLLGATE_MODEL_ENDPOINTS: JSON.stringify([
        {
          provider: 'local',
          baseUrl: `${mock.url}/v1`,
          models: [{ name: 'llama', inputCentsPerMillionTokens: 10, outputCentsPerMillionTokens: 20 }],
        },
      ]),
    });
    mock.onMessage('add both', {
      toolCalls: [
        { name: 'every__get-sum', arguments: '{"a":1,"b":2}' },
        { name: 'every__get-sum', arguments: '{"a":3,"b":4}' },
        { name: 'every__get-sum', arguments: '{"a":"no number","b":4}' },
      ],
    });
    mock.prependFixture({ match: { predicate: ({ messages }) => messages.at(-1)?.role === 'tool' }, response: { content: '3 and 7' } });
  });
  afterAll(async () => {
    await plane?.end();
    await mock.stop();
  });

  test.each(['openai/gpt-5-mini', 'anthropic/claude-haiku-4-5', 'local/llama'])(
    '%s calls tools in parallel, receives each result, and is charged',
    async (model) => {
      const id = await prepareRuns(plane.rest, { name: model.replaceAll('/', '-'), model });
      const run = curl(plane.rest, id, 'add both');
      expect(await run.over).toBe(0);
      expect([...new Set(kindsOf(run.told))]).toEqual(['tool_calls', 'governance', 'tool_result', 'text', 'done']);
      expect(ofKind(run.told, 'tool_calls')).toMatchObject([{ round: 1, calls: [{}, {}, {}] }]);
      expect(ofKind(run.told, 'governance')).toMatchObject([
        { decision: 'allow' },
        { decision: 'allow' },
        { decision: 'deny', reason: expect.stringMatching(/^call_malformed: .*a must be number/) },
      ]);
      const outputs = ofKind(run.told, 'tool_result').map((result) => (result as { readonly output: string }).output);
      expect(outputs).toHaveLength(3);
      expect(outputs).toEqual(
        expect.arrayContaining(['The sum of 1 and 2 is 3.', 'The sum of 3 and 4 is 7.', expect.stringContaining('call_malformed')]),
      );
      expect(ofKind(run.told, 'done')).toMatchObject([
        { output: '3 and 7', stopReason: 'goal_complete', usage: { toolCallCount: 2, model } },
      ]);
      const [done] = ofKind(run.told, 'done') as readonly { readonly usage: { readonly estimatedCostCents: number } }[];
      expect(done?.usage.estimatedCostCents).toBeGreaterThan(0);
    },
  );
});
