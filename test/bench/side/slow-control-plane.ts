// S8: limits over three sidecars whose control plane is far away. Each counter is a tool with a limit of its own. It is
// called more often than its limit allows within one window, by the sidecars in turn or by all at once. A call is
// within the limit while fewer than the limit were admitted. All calls within the limit must be admitted, and not one
// more.
import { Pool } from 'undici';
import { judge, type Result } from '../measure.ts';
import { hookBody } from './questions.ts';
import { startRelay } from './relay.ts';
import type { SideOptions } from './side.ts';
import { type Closing, type ControlPlane, type Sidecar, startControlPlane, startSidecar, withClosing } from './stage.ts';
import { knowsVariable, type Tree } from './tree.ts';

const roundTripsMs = [1, 50, 300] as const;
const limits = [3, 10, 60] as const;
// Of tools whose calls are not counted.
const warmLimit = 20;
const orders = ['in turn', 'at once'] as const;
const callsPerCell = 1_000;
// Tools that are called at the same time.
const countersAtOnce = 20;
// The default of the control plane: how long a counter keeps the calls that it admitted.
const windowSeconds = 60;
const waitVariable = 'TOLLGATE_LEASE_WAIT_MS';

type Order = (typeof orders)[number];

export const benchSlowControlPlane = ({ tree }: SideOptions): AsyncGenerator<Result> => cells(tree);

async function* cells(tree: Tree): AsyncGenerator<Result> {
  for (const roundTripMs of roundTripsMs)
    yield* await withClosing(async (closing, folder) => {
      const plane = await startControlPlane(tree, folder, closing);
      await plane.ask('workspacePolicy', { method: 'PUT', body: { tools: Object.fromEntries([warmLimit, ...limits].flatMap(rulesOf)) } });
      // One caller calls all of them, since a limit counts for each subject. It is created first, so that all sidecars
      // know it.
      const key = await plane.keyWith(['govern']);
      const sidecars: Sidecar[] = [];
      for (let at = 0; at < 3; at += 1) sidecars.push(await startFar({ tree, plane, folder, roundTripMs }, closing));
      const pools = sidecars.map(({ url }) => new Pool(url, { connections: 512 }));
      closing.add(() => Promise.all(pools.map((pool) => pool.close())));
      const ask = asker(key, pools);
      // Runs until code, connections and the first leases are warm.
      for (const order of orders) await measureCell(warmLimit, order, ask);
      const results: Result[] = [];
      for (const limit of limits)
        for (const order of orders) results.push(resultOf({ roundTripMs, limit, order }, await measureCell(limit, order, ask)));
      return results;
    });
}

interface Far {
  readonly tree: Tree;
  readonly plane: ControlPlane;
  readonly folder: string;
  readonly roundTripMs: number;
}

async function startFar({ tree, plane, folder, roundTripMs }: Far, closing: Closing): Promise<Sidecar> {
  const grpc = await startRelay(plane.grpc, roundTripMs, closing);
  const env: Record<string, string> = knowsVariable(tree, waitVariable) ? { [waitVariable]: roundTripMs > 50 ? '1500' : '250' } : {};
  return startSidecar({ tree, plane: { ...plane, grpc }, folder, env }, closing);
}

/** A quarter more than the limit, so that some calls exceed it. */
const callsOf = (limit: number): number => limit + Math.max(2, Math.ceil(limit / 4));
const countersOf = (limit: number): number => Math.ceil(callsPerCell / callsOf(limit));
const toolOf = (limit: number, order: Order, at: number): string => `limit${limit}.${order.replace(' ', '_')}_${at}`;

const rulesOf = (limit: number): readonly (readonly [string, object])[] =>
  orders.flatMap((order) =>
    Array.from({ length: countersOf(limit) }, (_, at) => [toolOf(limit, order, at), { api: { rateLimit: limit } }] as const),
  );

/** Whether the sidecar with that number admits a call of the tool. */
type Ask = (sidecar: number, tool: string) => Promise<boolean>;

function asker(key: string, pools: readonly Pool[]): Ask {
  return async (at, tool) => {
    const answer = await pools[at % pools.length]?.request({
      path: '/govern/tool-use',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: hookBody(`session-${tool}`, 'free', tool),
    });
    const text = (await answer?.body.text()) ?? '';
    if (answer?.statusCode !== 200) throw new Error(`the sidecar answered ${answer?.statusCode} ${text}`);
    return text.includes('"allow"');
  };
}

interface Cell {
  readonly withCapacity: number;
  readonly admittedWithCapacity: number;
  /** Admitted beyond the limit, over all counters. */
  readonly beyond: number;
}

async function measureCell(limit: number, order: Order, ask: Ask): Promise<Cell> {
  const seen: Cell[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < countersOf(limit)) {
      const tool = toolOf(limit, order, next);
      next += 1;
      const startedAt = performance.now();
      seen.push(order === 'in turn' ? await callInTurn(limit, tool, ask) : await callAtOnce(limit, tool, ask));
      const seconds = (performance.now() - startedAt) / 1000;
      if (seconds > windowSeconds - 1)
        throw new Error(`the calls of one tool took ${seconds.toFixed(0)} s, and their window is ${windowSeconds} s`);
    }
  };
  await Promise.all(Array.from({ length: countersAtOnce }, work));
  const sum = (of: (cell: Cell) => number): number => seen.reduce((total, cell) => total + of(cell), 0);
  return {
    withCapacity: sum(({ withCapacity }) => withCapacity),
    admittedWithCapacity: sum(({ admittedWithCapacity }) => admittedWithCapacity),
    beyond: sum(({ beyond }) => beyond),
  };
}

async function callInTurn(limit: number, tool: string, ask: Ask): Promise<Cell> {
  let [withCapacity, admitted] = [0, 0];
  for (let call = 0; call < callsOf(limit); call += 1) {
    if (admitted < limit) withCapacity += 1;
    if (await ask(call, tool)) admitted += 1;
  }
  return { withCapacity, admittedWithCapacity: Math.min(admitted, limit), beyond: Math.max(0, admitted - limit) };
}

async function callAtOnce(limit: number, tool: string, ask: Ask): Promise<Cell> {
  const answers = await Promise.all(Array.from({ length: callsOf(limit) }, (_, call) => ask(call, tool)));
  const admitted = answers.filter(Boolean).length;
  return { withCapacity: limit, admittedWithCapacity: Math.min(admitted, limit), beyond: Math.max(0, admitted - limit) };
}

interface Place {
  readonly roundTripMs: number;
  readonly limit: number;
  readonly order: Order;
}

function resultOf({ roundTripMs, limit, order }: Place, { withCapacity, admittedWithCapacity, beyond }: Cell): Result {
  // One call beyond the limit makes the result 0, however many were admitted.
  const share = beyond === 0 ? admittedWithCapacity / withCapacity : 0;
  return judge('S8 admitted', {
    name: `S8 ${roundTripMs} ms to the control plane, limit ${limit}, ${order}`,
    value: share * 100,
    unit: '% of calls with capacity admitted',
    baseline: `${withCapacity} calls with capacity; ${beyond} admitted beyond the limit`,
    ratio: share,
  });
}
