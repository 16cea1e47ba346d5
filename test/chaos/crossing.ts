// Two control planes on one PostgreSQL, followed by sidecars: a write on one is enforced behind the other. CI runs this
// without a clock, and test/long with one.
import { snapshotHash } from '@tollgate/proto/contract';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { compileSnapshot } from '../../sidecar/engine/compile/compile.ts';
import type { WorkspaceState } from '../../control-plane/workspaces/rules.ts';
import { readWorkspaceState } from '../../control-plane/workspaces/store/workspace-state.ts';
import { followPlane } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';
import { type Gate, startGate } from './gate.ts';
import { decide, killListeners, readListeners } from './load.ts';
import type { Measure } from './measure.ts';
import { denying, planeNames, putPolicy, type World } from './world.ts';

interface Bench {
  readonly world: World;
  readonly measure: Measure;
}

/** The other control plane. */
const otherOf = (at: number): 0 | 1 => (at % 2 === 0 ? 1 : 0);
export const planeAt = (world: World, at: number) => world.planes[at % 2 === 0 ? 0 : 1];

const follow = (world: World, at: 0 | 1) =>
  followPlane({ address: () => world.planes[at].grpc }, { key: world.key, form: 'library', sidecarId: `sidecar-${at}` });

/** Denies a tool on one control plane, and waits until a sidecar of the other denies it. */
async function crosses({ world, measure }: Bench, at: number, to: Awaited<ReturnType<typeof follow>>, tool: string): Promise<void> {
  await measure('a write crosses', async () => {
    const revision = await putPolicy(planeAt(world, at), denying(tool));
    await to.reaches(revision);
  });
  expect(decide(to, tool, 'crosses')).toMatchObject({ allowed: false, code: 'policy_denied' });
}

export async function crossesOften(bench: Bench): Promise<void> {
  const { world } = bench;
  const followed = [await follow(world, 0), await follow(world, 1)] as const;
  for (let n = 0; n < 50; n += 1) await crosses(bench, n, followed[otherOf(n)], `crosses.${n}`);
}

/** What may happen to the connection on which a control plane listens for revisions. */
export const losses = ['killed', 'frozen'] as const;

const lose: Readonly<Record<(typeof losses)[number], (world: World, name: string, pid: number) => Promise<void>>> = {
  killed: (world, name) => killListeners(world.postgres, [name]),
  frozen: async (world, _name, pid) => world.postgres.freezeProcess(pid),
};

export async function crossesWithoutListening(bench: Bench, how: (typeof losses)[number]): Promise<void> {
  const { world } = bench;
  const followed = [await follow(world, 0), await follow(world, 1)] as const;
  onTestFinished(() => world.postgres.thaw());
  for (let n = 0; n < 2; n += 1) {
    const at = otherOf(n);
    const listening = () => readListeners(world.postgres, [planeNames[at]]);
    const [pid = 0, ...more] = await listening();
    expect(more).toEqual([]);
    await lose[how](world, planeNames[at], pid);
    await crosses(bench, n, followed[at], `${how}.${n}`);
    // Another backend listens, and no old one is left.
    await eventually(listening, (pids) => pids.some((other) => other !== pid));
    world.postgres.thaw();
    await eventually(listening, (pids) => pids.length === 1 && pids[0] !== pid);
  }
}

/** Records the revisions that a sidecar held, in order. */
async function watchHeld(key: string, address: string, sidecarId: string) {
  const followed = await followPlane({ address: () => address }, { key, sidecarId });
  const held: { readonly revision: number; readonly hash: string }[] = [];
  followed.sidecar.cell.onSwap(({ revision, hash }) => void held.push({ revision, hash: hash.toString('hex') }));
  return { ...followed, held };
}

const lanes = 4;
/** Unit: writes. */
const movesEvery = 50;
const deafEvery = 10;
const defaults = { defaultPermission: 'allow', windowSeconds: 60 } as const;
type Rules = NonNullable<WorkspaceState['documents'][number]['document']['tools']>;

/** Writes a deny and undoes it, `pairs` times, alternately on both control planes. */
export async function writesAndUndoes({ world, measure }: Bench, pairs: number): Promise<void> {
  const { postgres, planes } = world;
  await putPolicy(planes[0], { tools: null });
  const base = await readState(world);

  const gates: Gate[] = [];
  for (const { grpc } of planes) gates.push(await startGate(grpc));
  onTestFinished(() => Promise.all(gates.map((gate) => gate.close())).then(() => undefined));
  const addresses = [...planes.map(({ grpc }) => grpc), ...gates.map(({ address }) => address)];
  const sidecars = await Promise.all(addresses.map((address, at) => watchHeld(world.key, address, `sidecar-${at}`)));

  // The change that each revision made, as its writer recorded it.
  const changes = new Map<number, Change>();
  let written = 0;
  const write = async (at: number, tool: string, rules: Rules[string] | null): Promise<void> => {
    changes.set(await putPolicy(planeAt(world, at), { tools: { [tool]: rules } }), { tool, rules });
    written += 1;
    const turn = Math.floor(written / movesEvery);
    if (written % movesEvery === 0) gates.forEach((gate, nth) => gate.turnTo(planes[otherOf(turn + nth)].grpc));
    // The control plane that the first of them moves to next only polls until then: it is up to a second behind.
    if (written % deafEvery === 0) await killListeners(postgres, [planeNames[otherOf(turn + 1)]]);
  };
  const run = async (lane: number): Promise<void> => {
    for (let n = lane; n < pairs; n += lanes) {
      // No two values are equal, so that a revision that holds another's content is noticed.
      await write(n, `lane.${lane}`, { api: { permission: 'deny', rateLimit: n } });
      await write(n + 1, `lane.${lane}`, null);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));

  const newest = base.revision + 2 * pairs;
  await measure('all hold the newest', () => Promise.all(sidecars.map(({ reaches }) => reaches(newest))));

  const opened = sidecars.slice(2).map(({ events }) => events.filter(({ message }) => message === 'policy stream open').length);
  expect(Math.min(...opened)).toBeGreaterThan(written / movesEvery / 2);
  const hashes = hashesOf(base, changes);
  for (const { held, events } of sidecars) {
    expect(held.filter(({ revision }, at) => revision < (held[at - 1]?.revision ?? 0))).toEqual([]);
    expect(held.filter(({ revision, hash }) => revision > base.revision && hash !== hashes.get(revision))).toEqual([]);
    expect(held.at(-1)?.revision).toBe(newest);
    const refused = events
      .filter(({ message }) => message === 'snapshot refused' || message === 'delta refused')
      .map(({ fields }) => ('code' in fields ? fields.code : ''));
    expect(refused.filter((code) => code !== 'revision_backwards')).toEqual([]);
  }
  // Most messages were deltas.
  const count = (wanted: string): number => sidecars.flatMap(({ events }) => events).filter(({ message }) => message === wanted).length;
  expect(count('delta taken')).toBeGreaterThan(10 * count('snapshot taken'));
  expect(compiledHash(await readState(world))).toBe(hashes.get(newest));
}

async function readState(world: World): Promise<WorkspaceState> {
  const pool = new Pool(world.postgres.connection);
  // At the end PostgreSQL may end before the last connection.
  pool.on('error', () => undefined);
  try {
    const { rows } = await pool.query<{ id: string }>("select id from workspace where slug = 'default'");
    const state = await readWorkspaceState(pool, Number(rows[0]?.id));
    if (state === null) throw new Error('there is no such workspace');
    return state;
  } finally {
    await pool.end();
  }
}

interface Change {
  readonly tool: string;
  readonly rules: Rules[string] | null;
}

/** The hash of the compile of each revision, computed from the writes. */
function hashesOf(base: WorkspaceState, changes: ReadonlyMap<number, Change>) {
  const hashes = new Map<number, string>();
  let tools: Rules = {};
  for (let revision = base.revision + 1; revision <= base.revision + changes.size; revision += 1) {
    const change = changes.get(revision);
    if (change === undefined) throw new Error(`no write was answered with revision ${revision}`);
    const { [change.tool]: _, ...others } = tools;
    tools = change.rules === null ? others : { ...others, [change.tool]: change.rules };
    hashes.set(revision, compiledHash({ ...base, revision, documents: [{ id: { layer: 'workspace' }, document: { tools } }] }));
  }
  return hashes;
}

const compiledHash = (state: WorkspaceState): string => snapshotHash(compileSnapshot(state, defaults)).toString('hex');
