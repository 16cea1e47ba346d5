// R2: the control plane is killed and comes back. Meanwhile a sidecar process goes on deciding, as fast as before and by the revision
// that its entries name; the workspace's outage rule holds to the second; within a second of its return all is as it was, and every
// decision is in the audit once.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type ControlPlane, eventually, type SidecarProgram, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { askTimed, putPolicy } from './world.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const staleMs = 3_000;
const recoveryMsMax = 1_000;

let postgres: Postgres;
let folder: string;
let plane: ControlPlane;
let sidecar: SidecarProgram;
let startPlane: () => Promise<ControlPlane>;
const started: { end(signal?: NodeJS.Signals): Promise<unknown> }[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-outage-'));
  const grpcPort = String(await freePort());
  startPlane = async () => {
    const program = await startControlPlane(
      {
        DATABASE_URL: postgres.url('outage'),
        TOLLGATE_DATA_DIR: join(folder, 'plane'),
        TOLLGATE_OWNER_KEY: ownerKey,
        TOLLGATE_GRPC_PORT: grpcPort,
      },
      'source',
    );
    started.push(program);
    return program;
  };
  plane = await startPlane();
  const { body } = await askTimed(plane, '/default/admin/keys', { body: { name: 'edge', scopes: ['sidecar.sync', 'govern'] } });
  const key = String(body['key']);
  sidecar = await startSidecarProgram(
    { TOLLGATE_CONTROL_PLANE: plane.grpc, TOLLGATE_KEY: key, TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'), TOLLGATE_SIDECAR_ID: 'edge' },
    'source',
  );
  started.push(sidecar);
});

afterAll(async () => {
  await Promise.all(started.map((program) => program.end('SIGKILL')));
  await postgres?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One that nobody listens on now, and that the next control plane listens on too. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('there is no port');
  return address.port;
}

interface Policy {
  readonly connected: boolean;
  readonly outage: boolean;
  readonly ageMs: number;
  readonly revision: number;
}

const health = async (): Promise<Policy> => {
  const response = await fetch(`${sidecar.url}/healthz`);
  return ((await response.json()) as { readonly policy: Policy }).policy;
};

interface Called {
  readonly tier: string;
  readonly tool: string;
  readonly requestId: string;
  readonly code: string;
  readonly ms: number;
}

async function call(key: string, tier: string, tool: string): Promise<Called> {
  const start = performance.now();
  const { status, body } = await ask(`${sidecar.url}/govern/tool-use`, key, {
    body: { tool_name: tool, tool_input: {}, session_id: 'outage', agent_name: 'bot', agent_tier: tier },
  });
  expect(status).toBe(200);
  const code = String(body['reason']).split(':', 1)[0] ?? '';
  return { tier, tool, requestId: String(body['request_id']), code, ms: performance.now() - start };
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;

test('killed and back: decisions go on, the outage rule is exact, and a second later all is as it was', async () => {
  const issued = await askTimed(plane, '/default/admin/keys', { body: { name: 'agent', scopes: ['govern'] } });
  const key = String(issued.body['key']);
  const revision = await putPolicy(plane, {
    outage: { maxStalenessSeconds: staleMs / 1_000, then: { interactive: 'last_known', api: 'deny' } },
    tools: { 'files.delete': { interactive: { permission: 'deny' }, api: { permission: 'deny' } } },
  });
  await eventually(health, (policy) => policy.connected && policy.revision === revision);

  const calls: Called[] = [];
  /** One call of each kind, between two looks at how old the policy is: whatever the rule says must fit to both. */
  const round = async (): Promise<Policy> => {
    const before = await health();
    const api = await call(key, 'api', 'files.read');
    const after = await health();
    if (api.code === 'allowed') expect(before.ageMs).toBeLessThanOrEqual(staleMs);
    else {
      expect(api.code).toBe('outage');
      // It may be heard of again in between.
      if (!after.connected) expect(after.ageMs).toBeGreaterThan(staleMs);
    }
    const read = await call(key, 'interactive', 'files.read');
    const deleted = await call(key, 'interactive', 'files.delete');
    expect([read.code, deleted.code]).toEqual(['allowed', 'policy_denied']);
    calls.push(api, read, deleted);
    return after;
  };
  const rounds = async (until: (policy: Policy) => boolean): Promise<readonly number[]> => {
    const from = calls.length;
    for (;;) {
      const policy = await round();
      if (until(policy)) return calls.slice(from).map(({ ms }) => ms);
    }
  };

  let left = 60;
  const freshMs = await rounds(() => (left -= 1) === 0);
  await plane.end('SIGKILL');
  const killedAt = performance.now();
  const alone = await rounds(({ ageMs }) => ageMs > staleMs + 1_500);
  expect(performance.now() - killedAt).toBeGreaterThan(staleMs - 1_000);
  expect(calls.filter(({ code }) => code === 'outage').length).toBeGreaterThan(5);
  expect((await health()).outage).toBe(true);
  expect(median(alone)).toBeLessThan(3 * median(freshMs) + 5);

  plane = await startPlane();
  const backAt = performance.now();
  const back = await eventually(health, ({ connected }) => connected);
  const recoveredMs = performance.now() - backAt;
  expect(recoveredMs).toBeLessThan(recoveryMsMax);
  expect(back).toMatchObject({ outage: false, revision });
  expect((await call(key, 'api', 'files.read')).code).toBe('allowed');
  const next = await putPolicy(plane, { outage: { maxStalenessSeconds: 3_600 } });
  await eventually(health, (policy) => policy.revision === next);

  const wanted = new Map(calls.map((one) => [one.requestId, one]));
  const entries = await eventually(
    () => readEntries(),
    (found) => found.filter(({ requestId }) => wanted.has(requestId)).length >= wanted.size,
  );
  const ours = entries.filter(({ requestId }) => wanted.has(requestId));
  expect(ours).toHaveLength(wanted.size);
  // The rule by the entries' own word, to the millisecond; each by the revision that it names.
  for (const { outage = false, policyAgeMs } of ours) expect(outage).toBe(policyAgeMs > staleMs);
  expect(new Set(ours.map((entry) => entry.revision))).toEqual(new Set([revision]));
  expect(ours.filter(({ code }) => code === 'outage').every(({ agentTier, outage }) => agentTier === 'api' && outage === true)).toBe(true);
  expect(ours.some(({ outage, code }) => outage === true && code === 'allowed')).toBe(true);

  const listed = await eventually(readSidecar, (found) => Number(found?.status?.outageDecisions) > 0);
  expect(listed).toMatchObject({ connected: true, held: { number: next }, lag: { revisions: 0 }, status: { unrecorded: 0 } });
  expect(listed?.status?.outageDecisions).toBe(ours.filter(({ outage }) => outage === true).length);
});

interface Entry {
  readonly requestId: string;
  readonly code: string;
  readonly agentTier: string;
  readonly revision: number;
  readonly policyAgeMs: number;
  readonly outage?: boolean;
}

async function readEntries(): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await ask(`${plane.rest}/default/admin/audit?session=outage&limit=1000${cursor}`, ownerKey);
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

/** A control plane writes down who is there every two seconds. */
async function readSidecar(): Promise<ListedSidecar | undefined> {
  const { body } = await ask(`${plane.rest}/default/admin/sidecars`, ownerKey);
  return (body['sidecars'] as readonly ListedSidecar[]).find(({ id }) => id === 'edge');
}
