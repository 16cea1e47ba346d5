// Runs over REST: started, streamed, listed, read and cancelled, with real policy, entries and costs behind them.

import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { utcDayOf } from '../../control-plane/runs/rules/day.ts';
import { type ModelRequest, type Models, ProviderFailed } from '../../control-plane/runs/model.ts';
import { createScriptedModel, type ScriptedReply } from '../support/scripted-model.ts';
import { errorOf, field } from './rest.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

/** The replies of a test's model, which depend on the whole conversation. */
let script: (request: ModelRequest, at: number) => ScriptedReply = () => ({ text: 'done' });
const echoed = (text: string) => ({ input: text });

let rest: RunsRest;
let models: Models;
beforeAll(async () => {
  models = { ...createScriptedModel((asked, at) => script(asked, at)), problem: problemOf };
  rest = await createRunsRest({ models, atOnce: 3 });
});
afterEach(() => {
  script = () => ({ text: 'done' });
});
afterAll(() => rest.close());

const priced = 'anthropic/claude-haiku-4-5';
const problemOf = (model: string): string | null =>
  model === 'demo/echo' || model === priced ? null : `the model ${model} is not recognized`;

/** Resolves once the run has these fields. */
const becomes = (agentId: string, fields: object): Promise<void> =>
  vi.waitFor(async () => expect((await rest.runsOf(agentId))[0]).toMatchObject(fields), { timeout: 10_000, interval: 50 });

const dataOf = (event: { readonly data: string | null } | undefined): unknown => JSON.parse(event?.data ?? 'null');

describe('a run', () => {
  test('answers its result, and is stored with its transcript', async () => {
    const id = await rest.createAgent({ name: 'whole' });
    const answer = await rest.run(id, { input: 'go', context: { user: 'ann' } });
    expect(answer.headers['x-tollgate-run-id']).toBe(field(answer, 'id'));
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'completed', output: 'done', stopReason: 'goal_complete', usage: { toolCallCount: 0, model: 'demo/echo' } },
    });
    const [run] = await rest.runsOf(id);
    expect(run).toMatchObject({ agentId: id, agentName: 'whole', sub: 'owner', status: 'completed', stopReason: 'goal_complete' });
    expect((await rest.ask('GET', `/api/v1/runs/${run?.id}`)).body).toMatchObject({
      ok: true,
      run: {
        id: run?.id,
        request: { input: 'go', context: { user: 'ann' } },
        output: 'done',
        transcript: [
          { role: 'user', text: 'go' },
          { role: 'assistant', text: 'done' },
        ],
      },
    });
  });

  test('may be started by a key that may write agents, and read by a key that may read them', async () => {
    const id = await rest.createAgent();
    const writer = await rest.keyOf('member', ['agents.write']);
    const reader = await rest.keyOf('member', ['agents.read']);
    expect((await rest.run(id, echoed('x'), writer)).status).toBe(200);
    expect((await rest.run(id, echoed('x'), reader)).status).toBe(403);
    const [run] = await rest.runsOf(id);
    expect(run).toMatchObject({ sub: 'member-1' });
    expect((await rest.ask('GET', `/api/v1/runs/${run?.id}`, { key: reader })).status).toBe(200);
    expect((await rest.ask('GET', `/api/v1/runs/${run?.id}`, { key: writer })).status).toBe(403);
    expect((await rest.ask('POST', `/api/v1/runs/${run?.id}/cancel`, { key: reader })).status).toBe(403);
    expect((await rest.run(id, echoed('x'), null as never)).status).toBe(401);
  });
});

describe('a refused start leaves no run', () => {
  test('an invalid request is refused, each problem with its place', async () => {
    const id = await rest.createAgent();
    const refused: readonly (readonly [unknown, string])[] = [
      [{}, 'input is required'],
      [{ input: '' }, 'input must not be blank'],
      [{ input: ' \n' }, 'input must not be blank'],
      [{ input: 3 }, 'input must be a string'],
      [{ input: 'x', context: [] }, 'context must be an object whose values are strings'],
      [{ input: 'x', context: { a: 1, 'b c': null } }, 'context["a"] must be a string; context["b c"] must be a string'],
      [{ input: 'x', stream: 'yes' }, 'stream must be true or false'],
      [{ context: 1, stream: null }, 'input is required; context must be an object whose values are strings; stream must be true or false'],
    ];
    for (const [body, error] of refused) {
      const answer = await rest.ask('POST', `/api/v1/agents/${id}/run`, { body });
      expect([answer.status, errorOf(answer)]).toEqual([400, error]);
      expect(answer.headers).not.toHaveProperty('x-tollgate-run-id');
    }
    expect((await rest.ask('POST', `/api/v1/agents/${id}/run`)).status).toBe(400);
    expect(await rest.runsOf(id)).toEqual([]);
  });

  test('an agent that is missing, of another workspace, suspended or frozen is refused; so is a model without a provider', async () => {
    const id = await rest.createAgent();
    const absent = await rest.run('A'.repeat(20), echoed('x'));
    expect(absent.status).toBe(404);
    const others = await rest.run(id, echoed('x'), rest.other);
    expect([others.status, others.body]).toEqual([404, absent.body]);
    const modelless = await rest.createAgent({ model: 'what/ever' });
    const unserved = await rest.run(modelless, { input: 'x', stream: true });
    expect([unserved.status, errorOf(unserved)]).toEqual([400, 'the model what/ever is not recognized']);
    const suspended = await rest.createAgent({ suspended: true });
    expect((await rest.run(suspended, echoed('x'))).status).toBe(403);
    await rest.ask('POST', '/acme/admin/freeze');
    expect((await rest.run(id, echoed('x'))).status).toBe(403);
    await rest.ask('POST', '/acme/admin/unfreeze');
    for (const one of [id, modelless, suspended]) expect(await rest.runsOf(one)).toEqual([]);
  });

  test('a user whose day is spent is refused until midnight, with a stream or without; a free model is not refused', async () => {
    const id = await rest.createAgent({ model: priced });
    const key = await rest.keyOf('member', ['agents.write'], 'spender');
    const { now } = rest.clock;
    await rest.pool.query(
      "insert into spend (workspace_id, sub, day, settled, reserved) select id, 'spender', $1, $2, 0 from workspace where slug = 'acme'",
      // One µ¢ is left.
      [utcDayOf(now), rest.deps.dailyCap - 1],
    );
    const free = await rest.createAgent();
    for (const spent of [rest.deps.dailyCap, rest.deps.dailyCap * 2]) {
      await rest.pool.query("update spend set settled = $1 where sub = 'spender'", [spent]);
      expect((await rest.run(free, echoed('x'), key)).status).toBe(200);
    }
    await rest.pool.query("update spend set settled = $1 where sub = 'spender'", [rest.deps.dailyCap - 1]);
    const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
    for (const stream of [false, true]) {
      const answer = await rest.run(id, { input: 'x', stream }, key);
      expect(answer.status).toBe(429);
      expect(Number(answer.headers['retry-after'])).toBe(Math.ceil((midnight - now.getTime()) / 1000));
    }
    expect(await rest.runsOf(id)).toEqual([]);
    expect((await rest.run(id, echoed('x'))).status).toBe(200);
    expect((await rest.run(free, echoed('x'), key)).status).toBe(200);
  });

  test('runs above the maximum of a workspace are refused; another workspace has its own maximum', async () => {
    script = () => ({ hangs: true });
    const id = await rest.createAgent();
    const streams = await Promise.all([1, 2, 3].map(() => rest.stream(id, echoed('x'))));
    const answer = await rest.run(id, echoed('x'));
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '5']);
    const elsewhere = await rest.ask('POST', '/api/v1/agents', { key: rest.other, body: { name: 'theirs', model: 'demo/echo' } });
    script = () => ({ text: 'done' });
    expect((await rest.run((elsewhere.body as { readonly id: string }).id, echoed('x'), rest.other)).status).toBe(200);
    for (const { leave } of streams) leave();
    await vi.waitFor(async () => expect((await rest.run(id, echoed('x'))).status).toBe(200), { timeout: 10_000 });
  });
});

describe('a stream', () => {
  test('sends each event on its own, numbered, the result last', async () => {
    script = ({ messages }) =>
      messages.length === 1 ? { text: 'I look', calls: [{ alias: 'box__none', arguments: '{"a":1}' }] } : { text: 'all done' };
    const id = await rest.createAgent();
    const { status, headers, id: runId, all } = await rest.stream(id, echoed('go'));
    expect(headers['x-tollgate-run-id']).toBe(runId);
    expect([status, headers['content-type'], headers['cache-control'], headers['x-accel-buffering']]).toEqual([
      200,
      'text/event-stream',
      'no-store',
      'no',
    ]);
    const events = await all();
    expect(events.map(({ event }) => event)).toEqual(['text', 'text', 'tool_calls', 'governance', 'tool_result', 'text', 'text', 'done']);
    expect(events.map((event) => event.id)).toEqual(events.map((_event, at) => String(at + 1)));
    expect(dataOf(events[2])).toMatchObject({ round: 1, calls: [{ tool: 'box.none', input: { a: 1 } }] });
    expect(dataOf(events[3])).toMatchObject({ tool: 'box.none', decision: 'deny', reason: expect.stringMatching(/^call_malformed: /) });
    expect(dataOf(events[4])).toMatchObject({ tool: 'box.none', isError: true });
    expect(dataOf(events.at(-1))).toMatchObject({ status: 'completed', output: 'all done', stopReason: 'goal_complete' });
    expect(dataOf(events.at(-1))).toMatchObject({ id: runId, conversationId: runId });
    expect(await rest.runsOf(id)).toMatchObject([{ id: runId }]);
  });

  test('is one line of data per event, whatever the text of the model', async () => {
    const awkward = 'a\r\nevent: done\ndata: {}\n\nid: 9\rb\u2028c\u2029d\u0085e\u0000f\u007f😀: g';
    script = () => ({ text: awkward });
    const id = await rest.createAgent();
    const answer = await request(`${rest.origin}/api/v1/agents/${id}/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'x', stream: true }),
    });
    const wire = await answer.body.text();
    const [first, ...blocks] = wire.split('\n\n').slice(0, -1);
    expect(first).toMatch(/^: run [A-Za-z0-9]{20}$/);
    expect(blocks.at(-1)).toMatch(/^event: done\n/);
    for (const block of blocks)
      expect(block).toMatch(/^event: (?:text|done)\nid: \d+\ndata: [^\r\n\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/);
    const said = blocks.slice(0, -1).map((block) => (JSON.parse(block.split('\ndata: ')[1] ?? '') as { delta: string }).delta);
    expect(said.join('')).toBe(awkward);
  });

  test('of a provider that fails ends with one error; the run is stored as failed, and answered with 502 without a stream', async () => {
    script = () => ({ text: 'I beg', fails: new ProviderFailed('it is overloaded', 529, true) });
    const id = await rest.createAgent();
    const events = await (await rest.stream(id, echoed('go'))).all();
    expect(events.map(({ event }) => event)).toEqual(['text', 'text', 'error']);
    expect(dataOf(events.at(-1))).toEqual({ error: 'the model provider failed: it is overloaded' });
    const answer = await rest.run(id, echoed('go'));
    expect([answer.status, answer.body]).toEqual([502, { error: 'the model provider failed: it is overloaded' }]);
    const runs = await rest.runsOf(id);
    expect(runs.map((run) => run.id)).toContain(answer.headers['x-tollgate-run-id']);
    expect(runs.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect((await rest.ask('GET', `/api/v1/runs/${runs[0]?.id}`)).body).toMatchObject({
      run: { error: 'the model provider failed: it is overloaded', output: 'I beg' },
    });
  });
});

describe('an internal error', () => {
  test('is not reported as an error of the provider: 500 or an error without its text, the run stored as failed, the details in the log', async () => {
    const id = await rest.createAgent();
    for (const [at, stream] of [false, true].entries()) {
      script = () => ({ text: 'so ', fails: new TypeError(`bug ${at} of ours`) });
      const logged = rest.lines.length;
      if (stream) {
        const events = await (await rest.stream(id, echoed('go'))).all();
        expect(events.at(-1)).toMatchObject({ event: 'error', data: '{"error":"internal error"}' });
      } else {
        const answer = await rest.run(id, echoed('go'));
        expect([answer.status, answer.body]).toEqual([500, { error: 'internal error' }]);
        expect(answer.headers).toHaveProperty('x-tollgate-run-id');
      }
      expect((await rest.runsOf(id))[0]).toMatchObject({ status: 'failed' });
      const said = rest.lines.slice(logged).map((line) => JSON.parse(line) as object);
      expect(said).toContainEqual(
        expect.objectContaining({
          level: 50,
          msg: 'a request failed because of an internal error',
          reason: `bug ${at} of ours`,
          route: '/api/v1/agents/:id/run',
        }),
      );
    }
  });
});

describe('a run ends', () => {
  test('when its client disconnects, with a stream or without', async () => {
    script = () => ({ text: 'well', hangs: true });
    const id = await rest.createAgent();
    const { next, leave } = await rest.stream(id, echoed('x'));
    expect((await next())?.event).toBe('text');
    leave();
    await becomes(id, { status: 'cancelled', stopReason: 'cancelled' });

    const other = await rest.createAgent();
    const gone = new AbortController();
    const waiting = request(`${rest.origin}/api/v1/agents/${other}/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json' },
      body: JSON.stringify(echoed('x')),
      signal: gone.signal,
    });
    await becomes(other, { status: 'running' });
    gone.abort();
    await expect(waiting).rejects.toThrow();
    await becomes(other, { status: 'cancelled' });
  });

  test('when a caller cancels it, and its client receives the result so far', async () => {
    script = () => ({ text: 'half a ', hangs: true });
    const id = await rest.createAgent();
    const { id: runId, all } = await rest.stream(id, echoed('x'));
    expect((await rest.ask('POST', `/api/v1/runs/${runId}/cancel`)).body).toMatchObject({
      ok: true,
      run: { id: runId, cancelRequestedAt: expect.any(String) },
    });
    expect(dataOf((await all()).at(-1))).toMatchObject({ output: 'half a ', stopReason: 'cancelled' });
    const again = await rest.ask('POST', `/api/v1/runs/${runId}/cancel`);
    expect(again).toMatchObject({ status: 200, body: { run: { status: 'cancelled' } } });
  });
});

describe('runs are read', () => {
  test('while they are in progress, with their rounds, calls, tokens, and cost so far', async () => {
    script = ({ messages }) =>
      messages.length < 5 ? { calls: [{ alias: 'box__none', arguments: '{}' }] } : { text: 'well ', hangs: true };
    const id = await rest.createAgent({ model: priced });
    const { id: runId, next, leave } = await rest.stream(id, echoed('x'));
    while ((await next())?.event !== 'text');
    const { body } = await rest.ask('GET', `/api/v1/runs/${runId}`);
    // Two replies of 10 and 5 tokens at 100 and 500 µ¢.
    expect(body).toMatchObject({
      run: {
        status: 'running',
        usage: { promptTokens: 20, completionTokens: 10, toolCallCount: 0, roundCount: 2, estimatedCostCents: 0.007 },
      },
    });
    expect((await rest.runsOf(id))[0]).toMatchObject({ status: 'running', usage: { roundCount: 2 } });
    leave();
    await becomes(id, { status: 'cancelled', usage: expect.objectContaining({ roundCount: 2 }) });
  });

  test('page by page, newest first', async () => {
    const id = await rest.createAgent();
    for (const input of ['one', 'two', 'three']) {
      rest.clock.now = new Date(rest.clock.now.getTime() + 1_000);
      await rest.run(id, { input });
    }
    const all = (await rest.runsOf(id)).map((run) => run.id);
    const first = await rest.ask('GET', `/api/v1/agents/${id}/runs?limit=2`);
    const { runs, next } = first.body as { readonly runs: readonly { readonly id: string }[]; readonly next: string };
    const second = await rest.ask('GET', `/api/v1/agents/${id}/runs?limit=2&cursor=${next}`);
    expect(runs.map((run) => run.id)).toEqual(all.slice(0, 2));
    expect(second.body).toMatchObject({ runs: [{ id: all[2] }] });
    expect(second.body).not.toHaveProperty('next');
  });

  test('not with an invalid limit or cursor', async () => {
    const id = await rest.createAgent();
    for (const query of ['limit=x', 'cursor=x', 'before=1', 'cursor=a&cursor=b'])
      expect((await rest.ask('GET', `/api/v1/agents/${id}/runs?${query}`)).status).toBe(400);
  });

  test('not by another workspace: the answer is that for a missing run', async () => {
    const id = await rest.createAgent();
    await rest.run(id, echoed('x'));
    const [run] = await rest.runsOf(id);
    const never = await rest.ask('GET', `/api/v1/runs/${'B'.repeat(20)}`);
    expect(never.status).toBe(404);
    for (const [method, path] of [
      ['GET', `/api/v1/runs/${run?.id}`],
      ['POST', `/api/v1/runs/${run?.id}/cancel`],
    ] as const) {
      const answer = await rest.ask(method, path, { key: rest.other });
      expect([answer.status, answer.body]).toEqual([404, never.body]);
    }
    expect((await rest.ask('GET', `/api/v1/agents/${id}/runs`, { key: rest.other })).status).toBe(404);
  });
});

test('a control plane that stops starts no run, and notifies those that do not end in time that they are cancelled', async () => {
  const stopping = await createRunsRest({ models: createScriptedModel(() => ({ text: 'well', hangs: true })) });
  try {
    const id = await stopping.createAgent();
    const { next, all } = await stopping.stream(id, echoed('x'));
    await next();
    const closed = stopping.runner.close(0);
    expect((await stopping.run(id, echoed('x'))).status).toBe(503);
    expect(dataOf((await all()).at(-1))).toMatchObject({ stopReason: 'cancelled' });
    await closed;
    expect(await stopping.runsOf(id)).toMatchObject([{ status: 'cancelled' }]);
  } finally {
    await stopping.close();
  }
});
