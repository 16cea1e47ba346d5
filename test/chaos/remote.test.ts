// Durability `remote` with real processes: every call that passed is in the log by the time its caller hears it; without a
// control plane calls are denied, the first after 5 s and the others at once, and the log says in the end what each caller got.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ask, eventually, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-remote-'));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function keep<P extends Program>(program: P): P {
  cleanups.push(() => program.end('SIGKILL'));
  return program;
}

interface ShownEntry {
  readonly requestId: string;
  readonly hookEvent: string;
  readonly decision: string;
  readonly outcome?: { readonly action: string; readonly code?: string };
}

test('what a caller heard is in the log by then; without a control plane calls are denied, and the log says so later', async () => {
  const planeEnv = { TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey };
  const plane = keep(await startControlPlane(planeEnv, 'source'));
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } });
  const sidecar = keep(
    await startSidecarProgram(
      {
        TOLLGATE_CONTROL_PLANE: plane.grpc,
        TOLLGATE_KEY: String(made.body['key']),
        TOLLGATE_SPOOL_DIR: folder(),
        TOLLGATE_DURABILITY: 'remote',
      },
      'source',
    ),
  );
  await eventually(
    () => ask(`${sidecar.url}/readyz`, ownerKey),
    ({ status }) => status === 200,
  );
  const call = async (n: number) => {
    const startedAt = performance.now();
    const { body } = await ask(`${sidecar.url}/govern/tool-use`, ownerKey, {
      body: { tool_name: 'files.read', tool_input: { n }, session_id: 'remote', agent_tier: 'api' },
    });
    return { id: String(body['request_id']), decision: body['decision'], reason: body['reason'], tookMs: performance.now() - startedAt };
  };
  const entries = async (at: { readonly rest: string }): Promise<readonly ShownEntry[]> => {
    const { body } = await ask(`${at.rest}/default/admin/audit?session=remote&limit=1000`, ownerKey);
    // What the API document says of it.
    return Array.isArray(body['entries']) ? (body['entries'] as ShownEntry[]) : [];
  };

  const tookMs: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    const { id, decision, tookMs: took } = await call(n);
    expect(decision).toBe('allow');
    if (n % 8 === 0) expect((await entries(plane)).map(({ requestId }) => requestId)).toContain(id);
    tookMs.push(took);
  }
  const together = await Promise.all(Array.from({ length: 100 }, (_, n) => call(100 + n)));
  expect(new Set(together.map(({ decision }) => decision))).toEqual(new Set(['allow']));

  await plane.end('SIGKILL');
  const first = await call(1_000);
  const later = await Promise.all([call(1_001), call(1_002), call(1_003)]);
  const denied = [first, ...later];
  for (const { decision, reason } of denied)
    expect({ decision, reason }).toEqual({ decision: 'deny', reason: expect.stringMatching(/^audit_unavailable/) });
  expect(first.tookMs).toBeGreaterThan(4_900);
  expect(Math.max(...later.map(({ tookMs: took }) => took))).toBeLessThan(2_500);

  const again = keep(await startControlPlane({ ...planeEnv, TOLLGATE_GRPC_PORT: plane.grpc.split(':').at(-1) ?? '' }, 'source'));
  const passed = await eventually(
    () => call(2_000),
    ({ decision }) => decision === 'allow',
    60_000,
  );
  const all = await entries(again);
  expect(all.filter(({ requestId }) => requestId === passed.id)).toHaveLength(1);
  for (const { id } of denied) {
    const own = all.filter(({ requestId }) => requestId === id);
    expect(own.map(({ hookEvent, outcome }) => `${hookEvent} ${outcome?.code ?? ''}`).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'PostToolUse audit_unavailable',
      'PreToolUse ',
    ]);
  }
  const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  process.stdout.write(
    `remote: one call at a time ${median(tookMs).toFixed(1)} ms, of 100 at once ${median(together.map(({ tookMs: took }) => took)).toFixed(1)} ms (medians); away: ${first.tookMs.toFixed(0)} ms, then ${median(later.map(({ tookMs: took }) => took)).toFixed(1)} ms\n`,
  );
});
