// Agents whose model and tools answer when a test permits it, behind real HTTP, so that a control plane can be killed
// in the middle of a model call or of a tool call. Also checks what such a run must have recorded.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import type { ClientConfig } from 'pg';
import { expect } from 'vitest';
import { eventsOf, type SentEvent } from '../../cli/api/streams.ts';
import { withClient } from '../support/database.ts';
import { startFakeServer, tool } from '../support/mcp-servers.ts';
import { type Answer, ask, type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';

export const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const dailyCapCents = 100;

export type Lab = Awaited<ReturnType<typeof startLab>>;

/** The gate is open until it is shut. */
function createGate() {
  let way = Promise.resolve();
  let open = (): void => {};
  let passed = 0;
  let held = 0;
  return {
    /** The total number of calls that arrived at it. */
    get passed() {
      return passed;
    },
    shut: (): void => {
      way = new Promise((resolve) => {
        open = resolve;
      });
    },
    open: (): void => open(),
    pass: async (): Promise<void> => {
      passed += 1;
      held += 1;
      await way;
      held -= 1;
    },
    /** Resolves once this many calls wait at it. */
    holds: (wanted: number): Promise<unknown> =>
      eventually(
        async () => held,
        (now) => now === wanted,
      ),
  };
}

/** In the first round the model calls the tools that the input names, in parallel; then it says that it is done. */
export async function startLab() {
  const folders: string[] = [];
  const planes: ControlPlane[] = [];
  const model = createGate();
  const slow = createGate();
  const mock = new LLMock({ port: 0 });
  await mock.start();
  // 0.2 cents per call, at the prices below.
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
  mock.addFixture({
    match: { predicate: ({ messages }) => messages.at(-1)?.role === 'user' },
    response: async ({ messages }) => {
      await model.pass();
      const content = messages.at(-1)?.content;
      const names = typeof content === 'string' ? content.split(' ') : [];
      return { toolCalls: names.map((name) => ({ name: `box__${name}`, arguments: '{}' })), usage };
    },
  });
  mock.addFixture({
    match: { predicate: ({ messages }) => messages.at(-1)?.role === 'tool' },
    response: async () => {
      await model.pass();
      return { content: 'all done', usage };
    },
  });
  const box = await startFakeServer();
  box.pages = [[tool('quick'), tool('slow')]];
  box.instead = ({ rpc: { id, method, params } }, response) => {
    if (method !== 'tools/call') return false;
    const say = (text: string): void => {
      const result = { content: [{ type: 'text', text }] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    if (params?.name === 'slow') void slow.pass().then(() => say('slow at last'));
    else say('quick');
    return true;
  };
  const models = [{ name: 'm', inputCentsPerMillionTokens: 100, outputCentsPerMillionTokens: 1_000 }];

  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), 'tollgate-lab-'));
    folders.push(made);
    return made;
  };
  return {
    model,
    slow,
    folder,
    startPlane: async (dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<ControlPlane> => {
      const plane = await startControlPlane({
        TOLLGATE_OWNER_KEY: ownerKey,
        TOLLGATE_DATA_DIR: dataDir,
        TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
        TOLLGATE_MODEL_ENDPOINTS: JSON.stringify([{ provider: 'fake', baseUrl: `${mock.url}/v1`, models }]),
        TOLLGATE_DAILY_CAP_CENTS: String(dailyCapCents),
        ...env,
      });
      planes.push(plane);
      return plane;
    },
    /** Registers the tools and an agent that may call them; returns its id. */
    prepareRuns: async (plane: ControlPlane): Promise<string> => {
      await done(ask(`${plane.rest}/default/admin/toolServers`, ownerKey, { body: { name: 'box', url: box.url } }));
      const agent = { name: 'bot', model: 'fake/m', enabledTools: ['box.*'], maxBudgetCents: 10, maxToolCalls: 10, maxDurationMs: 120_000 };
      return String((await done(ask(`${plane.rest}/api/v1/agents`, ownerKey, { body: agent }))).body['id']);
    },
    close: async () => {
      model.open();
      slow.open();
      await Promise.all(planes.map((plane) => plane.end('SIGKILL')));
      await box.close();
      await mock.stop();
      for (const each of folders) rmSync(each, { recursive: true, force: true });
    },
  };
}

async function done(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

export type WatchedRun = Awaited<ReturnType<typeof watchRun>>;

/** Starts a streamed run, and keeps its events. */
export async function watchRun(plane: ControlPlane, agentId: string, input: string) {
  const response = await fetch(`${plane.rest}/api/v1/agents/${agentId}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ownerKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input, stream: true }),
  });
  if (!response.ok || response.body === null) throw new Error(`the run was answered ${response.status}: ${await response.text()}`);
  const told: SentEvent[] = [];
  const pump = async (body: AsyncIterable<string>): Promise<'ended' | 'cut'> => {
    try {
      for await (const event of eventsOf(body)) told.push(event);
      return 'ended';
    } catch {
      return 'cut';
    }
  };
  const over = pump(response.body.pipeThrough(new TextDecoderStream()));
  const first = await eventually(
    async () => told[0],
    (event) => event !== undefined,
  );
  return {
    id: /^run (.+)$/.exec(first?.comment ?? '')?.[1] ?? '',
    told,
    kinds: (): readonly string[] => told.filter(({ data }) => data !== null).map(({ event }) => event),
    /** Resolves with the data of the first event of that kind, of that tool. */
    hears: async (kind: string, toolName?: string): Promise<Readonly<Record<string, unknown>>> => {
      const isWanted = (event: SentEvent): boolean =>
        event.event === kind && (toolName === undefined || dataOf(event)['tool'] === toolName);
      const all = await eventually(
        async () => [...told],
        (events) => events.some(isWanted),
      );
      return all.filter(isWanted).map(dataOf)[0] ?? {};
    },
    /** How the connection ended. */
    over,
  };
}

const dataOf = ({ data }: SentEvent): Readonly<Record<string, unknown>> => JSON.parse(data ?? '{}') as Record<string, unknown>;

/** The run as it is stored. */
export async function readRun(plane: ControlPlane, id: string): Promise<Readonly<Record<string, unknown>>> {
  return (await done(ask(`${plane.rest}/api/v1/runs/${id}`, ownerKey))).body['run'] as Record<string, unknown>;
}

/** The entries of a run once there are `count` of them, sorted: `PreToolUse box.quick`. */
export async function readEntries(plane: ControlPlane, id: string, count: number): Promise<readonly string[]> {
  const { body } = await eventually(
    () => ask(`${plane.rest}/default/admin/audit?session=${id}&limit=100`, ownerKey),
    ({ body }) => (body['entries'] as readonly unknown[]).length >= count,
  );
  const entries = body['entries'] as readonly { readonly hookEvent: string; readonly tool: string }[];
  return entries.map(({ hookEvent, tool }) => `${hookEvent} ${tool}`).toSorted();
}

interface Money {
  /** The spend of today, in µ¢. */
  readonly settled: number;
  readonly reserved: number;
}

export async function readMoney(connection: ClientConfig): Promise<Money> {
  return withClient(connection, async (client) => {
    const { rows } = await client.query<Record<keyof Money, string>>(
      'select coalesce(sum(settled), 0) as settled, coalesce(sum(reserved), 0) as reserved from spend',
    );
    return { settled: Number(rows[0]?.settled), reserved: Number(rows[0]?.reserved) };
  });
}

/** No amount is reserved any more, the costs of the runs add up to the day's spend, and neither exceeded its cap. */
export async function expectSettled(connection: ClientConfig, capCents = dailyCapCents): Promise<void> {
  await withClient(connection, async (client) => {
    expect((await client.query('select * from spend_reservation')).rows).toEqual([]);
    const { rows } = await client.query<{ id: string }>("select id from run where reserved > 0 or spent > budget or status = 'running'");
    expect(rows).toEqual([]);
    const sums = await client.query('select (select sum(settled) from spend)::text as days, (select sum(spent) from run)::text as runs');
    expect(sums.rows[0]?.days).toBe(sums.rows[0]?.runs);
  });
  const { settled, reserved } = await readMoney(connection);
  expect(reserved).toBe(0);
  expect(settled).toBeLessThanOrEqual(capCents * 1_000_000);
}

/** No entry exists twice, and none is missing between others. */
export async function expectOnce(connection: ClientConfig): Promise<void> {
  await withClient(connection, async (client) => {
    const twice = `select entry->>'requestId' as id, entry->>'hookEvent' as event from audit_entry group by 1, 2 having count(*) > 1`;
    expect((await client.query(twice)).rows).toEqual([]);
    expect((await client.query('select * from audit_gap')).rows).toEqual([]);
  });
}
