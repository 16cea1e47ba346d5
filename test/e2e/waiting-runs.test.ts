// Runs that wait for a person, with the real program: the control plane is killed while a run waits, and the run continues
// after the next start. The tool server is in this process, so what it was asked outlives every control plane.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from '../../cli/api/streams.ts';
import { createCli } from '../cli/cli.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { ask, type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const atOnce = 3;
const askAdmins = { permission: 'ask', ask: { approvers: ['role:admin'] } };
let dataDir: string;
let plane: ControlPlane;
let tools: FakeServer;
let anaKey: string;
let agentId: string;

const start = (): Promise<ControlPlane> =>
  startControlPlane({
    TOLLGATE_OWNER_KEY: ownerKey,
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
    TOLLGATE_RUNS_AT_ONCE: String(atOnce),
  });

const asOwner = (path: string, more: Parameters<typeof ask>[2] = {}) => ask(`${plane.rest}${path}`, ownerKey, more);
const asAna = (path: string, more: Parameters<typeof ask>[2] = {}) => ask(`${plane.rest}${path}`, anaKey, more);

/** The inputs of the calls that reached the tool, oldest first. */
const made = (name: string): readonly unknown[] =>
  tools.asked.flatMap(({ rpc }) => (rpc.method === 'tools/call' && rpc.params?.name === name ? [rpc.params.arguments] : []));

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  tools = await startFakeServer();
  tools.pages = [[tool('pay'), tool('look')]];
  plane = await start();
  await asOwner('/default/admin/members', { body: { uid: 'ana', email: 'ana@example.com', role: 'member' } });
  anaKey = String(
    (await asOwner('/default/admin/keys', { body: { name: 'ana', uid: 'ana', scopes: ['agents.read', 'agents.write'] } })).body['key'],
  );
  expect(await asOwner('/default/admin/toolServers', { body: { name: 'bank', url: tools.url } })).toMatchObject({ status: 200 });
  const agent = { name: 'clerk', model: 'demo/echo', enabledTools: ['bank.*'] };
  agentId = String((await asOwner('/api/v1/agents', { body: agent })).body['id']);
  await putPolicy(askAdmins);
});
afterAll(async () => {
  await plane.end('SIGKILL');
  await tools.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** The rule of `bank.pay`. The workspace has no other rule. */
async function putPolicy(api: object): Promise<void> {
  const body = { tools: { 'bank.pay': { api } } };
  expect(await asOwner('/default/admin/workspacePolicy', { method: 'PUT', body })).toMatchObject({ status: 200 });
}

const run = (input: string, agent = agentId, key = anaKey) => ask(`${plane.rest}/api/v1/agents/${agent}/run`, key, { body: { input } });
const runOf = async (id: unknown) => Object((await asAna(`/api/v1/runs/${String(id)}`)).body['run']);
const untilStatus = (id: unknown, status: string) =>
  eventually(
    () => runOf(id),
    (found) => found.status === status,
  );
const idsOf = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  (body['approvals'] as readonly { readonly approvalId: string }[]).map(({ approvalId }) => approvalId);

test('a run waits over a kill of its control plane, and the approved call is made once, after the calls that needed no one', async () => {
  const waits = await run('call bank.pay {"amount": 1}\ncall bank.look {"at": 1}\nthen\ncall bank.look {"at": 2}');
  expect(waits).toMatchObject({ status: 202, body: { status: 'waiting', approvals: [{ tool: 'bank.pay' }] } });
  const { id } = waits.body;
  const [approvalId = ''] = idsOf(waits.body);
  expect(await runOf(id)).toMatchObject({ status: 'waiting', approvalIds: [approvalId] });
  expect(made('look')).toEqual([{ at: 1 }]);

  await plane.end('SIGKILL');
  plane = await start();
  expect(await runOf(id)).toMatchObject({ status: 'waiting' });
  expect(await asOwner(`/default/admin/approvals/${approvalId}/approve`, { body: {} })).toMatchObject({ status: 200 });

  const ended = await untilStatus(id, 'completed');
  expect(ended).toMatchObject({ stopReason: 'goal_complete', usage: { toolCallCount: 3, roundCount: 2 } });
  expect(made('pay')).toEqual([{ amount: 1 }]);
  expect(made('look')).toEqual([{ at: 1 }, { at: 2 }]);
  expect(await asOwner(`/default/admin/approvals/${approvalId}`)).toMatchObject({ body: { state: 'used' } });
});

test('a denial is the result of the call, with its note', async () => {
  const waits = await run('call bank.pay {"amount": 2}');
  const [approvalId = ''] = idsOf(waits.body);
  await asOwner(`/default/admin/approvals/${approvalId}/deny`, { body: { note: 'use the test account' } });
  const ended = await untilStatus(waits.body['id'], 'completed');
  expect(ended.output).toContain('use the test account');
  expect(made('pay')).not.toContainEqual({ amount: 2 });
});

test('a waiting run that is cancelled ends, and its question too', async () => {
  const waits = await run('call bank.pay {"amount": 3}');
  const [approvalId = ''] = idsOf(waits.body);
  await asAna(`/api/v1/runs/${String(waits.body['id'])}/cancel`, { body: {} });
  await untilStatus(waits.body['id'], 'cancelled');
  expect(await asOwner(`/default/admin/approvals/${approvalId}`)).toMatchObject({ body: { state: 'cancelled' } });
});

test('a freeze ends a waiting run, and the approved call is not made', async () => {
  const waits = await run('call bank.pay {"amount": 4}');
  await asOwner('/default/admin/freeze', { body: {} });
  await untilStatus(waits.body['id'], 'cancelled');
  await asOwner('/default/admin/unfreeze', { body: {} });
  expect(made('pay')).not.toContainEqual({ amount: 4 });
});

test('the events of a run continue over the wait: approval_required, approval_decided, and the rest', async () => {
  const response = await fetch(`${plane.rest}/api/v1/agents/${agentId}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${anaKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'call bank.pay {"amount": 5}\ncall bank.pay {"amount": 6}', stream: true }),
  });
  const kinds: string[] = [];
  const text = response.body?.pipeThrough(new TextDecoderStream()) ?? expect.fail('no body');
  for await (const { event, data } of eventsOf(text)) {
    if (data === null) continue;
    if (event === 'error') expect.fail(data);
    kinds.push(event);
    if (event !== 'approval_required') continue;
    const { calls } = JSON.parse(data) as { readonly calls: readonly { readonly approvalId: string }[] };
    const [first] = calls;
    expect(await asOwner(`/default/admin/approvals/${first?.approvalId}/approve`, { body: {} })).toMatchObject({ status: 200 });
  }
  const each = ['approval_decided', 'governance', 'tool_result'];
  expect(kinds.filter((kind) => kind !== 'text')).toEqual([
    'tool_calls',
    'approval_required',
    ...each,
    'approval_required',
    ...each,
    'done',
  ]);
  expect(made('pay').slice(-2)).toEqual([{ amount: 5 }, { amount: 6 }]);
});

async function agentOf(fields: object): Promise<string> {
  return String((await asOwner('/api/v1/agents', { body: { model: 'demo/echo', enabledTools: ['bank.*'], ...fields } })).body['id']);
}
const approve = (approvalId: string, key = ownerKey) =>
  ask(`${plane.rest}/default/admin/approvals/${approvalId}/approve`, key, { body: {} });
const paid = (amount: number): boolean => made('pay').some((input) => Object(input).amount === amount);

/** Runs hold all places, so that no run is resumed, until `work` has ended. */
async function whileNoneIsResumed(work: () => Promise<void>): Promise<void> {
  const held: (() => void)[] = [];
  tools.instead = ({ rpc }, response) => {
    if (rpc.params?.arguments?.['at'] !== 'hold') return false;
    const result = { content: [{ type: 'text', text: 'held' }] };
    held.push(
      () =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result })),
    );
    return true;
  };
  // A run that has just ended may have its place for a moment longer.
  const holding = Array.from({ length: atOnce }, () =>
    eventually(
      () => run('call bank.look {"at": "hold"}', agentId, ownerKey),
      ({ status }) => status !== 429,
    ),
  );
  await eventually(
    async () => held.length,
    (count) => count === atOnce,
  );
  try {
    await work();
  } finally {
    for (const letGo of held) letGo();
    await Promise.all(holding);
    tools.instead = () => false;
  }
}

const keyFor = async (uid: string, scopes: readonly string[]) =>
  (await asOwner('/default/admin/keys', { body: { name: uid, uid, scopes } })).body as { readonly id: string; readonly key: string };

test.each([
  [
    'its agent is suspended',
    'cancelled',
    undefined,
    (agent: string) => asOwner(`/api/v1/agents/${agent}`, { method: 'PATCH', body: { suspended: true } }),
  ],
  [
    'its key is revoked',
    'cancelled',
    undefined,
    (_agent: string, keyId: string) => asOwner(`/default/admin/keys/${keyId}`, { method: 'DELETE' }),
  ],
  [
    'its agent is deleted',
    'failed',
    expect.stringContaining('was deleted'),
    (agent: string) => asOwner(`/api/v1/agents/${agent}`, { method: 'DELETE' }),
  ],
])('an approved run of which meanwhile %s is %s, and its call is not made', async (what, status, error, change) => {
  const amount = 100 + what.length;
  const agent = await agentOf({ name: `clerk-${amount}` });
  const { id: keyId, key } = await keyFor('ana', ['agents.read', 'agents.write']);
  const waits = await run(`call bank.pay {"amount": ${amount}}`, agent, key);
  const [approvalId = ''] = idsOf(waits.body);
  await whileNoneIsResumed(async () => {
    expect(await approve(approvalId)).toMatchObject({ status: 200 });
    expect(await change(agent, keyId)).toMatchObject({ status: 200 });
  });
  const ended = await untilStatus(waits.body['id'], status);
  expect(ended.error).toEqual(error);
  expect(paid(amount)).toBe(false);
});

test('a policy that denies by then wins over the approval: the model reads the denial', async () => {
  const waits = await run('call bank.pay {"amount": 200}');
  const [approvalId = ''] = idsOf(waits.body);
  await whileNoneIsResumed(async () => {
    await approve(approvalId);
    await putPolicy({ permission: 'deny', ask: null });
  });
  const ended = await untilStatus(waits.body['id'], 'completed');
  expect(ended.output).toContain('policy_denied');
  expect(paid(200)).toBe(false);
  await putPolicy(askAdmins);
});

test('a rule that asks for more by then asks again, and the run waits again', async () => {
  const waits = await run('call bank.pay {"amount": 201}');
  const { id } = waits.body;
  const [first = ''] = idsOf(waits.body);
  await whileNoneIsResumed(async () => {
    await approve(first);
    await putPolicy({ permission: 'ask', ask: { approvers: ['role:owner'] } });
  });
  const again = await eventually(
    () => runOf(id),
    ({ status, approvalIds = [] }) => status === 'waiting' && !approvalIds.includes(first),
  );
  expect(paid(201)).toBe(false);
  await approve(String(again.approvalIds[0]));
  await untilStatus(id, 'completed');
  expect(paid(201)).toBe(true);
  await putPolicy(askAdmins);
});

test('an approval does not count if its approver was removed before the call was made', async () => {
  await asOwner('/default/admin/members', { body: { uid: 'bob', email: 'bob@example.com', role: 'admin' } });
  const { key } = await keyFor('bob', ['admin.approvals']);
  const waits = await run('call bank.pay {"amount": 202}');
  const [approvalId = ''] = idsOf(waits.body);
  await whileNoneIsResumed(async () => {
    expect(await approve(approvalId, key)).toMatchObject({ status: 200 });
    expect(await asOwner('/default/admin/members/bob', { method: 'DELETE' })).toMatchObject({ status: 200 });
  });
  const found = await eventually(
    () => runOf(waits.body['id']),
    ({ status }) => status !== 'running' && status !== 'waiting',
  );
  expect(found).toMatchObject({ status: 'completed' });
  expect(paid(202)).toBe(false);
});

test('a call that was asked for is one attempt of the run, also if it is denied after the wait', async () => {
  const agent = await agentOf({ name: 'capped', maxToolCalls: 2 });
  const waits = await run('call bank.pay {"amount": 203}\nthen\ncall bank.look {"at": 203}\nthen\ncall bank.look {"at": 204}', agent);
  const [approvalId = ''] = idsOf(waits.body);
  await asOwner(`/default/admin/approvals/${approvalId}/deny`, { body: {} });
  expect(await untilStatus(waits.body['id'], 'completed')).toMatchObject({ stopReason: 'max_tool_calls' });
  expect(made('look')).toContainEqual({ at: 203 });
  expect(made('look')).not.toContainEqual({ at: 204 });
});

test('a call that only meets the question of another one does not give its run a further call', async () => {
  const agent = await agentOf({ name: 'once', maxToolCalls: 1 });
  const waits = await run('call bank.pay {"amount": 205}\ncall bank.pay {"amount": 205}', agent);
  const [first, second] = idsOf(waits.body);
  expect(second).toBe(first);
  await approve(String(first));
  expect(await untilStatus(waits.body['id'], 'completed')).toMatchObject({ stopReason: 'max_tool_calls' });
  expect(made('pay').filter((input) => Object(input).amount === 205)).toHaveLength(1);
});

test('the call of an agent that a run delegates to is held, and the run does not wait', async () => {
  await agentOf({ name: 'helper', delegatable: true });
  const boss = await agentOf({ name: 'boss', canDelegate: true });
  const task = JSON.stringify({ task: 'call bank.pay {"amount": 206}' });
  const running = run(`call agents.helper ${task}`, boss);
  const approvalId = await pendingApproval();
  expect(await asAna(`/api/v1/agents/${boss}/runs`)).toMatchObject({ body: { runs: [{ status: 'running' }] } });
  await approve(approvalId);
  expect(await running).toMatchObject({ status: 200, body: { status: 'completed' } });
  expect(paid(206)).toBe(true);
});

/** The approval that is pending, when there is one. */
async function pendingApproval(): Promise<string> {
  const list = async () =>
    (await asOwner('/default/admin/approvals?state=pending')).body['approvals'] as readonly { readonly id: string }[];
  const [found, ...others] = await eventually(list, (all) => all.length > 0);
  expect(others).toEqual([]);
  return String(found?.id);
}

/** The value of a metric of the control plane, with its labels in the name. */
async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(`${plane.rest}/metrics`)).text();
  return text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);
}

test('tollgate run says what is waited for and how it was answered, and the metric counts the run while it waits', async () => {
  const tollgate = createCli(plane.rest, anaKey);
  const running = tollgate(['run', 'clerk', 'call bank.pay {"amount": 207}']);
  const approvalId = await pendingApproval();
  expect(await metric('tollgate_runs_waiting')).toBe('1');
  await approve(approvalId);
  const ran = await running;
  expect(ran.code).toBe(0);
  expect(ran.err.split('\n').slice(0, 5)).toEqual([
    '→ bank.pay {"amount":207}',
    `… bank.pay waits for a person: tollgate approvals show ${approvalId}`,
    '… bank.pay approved',
    expect.stringMatching(/^← bank\.pay/),
    expect.stringMatching(/^run [A-Za-z0-9]{20}: goal_complete, 1 tool calls, 0 cents$/),
  ]);
  expect(await metric('tollgate_runs_waiting')).toBe('0');
  // Also not those of the tests before, which could not be resumed.
  await eventually(
    () => metric('tollgate_runs{state="running"}'),
    (count) => count === '0',
  );
});

test('a client that reads the events of a run that is cancelled while it waits is told that it was ended', async () => {
  const running = createCli(plane.rest, anaKey)(['run', 'clerk', 'call bank.pay {"amount": 209}']);
  await pendingApproval();
  const { runs } = (await asAna(`/api/v1/agents/${agentId}/runs`)).body as { readonly runs: readonly { readonly id: string }[] };
  await asAna(`/api/v1/runs/${runs[0]?.id}/cancel`, { body: {} });
  const ran = await running;
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(`the run was ended while it waited for a person; read it at /api/v1/runs/${runs[0]?.id}`);
});

test('a control plane that stops leaves the run waiting, and says so to the client that reads its events', async () => {
  const running = createCli(plane.rest, anaKey)(['run', 'clerk', 'call bank.pay {"amount": 208}']);
  const approvalId = await pendingApproval();
  await plane.end('SIGTERM');
  const ran = await running;
  expect(ran.code).toBe(1);
  const [, id] =
    /: the run waits for a person and continues without this connection; read it at \/api\/v1\/runs\/(\w+)$/m.exec(ran.err) ?? [];
  expect(id).toBeDefined();
  expect(ran.err).not.toContain('failed');
  plane = await start();
  await approve(approvalId);
  await untilStatus(id, 'completed');
  expect(paid(208)).toBe(true);
});
