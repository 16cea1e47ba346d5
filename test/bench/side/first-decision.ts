// S6: the time from starting the sidecar process to its first decision, with the policy on its disk and without,
// compared with `node -e 0`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { judge, median, orient, type Result } from '../measure.ts';
import { freePort } from './contenders.ts';
import { hookBody } from './questions.ts';
import type { SideOptions } from './side.ts';
import { type Closing, startControlPlane, withClosing } from './stage.ts';
import { binOf, type Tree } from './tree.ts';

const askAgainMs = 2;
const givesUpMs = 30_000;

export const benchFirstDecision = ({ tree, rounds, alone }: SideOptions): Promise<readonly Result[]> =>
  withClosing(async (closing, folder) => {
    const plane = await startControlPlane(tree, folder, closing);
    const key = await plane.keyWith(['sidecar.sync', 'govern']);
    const kept = mkdtempSync(join(folder, 'kept-'));
    const start = (spool: string): Promise<number> => firstDecisionMs(tree, { grpc: plane.grpc, key, spool }, closing);
    // This start brings the policy to the disk.
    await start(kept);
    const pairs: { readonly bare: number; readonly fromDisk: number; readonly without: number }[] = [];
    for (let round = 0; round < 2 * rounds - 1; round += 1)
      pairs.push({ bare: bareMs(), fromDisk: await start(kept), without: await start(mkdtempSync(join(folder, 'fresh-'))) });
    const baseline = `node -e 0: ${median(pairs.map(({ bare }) => bare)).toFixed(0)} ms`;
    const row = (id: 'S6 from disk' | 'S6 without', name: string, of: 'fromDisk' | 'without'): Result => {
      const fields = {
        name,
        value: median(pairs.map((pair) => pair[of])),
        unit: 'ms',
        baseline,
        ratio: median(pairs.map((pair) => pair[of] / pair.bare)),
      };
      return alone ? orient(fields) : judge(id, fields);
    };
    return [
      row('S6 from disk', 'S6 first decision of a sidecar, policy on disk', 'fromDisk'),
      row('S6 without', 'S6 first decision of a sidecar, no policy on disk', 'without'),
    ];
  });

function bareMs(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}

async function firstDecisionMs(
  tree: Tree,
  { grpc, key, spool }: { readonly grpc: string; readonly key: string; readonly spool: string },
  closing: Closing,
): Promise<number> {
  const port = await freePort();
  const env = { TOLLGATE_CONTROL_PLANE: grpc, TOLLGATE_KEY: key, TOLLGATE_SPOOL_DIR: spool, TOLLGATE_SIDECAR_PORT: `${port}` };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [binOf(tree, 'tollgate-sidecar') ?? ''], {
    cwd: tree.root,
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'ignore',
  });
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  // The process is also ended where the bench is interrupted before the first decision.
  closing.add(end);
  try {
    while (!(await isAllowed(port, key))) {
      if (performance.now() - startedAt > givesUpMs || child.exitCode !== null) throw new Error('the sidecar decided nothing');
      await new Promise((rest) => setTimeout(rest, askAgainMs));
    }
    return performance.now() - startedAt;
  } finally {
    await end();
  }
}

const isAllowed = (port: number, key: string): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/govern/tool-use`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: hookBody('first', 'free'),
  }).then(
    async (answer) => (await answer.text()).includes('"allow"'),
    () => false,
  );
