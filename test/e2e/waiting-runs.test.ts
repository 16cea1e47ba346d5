// Runs that wait for a person, with the real program: the control plane is killed while a run waits, and the run continues
// after the next start. The tool server is in this process, so what it was asked outlives every control plane.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from '../../cli/api/streams.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { ask, type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
let dataDir: string;
let plane: ControlPlane;
let tools: FakeServer;
let anaKey: string;
let agentId: string;

const start = (): Promise<ControlPlane> =>
  startControlPlane({ TOLLGATE_OWNER_KEY: ownerKey, TOLLGATE_DATA_DIR: dataDir, TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true' });

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
  const policy = { tools: { 'bank.pay': { api: { permission: 'ask' } } } };
  expect(await asOwner('/default/admin/workspacePolicy', { method: 'PUT', body: policy })).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await plane.end('SIGKILL');
  await tools.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const run = (input: string) => asAna(`/api/v1/agents/${agentId}/run`, { body: { input } });
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
