// R3, with real processes: a limit over three sidecars on two control planes is one limit, exact to the call, also in a
// burst and while one of the sidecars is cut off. Without a fault, no call below the limit is refused.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, eventually, type SidecarProgram, startSidecarProgram } from '../support/programs.ts';
import { type Gate, startGate } from './gate.ts';
import { putPolicy, startWorld, type World } from './world.ts';

const limit = 60;

interface Fleet {
  readonly world: World;
  readonly sidecars: readonly SidecarProgram[];
  /**
   * One more sidecar, which can be cut off. Its gate runs in this process, so that calls made here in a burst delay it
   * as well.
   */
  readonly gated: SidecarProgram;
  readonly gate: Gate;
  close(): Promise<void>;
}

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(3);
});
afterAll(() => fleet?.close());

async function startFleet(size: number): Promise<Fleet> {
  const world = await startWorld();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-limits-'));
  const programs: SidecarProgram[] = [];
  const start = async (controlPlane: string): Promise<SidecarProgram> => {
    const spool = join(folder, `${programs.length}`);
    const env = { TOLLGATE_KEY: world.key, TOLLGATE_CONTROL_PLANE: controlPlane, TOLLGATE_SPOOL_DIR: spool };
    const program = await startSidecarProgram(env);
    programs.push(program);
    return program;
  };
  const gate = await startGate(world.planes[0].grpc);
  const sidecars: SidecarProgram[] = [];
  while (sidecars.length < size) sidecars.push(await start(world.planes[sidecars.length % 2 === 0 ? 0 : 1].grpc));
  const gated = await start(gate.address);
  const close = async (): Promise<void> => {
    await Promise.all(programs.map((sidecar) => sidecar.end('SIGKILL')));
    await gate.close();
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { world, sidecars, gated, gate, close };
}

/** Sets the limit of a tool, and waits until every sidecar knows it. */
async function limitTo(tool: string, rateLimit: number): Promise<void> {
  const revision = await putPolicy(fleet.world.planes[0], { tools: { [tool]: { api: { rateLimit } } } });
  const heldBy = async ({ url }: SidecarProgram): Promise<number> =>
    Number(Object((await ask(`${url}/healthz`, fleet.world.key)).body['policy'])['revision']);
  await eventually(
    () => Promise.all([...fleet.sidecars, fleet.gated].map(heldBy)),
    (held) => held.every((each) => each >= revision),
  );
}

/** Makes the calls through these sidecars in turn; returns the answers. */
async function callAtOnce(tool: string, calls: number, through: readonly SidecarProgram[]): Promise<readonly string[]> {
  const call = async (n: number): Promise<string> => {
    const { url } = through[n % through.length] ?? fleet.sidecars[0] ?? { url: '' };
    const body = { tool_name: tool, tool_input: { n }, session_id: `session-${n}`, agent_name: `agent-${n % 100}`, agent_tier: 'api' };
    const { body: answer } = await ask(`${url}/govern/tool-use`, fleet.world.key, { body });
    return String(answer['reason']).split(':')[0] ?? '';
  };
  return Promise.all(Array.from({ length: calls }, (_, n) => call(n)));
}

const count = (answers: readonly string[], code: string): number => answers.filter((answer) => answer === code).length;

test(`exactly ${limit} of 300 calls at once, by 100 agents through three sidecars, are admitted`, async () => {
  await limitTo('burst', limit);
  const answers = await callAtOnce('burst', 300, fleet.sidecars);
  expect(count(answers, 'allowed')).toBe(limit);
  expect(count(answers, 'rate_limited')).toBe(300 - limit);
});

test('calls in sequence, through alternating sidecars, are all admitted up to the limit, and then none', async () => {
  await limitTo('steps', limit);
  const answers: string[] = [];
  for (let n = 0; n < limit + 20; n += 1) {
    const through = fleet.sidecars[Math.floor(n / 7) % fleet.sidecars.length];
    answers.push(...(await callAtOnce('steps', 1, through === undefined ? [] : [through])));
  }
  // At most one in a hundred is refused although the limit was not reached.
  expect(count(answers.slice(0, limit), 'rate_limited')).toBe(0);
  expect(count(answers, 'allowed')).toBe(limit);
});

test('a sidecar that is cut off admits what it holds and then nothing; all together never admit more than the limit', async () => {
  await limitTo('cut', limit);
  const { sidecars: others, gated, gate } = fleet;
  const before = await callAtOnce('cut', 8, [gated, ...others]);
  gate.freeze();
  const during = await Promise.all([callAtOnce('cut', 100, [gated]), callAtOnce('cut', 100, others)]);
  gate.thaw();
  const after = await callAtOnce('cut', 100, [gated, ...others]);
  const all = [before, ...during, after].flat();
  expect(count(all, 'allowed')).toBeLessThanOrEqual(limit);
  expect(count(all, 'allowed') + count(all, 'rate_limited')).toBe(all.length);
  // Only the lease that it held when it was cut off was not available to the others.
  expect(count(during[1] ?? [], 'allowed')).toBeGreaterThan(0);
});
