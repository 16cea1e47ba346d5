// Code that the measurements of `side` share: a control plane with its embedded PostgreSQL and a sidecar of one tree,
// as users start them, with agents and policy. Every started program is ended.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCleanup } from '../../support/checkout/cleanup.ts';
import { type Answer, ask, eventually, type Program, startProgram } from '../../support/programs.ts';
import { judge, type Row } from '../measure.ts';
import type { Running } from './contenders.ts';
import { cpuSecondsOf } from './processes.ts';
import { binOf, type Tree } from './tree.ts';

/** Receives the function that ends a started program. */
export interface Closing {
  add(undo: () => unknown): void;
}

/** Ends every started program, the last first: at the end, after a failure and on Ctrl-C. */
export async function withClosing<T>(work: (closing: Closing, folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-side-'));
  const cleanup = createCleanup();
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  const interrupted = (): void => void cleanup.run().finally(() => process.exit(130));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, interrupted);
  try {
    return await work({ add: (undo) => cleanup.add(async () => void (await undo())) }, folder);
  } finally {
    for (const problem of await cleanup.run()) console.error(`# not ended: ${problem}`);
    for (const signal of signals) process.off(signal, interrupted);
  }
}

const ownerKey = `gsk_default_${'k'.repeat(40)}`;

export interface ControlPlane extends Program {
  readonly rest: string;
  readonly grpc: string;
  /** Sends a request as the owner, to a path below the workspace. */
  ask(path: string, question?: Parameters<typeof ask>[2]): Promise<Answer>;
  /** A key with those scopes. */
  keyWith(scopes: readonly string[]): Promise<string>;
  /** How many items the log has. */
  readonly entries: () => Promise<number>;
}

/** Agents `worker`, whose caps are never reached, and `free`, which has none; and a policy of some rules. */
export async function startControlPlane(tree: Tree, folder: string, closing: Closing): Promise<ControlPlane> {
  const own = binOf(tree, 'tollgate-control-plane') ?? binOf(tree, 'tollgate');
  if (own === null) throw new Error(`${tree.name} has no program for the control plane`);
  const program = await startProgram([own, 'start'], {
    cwd: tree.root,
    until: 'gRPC',
    env: {
      TOLLGATE_PORT: '0',
      TOLLGATE_GRPC_PORT: '0',
      TOLLGATE_DATA_DIR: mkdtempSync(join(folder, 'plane-')),
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
    },
  });
  closing.add(() => program.end());
  const rest = program.announced.get('REST') ?? '';
  const asOwner = async (url: string, question: Parameters<typeof ask>[2]): Promise<Answer> => {
    const answer = await ask(url, ownerKey, question);
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const plane: ControlPlane = {
    ...program,
    rest,
    grpc: program.announced.get('gRPC') ?? '',
    ask: (path, question) => asOwner(`${rest}/default/admin/${path}`, question),
    entries: async () => Number((await plane.ask('audit/checkpoint', { method: 'POST' })).body['size']),
    keyWith: async (scopes) => String((await plane.ask('keys', { body: { name: 'side', scopes } })).body['key']),
  };
  const caps = { maxToolCalls: 10_000, maxToolRounds: 1_000, maxDurationMs: 86_400_000 };
  await asOwner(`${rest}/api/v1/agents`, { body: { name: 'worker', model: 'demo/echo', enabledTools: ['server7.*'], ...caps } });
  await plane.ask('workspacePolicy', { method: 'PUT', body: workspacePolicy });
  await plane.ask('rolePolicies/owner', { method: 'PUT', body: { defaults: { background: { permission: 'deny' } } } });
  return plane;
}

const workspacePolicy = {
  defaults: { interactive: { transform: 'log' }, api: { permission: 'allow' } },
  tools: { 'server7.delete_*': { api: { permission: 'deny' } }, 'payments.*': { api: { permission: 'deny' } } },
};

export interface Sidecar extends Program {
  readonly url: string;
  readonly key: string;
  /** Resolves once all its entries have been acknowledged. */
  readonly delivered: () => Promise<void>;
  /** Decisions so far, and how many of them were denials. */
  readonly decided: () => Promise<{ readonly all: number; readonly denied: number }>;
}

interface SidecarOptions {
  readonly tree: Tree;
  readonly plane: Pick<ControlPlane, 'grpc' | 'keyWith'>;
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startSidecar({ tree, plane, folder, env = {} }: SidecarOptions, closing: Closing): Promise<Sidecar> {
  const key = await plane.keyWith(['sidecar.sync', 'govern']);
  const own = binOf(tree, 'tollgate-sidecar');
  if (own === null) throw new Error(`${tree.name} has no program for the sidecar`);
  const program = await startProgram([own], {
    cwd: tree.root,
    until: 'hooks',
    env: {
      TOLLGATE_SIDECAR_PORT: '0',
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: key,
      TOLLGATE_SPOOL_DIR: mkdtempSync(join(folder, 'spool-')),
      // One key sends all requests.
      TOLLGATE_REQUESTS_PER_SECOND: '1000000',
      ...env,
    },
  });
  closing.add(() => program.end());
  const url = new URL(program.announced.get('hooks') ?? '').origin;
  await eventually(
    () => fetch(`${url}/readyz`),
    ({ ok }) => ok,
  );
  const sumOf = async (metric: string, labels = ''): Promise<number> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith(metric) && line.includes(labels));
    if (!text.includes(`# TYPE ${metric} `)) throw new Error(`the sidecar has no metric ${metric}`);
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  };
  return {
    ...program,
    url,
    key,
    delivered: async () => {
      // An answer of /metrics takes five times the CPU of one of /healthz, and counts as work of the sidecar.
      await eventually(
        async () => JSON.parse(await (await fetch(`${url}/healthz`)).text()).audit.records,
        (records) => records === 0,
        60_000,
      );
    },
    decided: async () => ({
      all: await sumOf('tollgate_decisions_total'),
      // At the end of a load, wrk closes its connections, and the requests that are in progress have no caller.
      denied:
        (await sumOf('tollgate_decisions_total', 'decision="deny"')) - (await sumOf('tollgate_decisions_total', 'code="caller_gone"')),
    }),
  };
}

/**
 * How many calls were denied, in loads where every call is within its limit: a denied call is not what the bench
 * measures.
 */
export async function deniedRow(name: string, { decided }: Sidecar): Promise<Row> {
  const { all, denied } = await decided();
  return judge('denied', { name, value: (denied / all) * 100, unit: '% of calls', baseline: `${denied} of ${all}`, ratio: denied / all });
}

/**
 * CPU seconds that programs use while work is done, until nothing is left to do: of the first, and of all programs
 * behind it.
 */
export async function cpuDuring<T>(
  { gateway, behind }: { readonly gateway: number; readonly behind: readonly number[] },
  work: () => Promise<T>,
  rest: () => Promise<void> = async () => undefined,
): Promise<{ readonly answer: T; readonly gateway: number; readonly behind: number }> {
  const behindNow = (): number => behind.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  const before = { gateway: cpuSecondsOf(gateway), behind: behindNow() };
  const answer = await work();
  // Entries that are left to ship belong to the work.
  await rest();
  return { answer, gateway: cpuSecondsOf(gateway) - before.gateway, behind: behindNow() - before.behind };
}

/** A program of bare.js. */
export async function startBare(role: 'upstream' | 'proxy' | 'hooks', argument: string, closing: Closing): Promise<Running> {
  const program = await startProgram(['test/bench/side/bare.js', role, argument], { env: {}, until: 'port' });
  closing.add(() => program.end());
  return { pid: program.pid, url: `http://127.0.0.1:${program.announced.get('port')}` };
}
