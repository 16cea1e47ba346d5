// The embedded PostgreSQL of a control plane is killed: the control plane stays up, has it again within seconds, and
// has lost nothing that it had answered.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ask, eventually, startControlPlane, startSidecarProgram } from '../support/programs.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;

test('continues with the committed data, follows policy again, and ingests entries', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-embedded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: folder, TOLLGATE_OWNER_KEY: ownerKey });
  onTestFinished(() => plane.end('SIGTERM').then(() => undefined));
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } });
  const sidecar = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: String(made.body['key']),
    TOLLGATE_SPOOL_DIR: join(folder, 'spool'),
  });
  onTestFinished(() => sidecar.end('SIGKILL').then(() => undefined));
  const isReady = ({ status }: { readonly status: number }): boolean => status === 200;
  await eventually(() => ask(`${sidecar.url}/readyz`, ownerKey), isReady);
  const call = () =>
    ask(`${sidecar.url}/govern/tool-use`, ownerKey, {
      body: { tool_name: 'files.read', tool_input: {}, session_id: 'killed', agent_tier: 'api' },
    });

  process.kill(Number.parseInt(readFileSync(join(folder, 'postgres/data/postmaster.pid'), 'utf8'), 10), 'SIGKILL');
  expect((await call()).body['decision']).toBe('allow');
  const keys = () => ask(`${plane.rest}/default/admin/keys`, ownerKey);
  const { body } = await eventually(keys, isReady, 30_000);
  expect(JSON.stringify(body)).toContain('"test"');
  await eventually(() => ask(`${plane.rest}/readyz`, ownerKey), isReady, 30_000);
  const entries = () => ask(`${plane.rest}/default/admin/audit?session=killed`, ownerKey);
  await eventually(entries, ({ body: { count } }) => count === 1, 30_000);
  const frozen = await ask(`${plane.rest}/default/admin/freeze`, ownerKey, { method: 'POST' });
  expect(frozen.status).toBeLessThan(300);
  await eventually(call, ({ body: { decision } }) => decision === 'deny', 30_000);
});
