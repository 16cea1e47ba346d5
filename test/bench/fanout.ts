// P6: the time from a committed PUT until the last of 1,000 sidecars has acknowledged it, compared with a bare grpc-js
// server that writes the same bytes to as many streams. P8: the cost of reconnecting at the current revision. P11:
// memory of a control plane for each connected sidecar. R9: the cost of one sidecar that stops reading.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../../control-plane/database/embedded/start.ts';
import { withClient } from '../support/database.ts';
import { ask, type ControlPlane, type Program, startControlPlane, startProgram } from '../support/programs.ts';
import type { FollowReport } from './fanout/said.ts';
import { judge, judgeAmount, percentile, type Result } from './measure.ts';

const sidecars = 1_000;
const pushes = 50;
const ownerKey = `gsk_default_${'k'.repeat(40)}`;

export async function benchFanout(): Promise<readonly Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const programs: Program[] = [];
  const postgres = await startEmbedded({ dataDir: folder, log: () => {} });
  try {
    const { host, port, user, database } = postgres.connection;
    const plane = await startControlPlane({
      DATABASE_URL: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}&sslmode=disable`,
      TOLLGATE_DATA_DIR: folder,
      TOLLGATE_OWNER_KEY: ownerKey,
    });
    programs.push(plane);
    const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'sidecars', scopes: ['sidecar.sync'] } });
    const key = String(made.body['key']);
    const start = async (...args: readonly string[]): Promise<Program> => {
      const program = await startProgram(['--import', 'tsx', '--conditions=tollgate-source', ...args], { env: {}, until: 'port' });
      programs.push(program);
      return program;
    };
    const raisedAt = (): Promise<number> =>
      withClient(postgres.connection, async (client) => {
        const { rows } = await client.query<{ ms: string }>('select extract(epoch from raised_at) * 1000 as ms from workspace');
        return Number(rows[0]?.ms);
      });
    await change(plane, 0);
    const before = await settledBytes(plane);
    const thin = await start('test/bench/fanout/acknowledgers.ts', plane.grpc, String(sidecars - 1), key, 'real');
    await followed(thin, await change(plane, 1));
    const held = (await settledBytes(plane)) - before;
    const ours: number[] = [];
    let bytes = '';
    for (let push = 0; push < pushes; push++) {
      const last = await followed(thin, await change(plane, push));
      ours.push(last.lastAt - (await raisedAt()));
      bytes = last.bytes;
    }
    const again = await post<{ readonly pushed: number }>(thin, '/reconnect');
    const bareMs = await pushedBare(start, bytes);
    const deaf = await deafened(plane, thin, raisedAt);
    const ms = median(ours);
    return [
      judge('P6', {
        name: `P6 PUT to the last of ${sidecars} acknowledged`,
        value: ms,
        unit: 'ms',
        baseline: `bare grpc-js fan-out of the same ${Buffer.from(bytes, 'base64').length} bytes: ${bareMs.toFixed(1)} ms`,
        ratio: ms / bareMs,
      }),
      judge('P8', {
        name: `P8 ${sidecars - 1} reconnects at the current revision`,
        value: again.pushed,
        unit: 'bytes of snapshots',
        baseline: 'none',
        ratio: again.pushed,
      }),
      judgeAmount('P11 control plane', held / sidecars / 1024, {
        name: 'P11 control plane, memory for each connected sidecar',
        value: held / sidecars / 1024,
        unit: 'KB',
        baseline: `${(before / 1024 ** 2).toFixed(0)} MB without any; the ratio is to 75 KB`,
      }),
      judge('R9', {
        name: 'R9 one sidecar that never reads: the others',
        value: deaf.ms,
        unit: 'ms',
        baseline: `all reading: ${ms.toFixed(1)} ms; memory ${deaf.grownMb.toFixed(1)} MB more after ${pushes} pushes`,
        ratio: deaf.ms / ms,
      }),
    ];
  } finally {
    for (const program of programs.toReversed()) await program.end('SIGKILL');
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Writes one rule that differs from the previous one; returns its revision. */
async function change(plane: ControlPlane, turn: number): Promise<number> {
  const url = `${plane.rest}/default/admin/workspacePolicy`;
  const permission = turn % 2 === 0 ? 'deny' : 'allow';
  const answer = await ask(url, ownerKey, { method: 'PUT', body: { tools: { 'files.read': { api: { permission } } } } });
  if (answer.status >= 300) throw new Error(`PUT was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return Number(answer.body['revision']);
}

async function followed(program: Program, revision: number): Promise<FollowReport> {
  const response = await fetch(`http://127.0.0.1:${program.announced.get('port')}/wait?revision=${revision}`);
  return response.json() as Promise<FollowReport>;
}

async function post<T>(program: Program, path: string, body: object = {}): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${program.announced.get('port')}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
  return response.json() as Promise<T>;
}

/** Ms from the first byte written to the last of as many acknowledgements, by a server that does nothing else. */
async function pushedBare(start: (...args: readonly string[]) => Promise<Program>, encoded: string): Promise<number> {
  const bare = await start('test/bench/fanout/bare.ts');
  const thin = await start('test/bench/fanout/acknowledgers.ts', `127.0.0.1:${bare.announced.get('gRPC')}`, String(sidecars));
  let streams = 0;
  const took: number[] = [];
  while (took.length < pushes) {
    const pushed = await post<{ readonly startedAt: number; readonly streams: number }>(bare, '/push', { bytes: encoded });
    streams = pushed.streams;
    // They connect one after the other. The bytes name one revision, so all have acknowledged once nothing new arrives.
    if (streams < sidecars) continue;
    took.push((await settledAt(thin)) - pushed.startedAt);
  }
  return median(took.slice(1));
}

/** The time of the last acknowledgement, once there were none for a while. */
async function settledAt(thin: Program): Promise<number> {
  for (;;) {
    const { lastAt } = await followed(thin, 0);
    await new Promise((rest) => setTimeout(rest, 100));
    if ((await followed(thin, 0)).lastAt === lastAt) return lastAt;
  }
}

async function deafened(plane: ControlPlane, thin: Program, raisedAt: () => Promise<number>) {
  const before = residentBytes(plane);
  await post(thin, '/deafen');
  const took: number[] = [];
  for (let push = 0; push < pushes; push++) {
    const { lastAt } = await followed(thin, await change(plane, push));
    took.push(lastAt - (await raisedAt()));
  }
  return { ms: median(took), grownMb: (residentBytes(plane) - before) / 1024 ** 2 };
}

/** Returns once the memory does not change by a percent in half a second. */
async function settledBytes(program: Program): Promise<number> {
  for (let last = 0; ; ) {
    const now = residentBytes(program);
    if (Math.abs(now - last) < now / 100) return now;
    last = now;
    await new Promise((rest) => setTimeout(rest, 500));
  }
}

const residentBytes = ({ pid }: Program): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
