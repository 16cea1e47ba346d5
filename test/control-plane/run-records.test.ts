// Runs as they are stored: begun, ended once, listed, read and cancelled; and the heartbeat of the control plane that
// runs them.
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeId } from '../../control-plane/access/rules/key.ts';
import { parseRunCursor, type Run, type RunHalt, type RunRef, shownRun } from '../../control-plane/runs/rules/run.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { cancelRun } from '../../control-plane/runs/operations/cancel-run.ts';
import { type Heartbeat, startHeartbeat } from '../../control-plane/runs/operations/liveness/heartbeat.ts';
import { createRunBooks } from '../../control-plane/runs/operations/books/run-books.ts';
import { listRuns } from '../../control-plane/runs/operations/list-runs.ts';
import { endAbandonedRuns } from '../../control-plane/runs/operations/liveness/end-abandoned-runs.ts';
import { readRun } from '../../control-plane/runs/operations/read-run.ts';
import { removeOldRuns } from '../../control-plane/runs/operations/liveness/remove-old-runs.ts';
import { cent, completed } from '../support/run-books.ts';
import { silentLog } from '../support/silent-log.ts';
import { createRest, type Rest } from './rest.ts';

let rest: Rest;
let heartbeat: Heartbeat;
let agentId: string;
const beatMs = 5;

beforeEach(async () => {
  rest = await createRest();
  heartbeat = await startHeartbeat({ ...rest.deps, log: silentLog }, beatMs);
  agentId = await rest.createAgent({ name: 'bot' });
});
afterEach(async () => {
  await heartbeat.close();
  await rest.close();
});

const books = () => createRunBooks(rest.deps, heartbeat.instance);
const ask = (key = rest.owner) => authenticate(rest.deps, `Bearer ${key}`);

async function begin(fields: { readonly agentId?: string; readonly input?: string } = {}): Promise<RunRef> {
  const { workspaceId } = await ask();
  const run = { workspaceId, id: makeId(randomBytes) };
  const { input = 'go', ...rest } = fields;
  const begun = await books().records.begin({
    ...run,
    agentId,
    agentName: 'bot',
    sub: 'owner',
    parentRunId: null,
    model: 'demo/echo',
    budget: cent,
    request: { input },
    ...rest,
  });
  expect(begun).toBe(true);
  return run;
}

const read = async (id: string, key = rest.owner): Promise<Run> => readRun(rest.deps, await ask(key), id);

describe('a run', () => {
  test('is read while it continues, and with its transcript once it has ended', async () => {
    const run = await begin();
    expect(shownRun(await read(run.id))).toEqual({
      id: run.id,
      agentId,
      agentName: 'bot',
      sub: 'owner',
      conversationId: run.id,
      status: 'running',
      startedAt: '2026-06-25T12:00:00.000Z',
      usage: { promptTokens: 0, completionTokens: 0, toolCallCount: 0, roundCount: 0, estimatedCostCents: 0, model: 'demo/echo' },
      request: { input: 'go' },
      output: '',
    });
    const { money, records } = books();
    const reserved = await money.reserve(run, { least: 1, most: cent / 2 });
    if (reserved.kind === 'granted') await money.settle(run, reserved.reservationId, cent / 4);
    rest.clock.now = new Date('2026-06-25T12:00:01.500Z');
    expect(await records.end(run, { ...completed, transcript: [{ role: 'user', text: 'go' }] })).toEqual({ spent: cent / 4 });
    expect(shownRun(await read(run.id))).toMatchObject({
      status: 'completed',
      stopReason: 'goal_complete',
      endedAt: '2026-06-25T12:00:01.500Z',
      usage: { promptTokens: 10, completionTokens: 20, toolCallCount: 1, estimatedCostCents: 0.25, durationMs: 1500 },
      output: 'done',
      transcript: [{ role: 'user', text: 'go' }],
    });
  });

  test('ends once, and charges the amounts that are still reserved', async () => {
    const run = await begin();
    const { money, records } = books();
    await money.reserve(run, { least: 1, most: cent / 2 });
    const ends = await Promise.all([
      records.end(run, completed),
      records.end(run, { ...completed, status: 'cancelled', stopReason: 'cancelled' }),
    ]);
    expect(ends.filter((end) => end !== null)).toEqual([{ spent: cent / 2 }]);
    expect(await read(run.id)).toMatchObject({ status: ends[0] === null ? 'cancelled' : 'completed', spent: cent / 2 });
  });

  test('is stored with U+FFFD in place of characters that PostgreSQL rejects, and with the key __proto__', async () => {
    const run = await begin({ input: 'a\0b\ud800' });
    const transcript = JSON.parse('{"__proto__": "x", "deep": "\\u0000"}') as unknown;
    await books().records.end(run, { ...completed, status: 'failed', stopReason: null, output: 'x\0', error: 'y\0\udfff', transcript });
    const found = await read(run.id);
    expect(found).toMatchObject({ status: 'failed', request: { input: 'a\uFFFDb\uFFFD' }, output: 'x\uFFFD', error: 'y\uFFFD\uFFFD' });
    expect(JSON.stringify(found.transcript)).toBe('{"__proto__":"x","deep":"\uFFFD"}');
  });

  test('begins below a run in progress of the same caller, and below no other', async () => {
    const root = await begin();
    const child = { workspaceId: root.workspaceId, agentId, agentName: 'child', sub: 'agent:child', model: 'm', budget: cent, request: {} };
    const one = makeId(randomBytes);
    expect(await books().records.begin({ ...child, id: one, parentRunId: root.id })).toBe(true);
    expect(await read(one)).toMatchObject({ sub: 'owner', lineage: [root.id, one] });
    expect(shownRun(await read(one))).toMatchObject({ parentRunId: root.id, conversationId: root.id });
    await books().records.end(root, completed);
    expect(await books().records.begin({ ...child, id: makeId(randomBytes), parentRunId: root.id })).toBe(false);
    expect(await books().records.begin({ ...child, id: makeId(randomBytes), parentRunId: one })).toBe(false);
    expect(await books().records.begin({ ...child, id: makeId(randomBytes), parentRunId: 'absent' })).toBe(false);
  });

  test('of another workspace looks like a missing one, to read, list and cancel', async () => {
    const run = await begin();
    const other = await ask(rest.other);
    for (const id of [run.id, 'x', 'x'.repeat(20), '\0'])
      for (const operation of [readRun, cancelRun])
        await expect(operation(rest.deps, other, id)).rejects.toMatchObject({ code: 'not_found', publicMessage: 'there is no such run' });
    await expect(listRuns(rest.deps, other, { agentId, limit: 10, before: null })).rejects.toMatchObject({ code: 'not_found' });
    expect(await read(run.id)).toMatchObject({ status: 'running', cancelRequestedAt: null });
  });

  test('is read with agents.read, and cancelled with agents.write', async () => {
    const run = await begin();
    const reader = await rest.keyOf('admin', ['agents.read']);
    expect(await read(run.id, reader)).toMatchObject({ status: 'running' });
    await expect(cancelRun(rest.deps, await ask(reader), run.id)).rejects.toMatchObject({ code: 'forbidden' });
    const neither = await rest.keyOf('owner', ['policies.read'], 'owner-2');
    await expect(read(run.id, neither)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

test('an agent’s runs are listed newest first, page by page, each once, also those of one instant', async () => {
  const begun: string[] = [];
  for (const second of [0, 0, 0, 1, 2]) {
    rest.clock.now = new Date(Date.UTC(2026, 5, 25, 12, 0, second));
    begun.push((await begin()).id);
  }
  const another = await rest.createAgent({ name: 'another' });
  await begin({ agentId: another });
  const actor = await ask();
  const listed: string[] = [];
  let before: ReturnType<typeof parseRunCursor> = null;
  for (let page = 0; page < 3; page += 1) {
    const { runs, next } = await listRuns(rest.deps, actor, { agentId, limit: 2, before });
    listed.push(...runs.map(({ id }) => id));
    expect(next === undefined).toBe(page === 2);
    before = next === undefined ? null : parseRunCursor(next);
  }
  expect(listed.slice(0, 2)).toEqual([begun[4], begun[3]]);
  expect(listed.toSorted()).toEqual(begun.toSorted());
});

test('a run is removed this many days after its end, with its transcript; one in progress stays, however old', async () => {
  const days = (count: number) => new Date(Date.UTC(2026, 5, 25, 12) + count * 86_400_000);
  const endedAt = async (when: Date) => {
    rest.clock.now = when;
    const run = await begin();
    await books().records.end(run, completed);
    return run.id;
  };
  const old = [await endedAt(days(0)), await endedAt(days(0)), await endedAt(days(1))];
  const young = await endedAt(days(1.5));
  rest.clock.now = days(0);
  const going = (await begin()).id;
  rest.clock.now = days(31.25);
  const removeOld = (retention: number) => removeOldRuns({ ...rest.deps, log: silentLog }, retention, 2);
  expect(await removeOld(40)).toBe(0);
  expect(await removeOld(30)).toBe(3);
  expect(await removeOld(30)).toBe(0);
  for (const id of old) expect((await rest.ask('GET', `/api/v1/runs/${id}`)).status).toBe(404);
  expect(await read(young)).toMatchObject({ status: 'completed' });
  expect(await read(going)).toMatchObject({ status: 'running' });
  await rest.pool.query('alter table run rename to elsewhere');
  await expect(removeOld(30)).rejects.toThrow('run');
  await rest.pool.query('alter table elsewhere rename to run');
});

describe('the heartbeat', () => {
  const heard = (run: RunRef): Promise<RunHalt> => new Promise((resolve) => void heartbeat.watch(run, resolve));

  test('receives a cancel from any control plane, and the run ends as cancelled', async () => {
    const run = await begin();
    const halt = heard(run);
    expect(await cancelRun(rest.deps, await ask(), run.id)).toMatchObject({ status: 'running', cancelRequestedAt: rest.clock.now });
    expect(await halt).toBe('cancelled');
    await books().records.end(run, { ...completed, status: 'cancelled', stopReason: 'cancelled' });
    rest.clock.now = new Date(rest.clock.now.getTime() + 1000);
    expect(await cancelRun(rest.deps, await ask(), run.id)).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' });
  });

  test('detects a run that others ended, and one that was removed with its workspace', async () => {
    const run = await begin();
    const ended = heard(run);
    await books().records.end(run, completed);
    expect(await ended).toBe('ended');
    const another = await begin();
    const gone = heard(another);
    await rest.pool.query("delete from workspace where slug = 'acme'");
    expect(await gone).toBe('ended');
  });

  test('notifies no listener that has stopped, and each run once', async () => {
    const run = await begin();
    const told = vi.fn();
    heartbeat.watch(run, told)();
    const again = vi.fn();
    heartbeat.watch(run, again);
    await cancelRun(rest.deps, await ask(), run.id);
    const witness = await begin();
    await cancelRun(rest.deps, await ask(), witness.id);
    // Watched last, notified last: by then the heartbeat has passed the others.
    expect(await heard(witness)).toBe('cancelled');
    expect(told).not.toHaveBeenCalled();
    expect(again).toHaveBeenCalledExactlyOnceWith('cancelled');
  });

  test('keeps the runs of its control plane; those of one that was closed are failed immediately', async () => {
    const run = await begin();
    expect(await endAbandonedRuns({ ...rest.deps, log: silentLog })).toBe(0);
    await heartbeat.close();
    expect(await endAbandonedRuns({ ...rest.deps, log: silentLog })).toBe(1);
    const found = shownRun(await read(run.id));
    expect(found).toMatchObject({ status: 'failed', error: 'the control plane of the run ended unexpectedly' });
    // It is not known how many tokens and calls it had, nor its transcript.
    expect(found['usage']).toEqual({ estimatedCostCents: 0, model: 'demo/echo', durationMs: 0 });
    expect(found).not.toHaveProperty('transcript');
    expect((await rest.ask('GET', `/api/v1/runs/${run.id}`)).status).toBe(200);
  });

  test('continues after the database has refused it, and trusts its reads again after some beats', async () => {
    const run = await begin();
    let refused = (): void => {};
    const failing = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const another = await startHeartbeat({ ...rest.deps, log: { warn: () => refused() } }, beatMs);
    expect(another.isSteady()).toBe(true);
    await rest.pool.query('alter table run_instance rename to elsewhere');
    await failing;
    expect(another.isSteady()).toBe(false);
    await rest.pool.query('alter table elsewhere rename to run_instance');
    await rest.pool.query('update run set instance = $1 where id = $2', [another.instance, run.id]);
    const halt = new Promise<RunHalt>((resolve) => void another.watch(run, resolve));
    await cancelRun(rest.deps, await ask(), run.id);
    expect(await halt).toBe('cancelled');
    await vi.waitFor(() => expect(another.isSteady()).toBe(true), { interval: 1 });
    await another.close();
  });
});

test('logs a refusal that is unrelated to the database without blaming the database', async () => {
  expect((await rest.ask('POST', `/api/v1/agents/${agentId}/run`, { body: { input: 'x' } })).status).toBe(503);
  const lines = rest.lines.filter((line) => line.includes('nothing runs here'));
  expect(lines).toHaveLength(1);
  expect(lines.join('')).not.toMatch(/database|undefined/);
});
