// P12: the time from starting the process to ready: a sidecar with the policy on its disk and without a control plane,
// and a control plane on an existing embedded database; compared with `node -e 0`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { untilReady } from './gateway/around.ts';
import { judge, percentile, type Result } from './measure.ts';

const rounds = 9;
const ownerKey = `gsk_default_${'k'.repeat(40)}`;

export async function benchStarts(): Promise<readonly Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  try {
    const startPlane = () => startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: ownerKey });
    const first = await startPlane();
    const { body } = await ask(`${first.rest}/default/admin/keys`, ownerKey, { body: { name: 'sidecar', scopes: ['sidecar.sync'] } });
    const startSidecar = async (controlPlane: string) => {
      const program = await startSidecarProgram({
        TOLLGATE_CONTROL_PLANE: controlPlane,
        TOLLGATE_KEY: String(body['key']),
        TOLLGATE_SPOOL_DIR: join(folder, 'spool'),
      });
      await untilReady(program.url, 2);
      return program;
    };
    // It writes the policy to disk as it ends.
    await (await startSidecar(first.grpc)).end();
    await first.end();
    const plane = await timed(startPlane);
    const sidecar = await timed(() => startSidecar('127.0.0.1:9'));
    const bareMs = percentile(
      Array.from({ length: rounds }, () => {
        const startedAt = performance.now();
        spawnSync(process.execPath, ['-e', '0']);
        return performance.now() - startedAt;
      }),
      0.5,
    );
    const started = (id: 'P12 sidecar' | 'P12 control plane', name: string, ms: number): Result =>
      judge(id, { name, value: ms, unit: 'ms', baseline: `node -e 0: ${bareMs.toFixed(0)} ms`, ratio: ms / bareMs });
    return [
      started('P12 sidecar', 'P12 start: sidecar, ready by the policy on disk', sidecar),
      started('P12 control plane', 'P12 start: control plane on an existing embedded database', plane),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The median in ms; each process is ended before the next begins. */
async function timed(start: () => Promise<{ end(): Promise<unknown> }>): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    const program = await start();
    took.push(performance.now() - startedAt);
    await program.end();
  }
  return percentile(took, 0.5);
}
