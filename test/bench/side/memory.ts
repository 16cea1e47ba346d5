// S5: memory (PSS) of an idle sidecar compared with a process with the same imports, after 50,000 calls in 50,000
// sessions compared with a bare fastify after the same requests, and of the control plane with its PostgreSQL compared
// with the first version.
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { startProgram } from '../../support/programs.ts';
import { judge, judgeAmount, median, orient, type Row } from '../measure.ts';
import { measuredAlone, unlessMissing } from './compare.ts';
import { Missing } from './missing.ts';
import { pssBytesOf } from './processes.ts';
import { hookBody } from './questions.ts';
import type { SideOptions } from './side.ts';
import { type Closing, startBare, startControlPlane, startSidecar, withClosing } from './stage.ts';
import { buildCommit, firstVersion, type Tree, thisTree } from './tree.ts';

const calls = 50_000;
const connections = 32;
// Waits until the garbage of the start has been collected.
const settleMs = 5_000;

const mb = (bytes: number): number => bytes / 1024 ** 2;

export async function* benchMemory({ tree, alone, rounds }: SideOptions): AsyncGenerator<Row> {
  const seen: MemoryFigures[] = [];
  for (let round = 0; round < 2 * rounds - 1; round += 1)
    seen.push(await withClosing((closing, folder) => measureOnce({ tree, alone, folder }, closing)));
  const middle = (of: (one: MemoryFigures) => number): number => median(seen.map(of));
  const unit = 'MB';
  const [atRest, planeAtRest] = [middle(({ sidecar }) => sidecar), middle(({ plane }) => plane)];
  const after = {
    name: `S5 sidecar after ${calls.toLocaleString('en')} calls in as many sessions`,
    value: middle((one) => one.sidecarAfter),
    unit,
  };
  const rest = { name: 'S5 sidecar at rest', value: atRest, unit };
  const plane = { name: 'S5 control plane with PostgreSQL at rest', value: planeAtRest, unit };
  const planeAfter = { name: 'S5 control plane with PostgreSQL after the calls', value: middle((one) => one.planeAfter), unit };
  const without = { baseline: measuredAlone, ratio: 1 };
  if (alone) return yield* [rest, after, plane, planeAfter].map((fields) => orient({ ...fields, ...without }));
  const imports = middle((one) => one.imports);
  yield judge('S5 rest', {
    ...rest,
    baseline: `a process with the same imports: ${imports.toFixed(0)} MB`,
    ratio: middle((one) => one.sidecar / one.imports),
  });
  const above = middle((one) => one.sidecarAfter - one.bareAfter);
  yield judgeAmount('S5 sessions', above, {
    ...after,
    baseline: `bare fastify after the same requests: ${middle((one) => one.bareAfter).toFixed(0)} MB, the ratio is of what is above it to 40 MB; ${middle(({ denied }) => denied)} calls were denied`,
  });
  const first = await unlessMissing(() => withClosing((closing, folder) => firstPlane(folder, closing)));
  if (first instanceof Missing) yield { name: plane.name, notMeasured: first.message };
  else yield judge('S5 control plane', { ...plane, baseline: `the first version: ${first.toFixed(0)} MB`, ratio: planeAtRest / first });
  yield orient({ ...planeAfter, ...without });
}

/** Memory in MB. */
interface MemoryFigures {
  /** Denied calls, although all were within their limits. */
  readonly denied: number;
  readonly sidecar: number;
  readonly plane: number;
  readonly imports: number;
  readonly sidecarAfter: number;
  readonly bareAfter: number;
  readonly planeAfter: number;
}

interface Once {
  readonly tree: Tree;
  readonly alone: boolean;
  readonly folder: string;
}

async function measureOnce({ tree, alone, folder }: Once, closing: Closing): Promise<MemoryFigures> {
  const plane = await startControlPlane(tree, folder, closing);
  const sidecar = await startSidecar({ tree, plane, folder }, closing);
  // The same programs run at every reading, because shared pages are divided among the processes that share them.
  const imports = alone ? null : await startImports(closing);
  const bare = alone ? null : await startBare('hooks', '', closing);
  await delay(settleMs);
  const [sidecarAtRest, planeAtRest] = [mb(pssBytesOf(sidecar.pid)), mb(pssBytesOf(plane.pid))];
  const importsAtRest = imports === null ? 0 : mb(pssBytesOf(imports));
  const denied = await askInSessions(sidecar.url, sidecar.key);
  await sidecar.delivered();
  await delay(settleMs);
  const [sidecarAfter, planeAfter] = [mb(pssBytesOf(sidecar.pid)), mb(pssBytesOf(plane.pid))];
  if (bare !== null) await askInSessions(bare.url, sidecar.key);
  await delay(settleMs);
  const bareAfter = bare === null ? 0 : mb(pssBytesOf(bare.pid));
  return { sidecar: sidecarAtRest, plane: planeAtRest, imports: importsAtRest, denied, sidecarAfter, planeAfter, bareAfter };
}

/** Measured idle, with the same programs running as at the reading of ours. */
async function firstPlane(folder: string, closing: Closing): Promise<number> {
  const tree = await buildCommit(firstVersion, closing);
  const plane = await startControlPlane(tree, folder, closing);
  await startSidecar({ tree, plane, folder }, closing);
  await startImports(closing);
  await startBare('hooks', '', closing);
  await delay(settleMs);
  return mb(pssBytesOf(plane.pid));
}

async function startImports(closing: Closing): Promise<number> {
  const program = await startProgram(['test/bench/gateway/imports.js'], { cwd: thisTree.root, env: {}, until: 'port' });
  closing.add(() => program.end());
  return program.pid;
}

/** Each call is the first and only one of its session, of an agent with caps. Returns how many were denied. */
async function askInSessions(url: string, key: string): Promise<number> {
  const pool = new Pool(url, { connections });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  let [asked, denied] = [0, 0];
  const askOn = async (): Promise<void> => {
    while (asked < calls) {
      const body = hookBody(`session-${asked}-of-the-memory-bench`);
      asked += 1;
      const answer = await pool.request({ path: '/govern/tool-use', method: 'POST', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode} ${text}`);
      if (!text.includes('"allow"')) denied += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, askOn));
  await pool.close();
  return denied;
}
