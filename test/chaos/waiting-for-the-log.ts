// Durability `remote` with real processes: every allowed call is in the log before its caller receives the answer.
// Without a control plane calls are denied, and the log shows at the end what each caller received. CI runs this
// without a clock, and test/long with one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ask, eventually, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import type { Measure } from './measure.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-remote-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function keep<P extends Program>(program: P): P {
  onTestFinished(async () => void (await program.end('SIGKILL')));
  return program;
}

interface ShownEntry {
  readonly requestId: string;
  readonly hookEvent: string;
  readonly decision: string;
  readonly outcome?: { readonly action: string; readonly code?: string };
}

/** Steps: `a call`, `one of a hundred`, and without a control plane `the first` and `a later one`. */
export async function waitsForTheLog(measure: Measure): Promise<void> {
  const planeEnv = { TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey };
  const plane = keep(await startControlPlane(planeEnv));
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } });
  const sidecar = keep(
    await startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: String(made.body['key']),
      TOLLGATE_SPOOL_DIR: folder(),
      TOLLGATE_DURABILITY: 'remote',
    }),
  );
  await eventually(
    () => ask(`${sidecar.url}/readyz`, ownerKey),
    ({ status }) => status === 200,
  );
  const call = async (n: number, step = 'a call') => {
    const asked = { tool_name: 'files.read', tool_input: { n }, session_id: 'remote', agent_tier: 'api' };
    const { body } = await measure(step, () => ask(`${sidecar.url}/govern/tool-use`, ownerKey, { body: asked }));
    return { id: String(body['request_id']), decision: body['decision'], reason: body['reason'] };
  };
  const entries = async (at: { readonly rest: string }): Promise<readonly ShownEntry[]> => {
    const { body } = await ask(`${at.rest}/default/admin/audit?session=remote&limit=1000`, ownerKey);
    // The type that the API document states.
    return Array.isArray(body['entries']) ? (body['entries'] as ShownEntry[]) : [];
  };

  for (let n = 0; n < 40; n += 1) {
    const { id, decision } = await call(n);
    expect(decision).toBe('allow');
    if (n % 8 === 0) expect((await entries(plane)).map(({ requestId }) => requestId)).toContain(id);
  }
  const together = await Promise.all(Array.from({ length: 100 }, (_, n) => call(100 + n, 'one of a hundred')));
  expect(new Set(together.map(({ decision }) => decision))).toEqual(new Set(['allow']));

  await plane.end('SIGKILL');
  const first = await call(1_000, 'the first');
  const later = await Promise.all([1_001, 1_002, 1_003].map((n) => call(n, 'a later one')));
  const denied = [first, ...later];
  for (const { decision, reason } of denied)
    expect({ decision, reason }).toEqual({ decision: 'deny', reason: expect.stringMatching(/^audit_unavailable/) });

  const again = keep(await startControlPlane({ ...planeEnv, TOLLGATE_GRPC_PORT: plane.grpc.split(':').at(-1) ?? '' }));
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
}
