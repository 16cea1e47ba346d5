import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type ModelRequest, ProviderFailed } from '../../control-plane/runs/model.ts';
import { createRunsRest, type RunsRest } from '../control-plane/runs.ts';
import { createScriptedModel, type ScriptedReply } from '../support/scripted-model.ts';
import { createCli, jsonOf } from './cli.ts';

const done = (): ScriptedReply => ({ text: 'all done' });
let script: (request: ModelRequest) => ScriptedReply = done;
let rest: RunsRest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRunsRest({ models: createScriptedModel((request) => script(request)) });
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterEach(() => {
  script = done;
});
afterAll(() => rest.close());

/** Waits until the last run of the agent is cancelled. */
const cancelled = (agentId: string): Promise<void> =>
  vi.waitFor(async () => expect((await rest.runsOf(agentId))[0]).toMatchObject({ status: 'cancelled' }), { timeout: 10_000 });

test("run prints the agent's text on standard output, and its actions on standard error", async () => {
  await rest.createAgent({ name: 'bot' });
  script = ({ messages }) =>
    messages.length === 1 ? { text: 'I look', calls: [{ alias: 'box__none', arguments: '{"a":1}' }] } : { text: 'found\nit' };
  const ran = await tollgate(['run', 'bot', 'go']);
  expect(ran).toMatchObject({ code: 0, out: 'I look\nfound\nit\n' });
  expect(ran.err.split('\n')).toEqual([
    '→ box.none {"a":1}',
    '✗ box.none call_malformed: there is no tool of this name',
    expect.stringMatching(/^← box\.none failed: ".*call_malformed/),
    expect.stringMatching(/^run [A-Za-z0-9]{20}: goal_complete, 0 tool calls, 0 cents$/),
    '',
  ]);
});

test('run takes its input from standard input and values for the prompt, and with --json prints the result alone', async () => {
  const id = await rest.createAgent({ name: 'reader' });
  const requests: ModelRequest[] = [];
  script = (request) => {
    requests.push(request);
    return done();
  };
  const ran = await tollgate(['run', id, '-', '--context', 'user=ann', '--context', 'note=a=b', '--json'], { stdin: 'from afar' });
  expect(ran.err).toBe('');
  expect(jsonOf(ran)).toMatchObject({ status: 'completed', output: 'all done', stopReason: 'goal_complete' });
  expect(requests[0]?.messages).toMatchObject([{ role: 'user', text: 'from afar' }]);
  expect(requests[0]?.system).toMatch(/"user": "ann"\n"note": "a=b"/);
});

test('text of a model never controls the terminal', async () => {
  await rest.createAgent({ name: 'sly' });
  script = ({ messages }) =>
    messages.length === 1 ? { calls: [{ alias: 'x\u001b[2J', arguments: '{"a":"\u009b1m"}' }] } : { text: 'a\u001b]0;b\u0007 \u202ec' };
  const { out, err } = await tollgate(['run', 'sly', 'go']);
  expect(out).toBe('a\\u001b]0;b\\u0007 \\u202ec\n');
  expect(err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('run names the error: no such agent, several of that name, a provider that fails, a superfluous value', async () => {
  await rest.createAgent({ name: 'twin' });
  await rest.createAgent({ name: 'twin' });
  await rest.createAgent({ name: 'poor' });
  expect(await tollgate(['run', 'absent', 'x'])).toMatchObject({ code: 1, err: expect.stringContaining('there is no agent absent') });
  expect(await tollgate(['run', 'twin', 'x'])).toMatchObject({ code: 1, err: expect.stringContaining('several agents named twin') });
  expect(await tollgate(['run', 'poor', 'x', '--context', 'none'])).toMatchObject({ code: 1, err: expect.stringContaining('name=value') });
  expect(await tollgate(['run', 'poor', ''])).toMatchObject({ code: 1, err: expect.stringContaining('input must not be blank') });
  script = () => ({ text: 'so ', fails: new ProviderFailed('it is overloaded', 529, true) });
  expect(await tollgate(['run', 'poor', 'x'])).toMatchObject({
    code: 1,
    out: 'so \n',
    err: expect.stringContaining('the run failed: the model provider failed: it is overloaded'),
  });
});

test('Ctrl-C cancels the run', async () => {
  const id = await rest.createAgent({ name: 'slow' });
  script = () => ({ text: 'well ', hangs: true });
  const interruption = new AbortController();
  const ran = tollgate(['run', 'slow', 'x'], { signal: interruption.signal, heard: () => interruption.abort() });
  expect(await ran).toMatchObject({ code: 130, err: expect.stringMatching(/^interrupted; run [A-Za-z0-9]{20} is cancelled$/m) });
  await cancelled(id);
});

test('the end of --timeout ends a run that still prints, and has an exit code of its own', async () => {
  const id = await rest.createAgent({ name: 'long' });
  script = () => ({ text: 'well ', hangs: true });
  const ran = await tollgate(['run', 'long', 'x', '--timeout', '0.5']);
  expect(ran).toMatchObject({
    code: 124,
    out: 'well ',
    err: expect.stringMatching(/^not done within 0\.5 s; run [A-Za-z0-9]{20} is cancelled$/m),
  });
  await cancelled(id);
  expect(await tollgate(['run', 'long', 'x', '--timeout', '90000'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('at most 86400'),
  });
});

test('a run that ends in time does not mention the timeout', async () => {
  await rest.createAgent({ name: 'swift' });
  expect(await tollgate(['run', 'swift', 'x', '--timeout', '60', '--json'])).toMatchObject({ code: 0, err: '' });
});

test('a run is cancelled also where a proxy keeps its connection open, and a message says where that cannot be requested', async () => {
  const id = await rest.createAgent({ name: 'proxied' });
  script = () => ({ text: 'well ', hangs: true });
  let reachable = true;
  // The proxy keeps its upstream requests open, although the client has closed.
  const proxy = createServer((asked, answer) => {
    if (!reachable && asked.url?.endsWith('/cancel') === true) return void answer.destroy();
    void request(`${rest.origin}${asked.url}`, {
      method: asked.method === 'POST' ? 'POST' : 'GET',
      headers: { authorization: String(asked.headers.authorization), 'content-type': 'application/json' },
      body: asked.method === 'POST' ? asked : null,
    }).then(({ statusCode, headers, body }) => {
      answer.writeHead(statusCode, { 'content-type': String(headers['content-type']) });
      body
        .on('data', (bytes: Buffer) => answer.write(bytes))
        .on('end', () => answer.end())
        .on('error', () => {});
    });
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  try {
    const env = { TOLLGATE_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    expect(await tollgate(['run', id, 'x', '--timeout', '0.5'], { env })).toMatchObject({ code: 124 });
    await cancelled(id);
    reachable = false;
    const left = await tollgate(['run', id, 'x', '--timeout', '0.5'], { env });
    expect(left).toMatchObject({ code: 124, err: expect.stringContaining('the cancel request failed') });
    const [run] = await rest.runsOf(id);
    await rest.ask('POST', `/api/v1/runs/${run?.id}/cancel`);
    await cancelled(id);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('runs list, show and cancel print what they find', async () => {
  const id = await rest.createAgent({ name: 'listed' });
  expect(await tollgate(['runs', 'list', 'listed'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('has not run yet') });
  await tollgate(['run', 'listed', 'first']);
  rest.clock.now = new Date(rest.clock.now.getTime() + 1_000);
  await tollgate(['run', 'listed', 'second']);
  const [newest] = await rest.runsOf(id);
  const page = await tollgate(['runs', 'list', id, '--limit', '1']);
  expect(page.out).toMatch(new RegExp(`^id .*\\n${newest?.id} .*completed +goal_complete`));
  const cursor = /--cursor (\S+)/.exec(page.err)?.[1] ?? '';
  expect((await tollgate(['runs', 'list', id, '--cursor', cursor])).out).not.toContain(newest?.id);
  const shown = await tollgate(['runs', 'show', newest?.id ?? '']);
  expect(shown.out).toMatch(/status: completed[\s\S]*\n\nuser: second\nassistant: all done\n$/);
  expect(jsonOf(await tollgate(['runs', 'show', newest?.id ?? '', '--json']))).toMatchObject({ run: { id: newest?.id } });
  expect(await tollgate(['runs', 'show', 'A'.repeat(20)])).toMatchObject({ code: 1, err: expect.stringContaining('there is no such run') });
  expect(await tollgate(['runs', 'cancel', newest?.id ?? ''])).toMatchObject({ code: 0, err: `run ${newest?.id} has ended: completed\n` });
});
