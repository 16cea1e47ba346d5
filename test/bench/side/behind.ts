// S2: the cost behind the hook endpoint (control plane and PostgreSQL) for 1,000 entries, compared with the first
// version in the same run, and with COPY alone; and with 200 sidecars that make one call every two seconds each.
import { setTimeout as delay } from 'node:timers/promises';
import { startProgram } from '../../support/programs.ts';
import { judge, median, orient, type Result, type Row } from '../measure.ts';
import { type Figures, type LoadSubject, loadInTurn, measuredAlone, rowOf, unlessMissing } from './compare.ts';
import { copyFloor } from './copy-floor.ts';
import { Missing } from './missing.ts';
import { cpuSecondsOf } from './processes.ts';
import { hookRequest } from './questions.ts';
import { type Closing, type ControlPlane, deniedRow, type Sidecar, startControlPlane, startSidecar, withClosing } from './stage.ts';
import type { SideOptions } from './side.ts';
import { buildCommit, firstVersion, type Tree } from './tree.ts';

const unit = 's of CPU a 1,000 entries';
const connections = [1, 16, 64] as const;

export async function* benchBehind({ tree, rounds, alone }: SideOptions): AsyncGenerator<Row> {
  yield* await withClosing(async (closing, folder) => {
    const ours = await startLoaded(tree, folder, closing);
    const first = alone ? null : await unlessMissing(async () => startLoaded(await buildCommit(firstVersion, closing), folder, closing));
    const results: Row[] = [];
    for (const withCaps of [false, true])
      for (const at of connections) {
        const agent = withCaps ? 'worker' : 'free';
        const others = { first: first === null || first instanceof Missing ? first : first.loaded(agent) };
        const before = await ours.plane.entries();
        const seen = await loadInTurn(ours.loaded(agent), others, { connections: at, rounds, folder });
        const name = `S2 behind the hook endpoint at ${at}${withCaps ? ', with caps' : ''}`;
        const row = { name, unit, figure: 'behind', against: 'the first version' } as const;
        results.push(rowOf({ id: `S2 ${withCaps ? 'with caps ' : ''}at ${at}`, ...row }, seen.ours, seen.others.first));
        results.push(floorRow(name, await copyFloor(ours.plane.pid, before), seen.others.first));
      }
    return [...results, await deniedRow('S2 calls denied though all had capacity', ours.sidecar)];
  });
  yield await withClosing((closing, folder) => manySidecars(tree, folder, closing));
}

/** What PostgreSQL alone needs for the entries, next to the first version as the row before. No target can be below. */
function floorRow(name: string, value: number, first: readonly Figures[] | Missing | null): Row {
  const fields = { name: `${name}: the same entries by COPY alone`, value, unit };
  if (first === null || first instanceof Missing) return orient({ ...fields, baseline: measuredAlone, ratio: 1 });
  const theirs = median(first.map(({ behind }) => behind));
  return orient({ ...fields, baseline: `the first version: ${theirs.toPrecision(3)}`, ratio: value / theirs });
}

interface BehindSubject {
  readonly plane: ControlPlane;
  readonly sidecar: Sidecar;
  readonly loaded: (agent: 'worker' | 'free') => LoadSubject;
}

async function startLoaded(tree: Tree, folder: string, closing: Closing): Promise<BehindSubject> {
  const plane = await startControlPlane(tree, folder, closing);
  const sidecar = await startSidecar({ tree, plane, folder }, closing);
  const program = { gateway: sidecar.pid, behind: [plane.pid], rest: sidecar.delivered, log: { entries: plane.entries, perCall: 1 } };
  return { plane, sidecar, loaded: (agent) => ({ ...program, request: hookRequest(sidecar, agent) }) };
}

const fleetSize = 200;
const callEveryMs = 2_000;
const watchedMs = 30_000;

/**
 * Each is a library with its own connection, spool and policy; many run in one process, so that they fit the machine.
 */
const fleetProgram = (grpc: string, key: string, folder: string): string => `
import { connect } from '@tollgate/sidecar';
const gates = [];
for (let at = 0; at < ${fleetSize}; at += 1)
  gates.push(await connect({ controlPlane: ${JSON.stringify(grpc)}, key: ${JSON.stringify(key)}, spoolDir: ${JSON.stringify(folder)} + '/' + at }));
let calls = 0;
for (const [at, gate] of gates.entries()) {
  const run = gate.run({ agent: 'free', tier: 'api' });
  setTimeout(() => setInterval(async () => {
    const verdict = await run.decide({ tool: 'server7.tool_7', input: { at } });
    if (!verdict.allowed) throw new Error('the call was denied');
    calls += 1;
  }, ${callEveryMs}), (at * ${callEveryMs}) / ${fleetSize});
}
process.on('unhandledRejection', (error) => { console.error(error); process.exit(1); });
setInterval(() => process.stdout.write('  calls  ' + calls + '\\n'), 100);
process.stdout.write('  fleet  connected\\n');
process.on('SIGTERM', () => process.exit(0));
`;

async function manySidecars(tree: Tree, folder: string, closing: Closing): Promise<Result> {
  const plane = await startControlPlane(tree, folder, closing);
  const key = await plane.keyWith(['sidecar.sync', 'govern']);
  const args = ['--input-type=module', '--eval', fleetProgram(plane.grpc, key, folder)];
  const fleet = await startProgram(args, { cwd: tree.root, env: {}, until: 'fleet' });
  closing.add(() => fleet.end());
  // Waits until leases, connections and code are warm.
  await delay(10_000);
  // Each call writes one entry, which is shipped soon.
  const callsNow = (): number => Number(fleet.announced.get('calls'));
  const [callsBefore, cpuBefore] = [callsNow(), cpuSecondsOf(plane.pid)];
  await delay(watchedMs);
  const [entries, cpu] = [callsNow() - callsBefore, cpuSecondsOf(plane.pid) - cpuBefore];
  const wanted = (fleetSize * watchedMs) / callEveryMs;
  if (entries < wanted * 0.95) throw new Error(`the fleet made ${entries} calls, and ${wanted} were due: ${fleet.log()}`);
  const value = (cpu / entries) * 1000;
  const baseline = `${entries} entries in ${watchedMs / 1000} s; the ratio is the value`;
  return judge('S2 200 sidecars', {
    name: `S2 behind ${fleetSize} sidecars at half a call a second each`,
    value,
    unit,
    baseline,
    ratio: value,
  });
}
