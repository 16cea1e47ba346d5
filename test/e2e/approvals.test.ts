// A call that policy asks a person for, with the real programs: the agent's request waits at the sidecar, a person
// approves it over REST, and the call is made once. The agent is the outside witness: it notes each call that it may make.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { startFakeServer, tool } from '../support/mcp-servers.ts';
import {
  type Answer,
  ask,
  type ControlPlane,
  eventually,
  type Program,
  type SidecarProgram,
  startControlPlane,
  startSidecarProgram,
} from '../support/programs.ts';
import { listening } from './listening.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const running: Program[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const program of running.splice(0).reverse()) await program.end();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  folders.push(made);
  return made;
}

async function start() {
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey });
  running.push(plane);
  const asks = { api: { permission: 'ask' } };
  const policy = { defaults: { api: { permission: 'allow' } }, tools: { pay: asks, 'bank.pay': asks } };
  expect(await ask(`${plane.rest}/default/admin/workspacePolicy`, ownerKey, { method: 'PUT', body: policy })).toMatchObject({
    status: 200,
  });
  const agentKey = await keyFor(plane, ['govern']);
  const edge = await keyFor(plane, ['sidecar.sync']);
  const spool = folder();
  const sidecar = async (spoolDir = spool, env: Readonly<Record<string, string>> = {}): Promise<SidecarProgram> => {
    const started = await startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: edge,
      TOLLGATE_SPOOL_DIR: spoolDir,
      ...env,
    });
    running.push(started);
    await eventually(
      () => ask(`${started.url}/readyz`, ''),
      ({ status }) => status === 200,
    );
    return started;
  };
  return { plane, agentKey, sidecar };
}

const keyFor = async (plane: ControlPlane, scopes: readonly string[]): Promise<string> =>
  String((await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes } })).body['key']);

const pay = (at: string, key: string, { input = { amount: 5 }, ...fields }: { readonly input?: object; readonly wait_ms?: number } = {}) =>
  ask(`${at}/govern/tool-use`, key, { body: { tool_name: 'pay', tool_input: input, session_id: 's1', agent_tier: 'api', ...fields } });

const listed = async (plane: ControlPlane, state: string): Promise<readonly Record<string, unknown>[]> => {
  const { status, body } = await ask(`${plane.rest}/default/admin/approvals?state=${state}`, ownerKey);
  expect(status).toBe(200);
  return Array.isArray(body['approvals']) ? body['approvals'] : [];
};

const waiting = async (plane: ControlPlane): Promise<string> => {
  const [one] = await eventually(
    () => listed(plane, 'pending'),
    (all) => all.length > 0,
  );
  return String(one?.['id']);
};

const approve = (plane: ControlPlane, id: string): Promise<Answer> =>
  ask(`${plane.rest}/default/admin/approvals/${id}/approve`, ownerKey, { body: {} });

test('a request waits for the person, and is answered when the person has approved; the approval is used once', async () => {
  const { plane, agentKey, sidecar } = await start();
  const at = await sidecar();
  const paying = pay(at.url, agentKey, { wait_ms: 50_000 });
  const id = await waiting(plane);
  expect(await ask(`${at.url}/govern/approvals/${id}`, agentKey)).toMatchObject({ status: 200, body: { state: 'pending' } });
  expect(await approve(plane, id)).toMatchObject({ status: 200 });
  const permit = await paying;
  expect(permit).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect(await ask(`${at.url}/govern/approvals/${id}`, agentKey)).toMatchObject({ body: { approval_id: id, state: 'used' } });
  const entries = await eventually(
    async () => (await ask(`${plane.rest}/default/admin/audit?session=s1&limit=10`, ownerKey)).body['entries'],
    (all) => Array.isArray(all) && all.length > 0,
  );
  expect(entries).toMatchObject([{ decision: 'allow', requestId: permit.body['request_id'], approval: { id, by: expect.any(String) } }]);
  // The same call again asks again.
  expect(await pay(at.url, agentKey)).toMatchObject({
    body: { decision: 'deny', kind: 'retry', approval_id: expect.not.stringMatching(id) },
  });
});

test('two sidecars, one of them killed, and the endpoint of the control plane race for one use: it is used once', async () => {
  const { plane, agentKey, sidecar } = await start();
  const [first, second] = [await sidecar(folder()), await sidecar(folder())];
  expect(await pay(first.url, agentKey)).toMatchObject({ body: { decision: 'deny', approval_id: expect.any(String) } });
  const id = await waiting(plane);
  const places = [first.url, second.url, plane.rest, first.url, second.url, plane.rest];
  const racing = places.map((place) => pay(place, agentKey, { wait_ms: 3_000 }).catch(() => null));
  await eventually(
    async () => (await fetch(`${second.url}/metrics`)).text(),
    (metrics) => /^tollgate_approval_held_calls 2$/m.test(metrics),
  );
  await first.end('SIGKILL');
  expect(await approve(plane, id)).toMatchObject({ status: 200 });
  const answers = await Promise.all(racing);
  const made = answers.filter((answer) => answer?.body['decision'] === 'allow');
  expect(made).toHaveLength(1);
  expect(await listed(plane, 'used')).toMatchObject([{ id, used: 1 }]);
});

test('a control plane that stops answers the calls that its endpoint holds', async () => {
  const { plane, agentKey } = await start();
  const paying = pay(plane.rest, agentKey, { wait_ms: 50_000 });
  const id = await waiting(plane);
  expect(await plane.end('SIGTERM')).toBe(0);
  expect(await paying).toMatchObject({ status: 200, body: { decision: 'deny', kind: 'retry', approval_id: id } });
});

test('a sidecar that stops answers the calls that it holds', async () => {
  const { plane, agentKey, sidecar } = await start();
  const at = await sidecar();
  const paying = pay(at.url, agentKey, { wait_ms: 50_000 });
  const id = await waiting(plane);
  expect(await at.end('SIGTERM')).toBe(0);
  expect(await paying).toMatchObject({ status: 200, body: { decision: 'deny', kind: 'retry', approval_id: id } });
});

/** Starts a sidecar with this gateway file. */
async function behindTheGate(definitions: object) {
  const { plane, agentKey, sidecar } = await start();
  const file = join(folder(), 'gateway.json');
  writeFileSync(file, JSON.stringify(definitions));
  return { plane, agentKey, at: await sidecar(folder(), { TOLLGATE_GATEWAY_FILE: file }) };
}

test('a request of an HTTP tool waits for the person, and reaches the tool once', async () => {
  const paid: string[] = [];
  const port = await listening((request, response) => {
    request.setEncoding('utf8').on('data', (body: string) => paid.push(body));
    request.on('end', () => response.end('paid'));
  });
  const { plane, agentKey, at } = await behindTheGate({ httpTools: { pay: { url: `http://127.0.0.1:${port}` } } });
  const paying = (preference: object = {}): Promise<Response> =>
    fetch(`${at.url}/tools/pay/out`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agentKey}`, 'content-type': 'application/json', 'x-tollgate-tier': 'api', ...preference },
      body: '{"amount":5}',
    });
  const held = paying({ prefer: 'wait=60' });
  const id = await waiting(plane);
  expect(paid).toEqual([]);
  expect(await approve(plane, id)).toMatchObject({ status: 200 });
  const answer = await held;
  expect([answer.status, answer.headers.get('preference-applied'), await answer.text()]).toEqual([200, 'wait=60', 'paid']);
  expect(paid).toEqual(['{"amount":5}']);
  const again = await paying();
  const place = again.headers.get('location') ?? '';
  expect([again.status, place]).toEqual([403, expect.stringMatching(/^\/govern\/approvals\/./)]);
  expect(await ask(`${at.url}${place}`, agentKey)).toMatchObject({ body: { state: 'pending' } });
  expect(paid).toHaveLength(1);
});

test('a call of an MCP client waits for the person with progress, and reaches the tool once', async () => {
  const fake = await startFakeServer();
  onTestFinished(() => fake.close());
  const paid: unknown[] = [];
  fake.modern = true;
  fake.pages = [[tool('pay')]];
  fake.instead = ({ rpc: { id, method, params } }, response) => {
    if (method !== 'tools/call') return false;
    paid.push(params?.arguments);
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'paid' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  };
  const { plane, agentKey, at } = await behindTheGate({ mcpServers: { bank: { url: fake.url } } });
  const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const headers = { authorization: `Bearer ${agentKey}`, 'x-tollgate-tier': 'api' };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${at.url}/mcp/bank`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  const told: string[] = [];
  const onprogress = ({ message = '' }: { readonly message?: string | undefined }): void => void told.push(message);
  const paying = client.callTool({ name: 'pay', arguments: { amount: 5 } }, { onprogress });
  const id = await waiting(plane);
  await expect.poll(() => told).toEqual([expect.stringContaining(`tollgate approvals show ${id}`)]);
  expect(paid).toEqual([]);
  expect(await approve(plane, id)).toMatchObject({ status: 200 });
  expect(await paying).toMatchObject({ content: [{ type: 'text', text: 'paid' }] });
  expect(paid).toEqual([{ amount: 5 }]);
  expect(await listed(plane, 'used')).toMatchObject([{ id, used: 1 }]);
});
