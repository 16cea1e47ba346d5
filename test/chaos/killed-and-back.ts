// A control plane is killed and restarted. Meanwhile a sidecar process continues to decide by the revision that its
// entries name, and the workspace's outage rule is exact to the millisecond. After the restart everything works as
// before, and every decision is in the audit log once. CI runs this without a clock, and test/long with one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ask, type ControlPlane, eventually, type SidecarProgram, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { freePort } from '../support/prometheus.ts';
import type { Measure } from './measure.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { askAsOwner, putPolicy } from './world.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const staleMs = 3_000;

export interface Scene {
  readonly sidecar: SidecarProgram;
  readonly plane: () => ControlPlane;
  /** Kills it, or starts it again on the same port. */
  killPlane(): Promise<void>;
  startPlane(): Promise<void>;
  close(): Promise<void>;
}

export async function startScene(): Promise<Scene> {
  const postgres = await startPostgres();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-outage-'));
  const started: { end(signal?: NodeJS.Signals): Promise<unknown> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(started.map((program) => program.end('SIGKILL')));
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const launch = await launching(postgres, folder);
    let plane = await launch();
    started.push(plane);
    const { body } = await askAsOwner(plane, '/default/admin/keys', { body: { name: 'edge', scopes: ['sidecar.sync', 'govern'] } });
    const sidecar = await startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: String(body['key']),
      TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
      TOLLGATE_SIDECAR_ID: 'edge',
    });
    started.push(sidecar);
    return {
      sidecar,
      plane: () => plane,
      killPlane: async () => void (await plane.end('SIGKILL')),
      startPlane: async () => {
        plane = await launch();
        started.push(plane);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function launching(postgres: Postgres, folder: string): Promise<() => Promise<ControlPlane>> {
  const grpcPort = String(await freePort());
  const env = {
    DATABASE_URL: postgres.url('outage'),
    TOLLGATE_DATA_DIR: join(folder, 'plane'),
    TOLLGATE_OWNER_KEY: ownerKey,
    TOLLGATE_GRPC_PORT: grpcPort,
  };
  return () => startControlPlane(env);
}

interface Policy {
  readonly connected: boolean;
  readonly outage: boolean;
  readonly ageMs: number;
  readonly revision: number;
}

async function healthOf({ sidecar }: Scene): Promise<Policy> {
  const response = await fetch(`${sidecar.url}/healthz`);
  return ((await response.json()) as { readonly policy: Policy }).policy;
}

interface AuditedCall {
  readonly tier: string;
  readonly tool: string;
  readonly requestId: string;
  readonly code: string;
}

interface Calling {
  readonly scene: Scene;
  readonly measure: Measure;
  readonly key: string;
  readonly calls: AuditedCall[];
}

/** `step`: the name under which the call is measured. */
async function call({ scene, measure, key, calls }: Calling, step: string, tier: string, tool: string): Promise<AuditedCall> {
  const { status, body } = await measure(step, () =>
    ask(`${scene.sidecar.url}/govern/tool-use`, key, {
      body: { tool_name: tool, tool_input: {}, session_id: 'outage', agent_name: 'bot', agent_tier: tier },
    }),
  );
  expect(status).toBe(200);
  const called = { tier, tool, requestId: String(body['request_id']), code: String(body['reason']).split(':', 1)[0] ?? '' };
  calls.push(called);
  return called;
}

/** One call of each kind, between two reads of the policy's age: the result of the rule must fit both. */
async function round(calling: Calling, step: string): Promise<Policy> {
  const before = await healthOf(calling.scene);
  const api = await call(calling, step, 'api', 'files.read');
  const after = await healthOf(calling.scene);
  if (api.code === 'allowed') expect(before.ageMs).toBeLessThanOrEqual(staleMs);
  else {
    expect(api.code).toBe('outage');
    // The control plane may become reachable again in between.
    if (!after.connected) expect(after.ageMs).toBeGreaterThan(staleMs);
  }
  const read = await call(calling, step, 'interactive', 'files.read');
  const deleted = await call(calling, step, 'interactive', 'files.delete');
  expect([read.code, deleted.code]).toEqual(['allowed', 'policy_denied']);
  return after;
}

/** Steps: `a call with`, `a call without`, `the return`. */
export async function survives(scene: Scene, measure: Measure): Promise<void> {
  const issued = await askAsOwner(scene.plane(), '/default/admin/keys', { body: { name: 'agent', scopes: ['govern'] } });
  const calling: Calling = { scene, measure, key: String(issued.body['key']), calls: [] };
  const health = (): Promise<Policy> => healthOf(scene);
  const revision = await putPolicy(scene.plane(), {
    outage: { maxStalenessSeconds: staleMs / 1_000, then: { interactive: 'last_known', api: 'deny' } },
    tools: { 'files.delete': { interactive: { permission: 'deny' }, api: { permission: 'deny' } } },
  });
  await eventually(health, (policy) => policy.connected && policy.revision === revision);

  for (let at = 0; at < 60; at += 1) await round(calling, 'a call with');
  await scene.killPlane();
  while ((await round(calling, 'a call without')).ageMs <= staleMs + 1_500);
  expect(calling.calls.filter(({ code }) => code === 'outage').length).toBeGreaterThan(5);
  expect((await health()).outage).toBe(true);

  await scene.startPlane();
  const back = await measure('the return', () => eventually(health, ({ connected }) => connected));
  expect(back).toMatchObject({ outage: false, revision });
  const asked = [...calling.calls];
  expect((await call(calling, 'a call with', 'api', 'files.read')).code).toBe('allowed');
  const next = await putPolicy(scene.plane(), { outage: { maxStalenessSeconds: 3_600 } });
  await eventually(health, (policy) => policy.revision === next);
  await expectRecorded(scene, asked, { revision, next });
}

async function expectRecorded(
  scene: Scene,
  asked: readonly AuditedCall[],
  { revision, next }: { readonly revision: number; readonly next: number },
): Promise<void> {
  const wanted = new Map(asked.map((one) => [one.requestId, one]));
  const entries = await eventually(
    () => readEntries(scene),
    (found) => found.filter(({ requestId }) => wanted.has(requestId)).length >= wanted.size,
  );
  const ours = entries.filter(({ requestId }) => wanted.has(requestId));
  expect(ours).toHaveLength(wanted.size);
  // Checks the rule by the entries' own fields, to the millisecond; each by the revision that it names.
  for (const { outage = false, policyAgeMs } of ours) expect(outage).toBe(policyAgeMs > staleMs);
  expect(new Set(ours.map((entry) => entry.revision))).toEqual(new Set([revision]));
  expect(ours.filter(({ code }) => code === 'outage').every(({ agentTier, outage }) => agentTier === 'api' && outage === true)).toBe(true);
  expect(ours.some(({ outage, code }) => outage === true && code === 'allowed')).toBe(true);

  const listed = await eventually(
    () => readSidecar(scene),
    (found) => Number(found?.status?.outageDecisions) > 0,
  );
  expect(listed).toMatchObject({ connected: true, held: { number: next }, lag: { revisions: 0 }, status: { unrecorded: 0 } });
  expect(listed?.status?.outageDecisions).toBe(ours.filter(({ outage }) => outage === true).length);
}

interface Entry {
  readonly requestId: string;
  readonly code: string;
  readonly agentTier: string;
  readonly revision: number;
  readonly policyAgeMs: number;
  readonly outage?: boolean;
}

async function readEntries(scene: Scene): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await ask(`${scene.plane().rest}/default/admin/audit?session=outage&limit=1000${cursor}`, ownerKey);
    found.push(...(body['entries'] as readonly Entry[]));
    if (typeof body['next'] !== 'string') return found;
    cursor = `&cursor=${encodeURIComponent(body['next'])}`;
  }
}

interface ListedSidecar {
  readonly id: string;
  readonly connected: boolean;
  readonly status: { readonly outageDecisions: number } | null;
}

/** A control plane records its connected sidecars every two seconds. */
async function readSidecar(scene: Scene): Promise<ListedSidecar | undefined> {
  const { body } = await ask(`${scene.plane().rest}/default/admin/sidecars`, ownerKey);
  return (body['sidecars'] as readonly ListedSidecar[]).find(({ id }) => id === 'edge');
}
