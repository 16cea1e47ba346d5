// Starts the programs that a bench of the gateway needs, and measures one port against another in turn.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram, startSidecarProgram } from '../../support/programs.ts';
import { percentile } from '../measure.ts';
import { benchKey } from './said.ts';
import { capacityOf, latenciesAt, open } from './load.ts';

export interface Stage {
  /** Starts a program of serve.ts; returns its port. */
  serve(role: 'plane' | 'hooks' | 'upstream' | 'proxy' | 'imports', argument?: string): Promise<number>;
  /**
   * Starts the built sidecar, with a control plane of the bench whose layers have the given number of rules each;
   * returns its port.
   */
  sidecar(env?: Readonly<Record<string, string>>, rules?: number): Promise<number>;
  readonly folder: string;
  /** Memory of the program that listens on that port, in bytes. */
  residentOf(port: number): number;
}

/** Every started program is ended. */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const programs: Program[] = [];
  const pids = new Map<number, number>();
  const serve: Stage['serve'] = async (role, argument = '') => {
    const args = ['--import', 'tsx', '--conditions=tollgate-source', 'test/bench/gateway/serve.ts', role, argument];
    // Runs built code without a loader, like the program that it is compared with.
    const built = ['test/bench/gateway/imports.js'];
    const program = await startProgram(role === 'imports' ? built : args, { env: {}, until: 'port' });
    programs.push(program);
    const port = Number(program.announced.get('port'));
    pids.set(port, program.pid);
    return port;
  };
  try {
    return await work({
      folder,
      serve,
      residentOf: (port) => residentBytes(pids.get(port) ?? 0),
      sidecar: async (env = {}, rules = 200) => {
        const plane = await serve('plane', String(rules));
        const program = await startSidecarProgram({
          TOLLGATE_CONTROL_PLANE: `127.0.0.1:${plane}`,
          TOLLGATE_KEY: benchKey,
          TOLLGATE_SPOOL_DIR: join(folder, 'spool'),
          // The process is measured, and one key sends all requests.
          TOLLGATE_REQUESTS_PER_SECOND: '1000000',
          ...env,
        });
        programs.push(program);
        await untilReady(program.url);
        const port = Number(new URL(program.url).port);
        pids.set(port, program.pid);
        return port;
      },
    });
  } finally {
    for (const program of programs.toReversed()) await program.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function untilReady(url: string, restMs = 20): Promise<void> {
  for (let tries = 0; tries < 10_000 / restMs; tries++) {
    const { ok } = await fetch(`${url}/readyz`);
    if (ok) return;
    await new Promise((rest) => setTimeout(rest, restMs));
  }
  throw new Error('the sidecar is not ready');
}

export interface LoadFigures {
  readonly perSecond: number;
  /** Share of the baseline's figure in the same round. */
  readonly share: number;
  /** ms, at a quarter of the subject's capacity. */
  readonly p50: number;
  readonly baselineP50: number;
}

export interface LoadTarget {
  readonly port: number;
  readonly request: Buffer;
}

const connectionsEach = 32;

export async function compareServers(
  subject: LoadTarget,
  baseline: LoadTarget,
  { ms, rounds }: { readonly ms: number; readonly rounds: number },
): Promise<LoadFigures> {
  const openAll = ({ port, request }: LoadTarget) => Promise.all(Array.from({ length: connectionsEach }, () => open(port, request)));
  const [subjects, baselines] = [await openAll(subject), await openAll(baseline)];
  // Runs until the hot code is compiled.
  await capacityOf(subjects, ms);
  await capacityOf(baselines, ms);
  const pairs: { readonly perSecond: number; readonly share: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const perSecond = await capacityOf(subjects, ms);
    pairs.push({ perSecond, share: perSecond / (await capacityOf(baselines, ms)) });
  }
  const perSecond = percentile(
    pairs.map((pair) => pair.perSecond),
    0.5,
  );
  const p50s = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    p50s.subject.push(percentile(await latenciesAt(subjects, perSecond / 4, ms), 0.5));
    p50s.baseline.push(percentile(await latenciesAt(baselines, perSecond / 4, ms), 0.5));
  }
  for (const connection of [...subjects, ...baselines]) connection.close();
  return {
    perSecond,
    share: percentile(
      pairs.map(({ share }) => share),
      0.5,
    ),
    p50: percentile(p50s.subject, 0.5),
    baselineP50: percentile(p50s.baseline, 0.5),
  };
}

/** Memory that both need after the same number of requests each. */
export async function compareMemory(
  stage: Stage,
  { subject, baseline, requests }: { readonly subject: LoadTarget; readonly baseline: LoadTarget; readonly requests: number },
): Promise<{ readonly bytes: number; readonly baselineBytes: number }> {
  const load = async ({ port, request }: LoadTarget): Promise<number> => {
    const connections = await Promise.all(Array.from({ length: connectionsEach }, () => open(port, request)));
    await Promise.all(
      connections.map(async (connection) => {
        for (let asked = 0; asked < requests / connectionsEach; asked++) await connection.ask();
      }),
    );
    for (const connection of connections) connection.close();
    return stage.residentOf(port);
  };
  return { bytes: await load(subject), baselineBytes: await load(baseline) };
}

/** Bytes resident, as the kernel counts them. */
const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
