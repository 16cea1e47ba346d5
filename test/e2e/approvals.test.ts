// A call that policy asks a person for, with the real programs: the agent's request waits at the sidecar, a person
// approves it over REST, and the call is made once. The agent is the outside witness: it notes each call that it may make.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
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
  const policy = { defaults: { api: { permission: 'allow' } }, tools: { pay: { api: { permission: 'ask' } } } };
  expect(await ask(`${plane.rest}/default/admin/workspacePolicy`, ownerKey, { method: 'PUT', body: policy })).toMatchObject({
    status: 200,
  });
  const agentKey = await keyFor(plane, ['govern']);
  const edge = await keyFor(plane, ['sidecar.sync']);
  const spool = folder();
  const sidecar = async (spoolDir = spool): Promise<SidecarProgram> => {
    const started = await startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: edge,
      TOLLGATE_SPOOL_DIR: spoolDir,
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
