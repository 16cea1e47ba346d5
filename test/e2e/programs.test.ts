// Tests what the README promises of the programs, each as its own process: stored data, changes that take effect,
// survived kills.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import {
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
const servers: FakeServer[] = [];

afterEach(async () => {
  for (const program of running.splice(0).reverse()) await program.end();
  for (const server of servers.splice(0)) await server.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  folders.push(made);
  return made;
}

async function controlPlane(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<ControlPlane> {
  const started = await startControlPlane({ TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey, ...env });
  running.push(started);
  return started;
}

async function sidecar(env: Readonly<Record<string, string>>): Promise<SidecarProgram> {
  const started = await startSidecarProgram(env);
  running.push(started);
  return started;
}

const keyFor = async (plane: ControlPlane, scopes: readonly string[]): Promise<string> =>
  String((await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes } })).body['key']);

const toolUse = (at: SidecarProgram, session: string, tool = 'files.read') =>
  ask(`${at.url}/govern/tool-use`, ownerKey, {
    body: { tool_name: tool, tool_input: { path: '/etc/motd' }, session_id: session, agent_tier: 'api' },
  });

const entriesOf = async (plane: ControlPlane, session: string): Promise<readonly Record<string, unknown>[]> => {
  const { body } = await ask(`${plane.rest}/default/admin/audit?session=${session}&limit=1000`, ownerKey);
  return Array.isArray(body['entries']) ? body['entries'] : [];
};

describe('the control plane', () => {
  test('answers the spec with the owner key, and keeps its data after SIGTERM and kill -9, while TOLLGATE_SECRET_KEY is rotated', async () => {
    const [dataDir, old, next] = [folder(), 'o'.repeat(32), 'n'.repeat(32)];
    const fake = await startFakeServer();
    servers.push(fake);
    fake.pages = [[tool('read')]];
    const start = (keys: string) => controlPlane(dataDir, { TOLLGATE_SECRET_KEY: keys, TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true' });
    const first = await start(old);
    const made = await ask(`${first.rest}/api/v1/agents`, ownerKey, { body: { name: 'triage', model: 'demo/echo' } });
    expect(made).toMatchObject({ status: 200, body: { ok: true } });
    const policy = { defaults: { api: { permission: 'deny' } } };
    expect(await ask(`${first.rest}/default/admin/workspacePolicy`, ownerKey, { method: 'PUT', body: policy })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    const server = { name: 'files', url: fake.url, headers: { Authorization: 'a token' } };
    expect(await ask(`${first.rest}/default/admin/toolServers`, ownerKey, { body: server })).toMatchObject({ status: 200 });
    expect(await first.end('SIGTERM')).toBe(0);

    for (const [signal, keys, resealed] of [
      ['SIGKILL', `${next},${old}`, 1],
      ['SIGTERM', next, 0],
    ] as const) {
      const again = await start(keys);
      expect((await ask(`${again.rest}/api/v1/agents`, ownerKey)).body).toMatchObject({
        profiles: [{ id: made.body['id'], name: 'triage' }],
      });
      expect((await ask(`${again.rest}/default/admin/workspacePolicy`, ownerKey)).body).toEqual(policy);
      expect(
        again.log().split('"toolServers":1,"authorities":0,"approvalSecrets":0,"msg":"secrets were encrypted again with the first key'),
      ).toHaveLength(1 + resealed);
      fake.asked.length = 0;
      const refresh = `${again.rest}/default/admin/toolServers/files/refresh`;
      expect(await ask(refresh, ownerKey, { method: 'POST' })).toMatchObject({ status: 200 });
      expect(fake.asked[0]?.headers.authorization).toBe('a token');
      await again.end(signal);
    }
  });

  test('refuses to start with another owner key than the first, with an unknown variable, and beyond loopback', async () => {
    const dataDir = folder();
    await (await controlPlane(dataDir)).end();
    await expect(controlPlane(dataDir, { TOLLGATE_OWNER_KEY: `gsk_default_${'x'.repeat(40)}` })).rejects.toThrow(
      /ended with 2:[\s\S]*TOLLGATE_OWNER_KEY/,
    );
    await expect(controlPlane(dataDir, { TOLLGATE_PROT: '8080', TOLLGATE_PORT: 'many' })).rejects.toThrow(
      /TOLLGATE_PORT must be[\s\S]*TOLLGATE_PROT is not a variable/,
    );
    await expect(controlPlane(dataDir, { TOLLGATE_HOST: '0.0.0.0' })).rejects.toThrow(/TOLLGATE_ALLOW_PLAINTEXT/);
  });
});

test('the young generation of a program is small after its start', async () => {
  const plane = await controlPlane(folder());
  const gate = await sidecar({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: await keyFor(plane, ['sidecar.sync']),
    TOLLGATE_SPOOL_DIR: folder(),
  });
  for (const url of [plane.rest, gate.url]) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const bytes = Number(/^nodejs_heap_space_size_total_bytes\{space="new"\} (\S+)$/m.exec(metrics)?.[1]);
    expect(bytes).toBeGreaterThan(0);
    // A start that does not hold it back ends with 32 MB or more.
    expect(bytes).toBeLessThanOrEqual(8 * 1_048_576);
  }
});

describe('the sidecar process', () => {
  test('becomes ready with a sidecar.sync key, decides, and enforces a PUT that denies a tool', async () => {
    const plane = await controlPlane(folder());
    const gate = await sidecar({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: await keyFor(plane, ['sidecar.sync']),
      TOLLGATE_SPOOL_DIR: folder(),
    });
    await eventually(
      () => ask(`${gate.url}/readyz`, ownerKey),
      ({ status }) => status === 200,
    );
    expect(await toolUse(gate, 'felt')).toMatchObject({
      status: 200,
      body: { decision: 'allow', reason: expect.stringMatching(/^allowed: /) },
    });
    await ask(`${plane.rest}/default/admin/workspacePolicy`, ownerKey, {
      method: 'PUT',
      body: { tools: { 'files.read': { api: { permission: 'deny' } } } },
    });
    const denied = await eventually(
      () => toolUse(gate, 'felt'),
      ({ body }) => body['decision'] === 'deny',
    );
    expect(denied).toMatchObject({ status: 200, body: { reason: expect.stringContaining('tools["files.read"].api'), kind: 'terminal' } });
  });

  test('continues to decide while the control plane is killed, also after its own restart, and its entries arrive once', async () => {
    const dataDir = folder();
    const spoolDir = folder();
    const first = await controlPlane(dataDir);
    const env = { TOLLGATE_KEY: await keyFor(first, ['sidecar.sync']), TOLLGATE_SPOOL_DIR: spoolDir, TOLLGATE_CONTROL_PLANE: first.grpc };
    const gate = await sidecar(env);
    await eventually(
      () => ask(`${gate.url}/readyz`, ownerKey),
      ({ status }) => status === 200,
    );
    const answered: string[] = [];
    const decideOn = async (at: SidecarProgram, calls: number): Promise<void> => {
      for (let call = 0; call < calls; call++) {
        const { status, body } = await toolUse(at, 'kills');
        expect({ status, decision: body['decision'] }).toEqual({ status: 200, decision: 'allow' });
        answered.push(String(body['request_id']));
      }
    };
    await decideOn(gate, 20);
    await first.end('SIGKILL');
    await decideOn(gate, 30);
    await gate.end('SIGKILL');
    // From disk, without a control plane.
    const restarted = await sidecar(env);
    await eventually(
      () => ask(`${restarted.url}/readyz`, ownerKey),
      ({ status }) => status === 200,
    );
    await decideOn(restarted, 10);

    const port = new URL(`http://${first.grpc}`).port;
    const second = await controlPlane(dataDir, { TOLLGATE_GRPC_PORT: port });
    const entries = await eventually(
      () => entriesOf(second, 'kills'),
      (all) => all.length >= answered.length,
      60_000,
    );
    const found = entries.map((entry) => String(entry['requestId']));
    expect(found).toHaveLength(answered.length);
    expect(new Set(found)).toEqual(new Set(answered));
  });

  test('reports all errors of its variables at once', async () => {
    await expect(sidecar({ TOLLGATE_KEY: 'nonsense', TOLLGATE_DURABILITY: 'maybe' })).rejects.toThrow(
      /TOLLGATE_KEY must be[\s\S]*TOLLGATE_DURABILITY must be one of kernel, disk/,
    );
  });
});
