// `node --import tsx test/long/flood.ts [--at <commit>] [--minutes 10] [--program sidecar|control-plane] [--stall 60]
// [--per-second 250] [--agents 10000] [--large-each 20000] [--every-door]`: one key asks `/govern/tool-use` at its
// maximum rate, each time in a new session, with chains, tools, clients and lists that no request has named before. One
// of `--large-each` requests has the maximum size and depth. With `--every-door` one in eight uses another endpoint of
// a sidecar. Meanwhile an owner writes one of many agents each second, so that each second brings another revision. The
// memory of the program must stop growing, and other callers must be delayed only slightly. Memory is RSS, read each
// second. Each program has the heap that Node uses in a container with the memory limit of injection, or of the chart.
// Programs that would run on other machines use only the CPU that the tested program leaves; the timed callers wait for
// none of them. The last line is `flood: N checks, M failed`; it ends with 1 where a check failed. With `--at` it only
// prints the results of that commit.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { Pool } from 'undici';
import { withClosing } from '../bench/side/stage.ts';
import { binOf, buildCommit, knowsVariable, type Tree, thisTree } from '../bench/side/tree.ts';
import { ask, type Program, startProgram } from '../support/programs.ts';
import { openStage, type Stage, type Workspace } from '../trust/stage.ts';
import { type AttackOrder, bodyOf, type FloodCounts } from './flood-requests.ts';

const { values } = parseArgs({
  options: {
    at: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    program: { type: 'string', default: 'sidecar' },
    stall: { type: 'string', default: '0' },
    'per-second': { type: 'string' },
    agents: { type: 'string', default: '10000' },
    'large-each': { type: 'string', default: '20000' },
    'every-door': { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
/** In the middle the control plane of the sidecar is frozen for this many seconds. */
const stallSeconds = Number(values.stall);
const isSidecar = values.program === 'sidecar';
const hasOtherDoors = isSidecar && values['every-door'];
/**
 * Priorities of processes, as `nice` counts: the timed callers, the tested program, and the programs behind a sidecar.
 * Raising a priority needs root.
 */
const priorities = { timed: -15, program: 0, behind: 10 } as const;
const mayRaise = process.getuid?.() === 0;
/** Sets the priority of this process, and of those that it starts from now on. */
const standAt = (place: keyof typeof priorities): void => {
  if (mayRaise) setPriority(priorities[place]);
};
/**
 * The memory limits of injection and of the chart, in MiB. The images set the maximum of the heap's new space; for the
 * old space Node 20 uses half of the limit of its cgroup (`v8.getHeapStatistics().heap_size_limit` is 304 and 560 MiB
 * there, as with these).
 */
const semiSpaceMb = 16;
const memory = isSidecar ? { limitMb: 512, oldSpaceMb: 256 } : { limitMb: 1_024, oldSpaceMb: 512 };
/** The default of each program's `TOLLGATE_REQUESTS_PER_SECOND`, unless an argument is given. */
const requestsPerSecond = Number(values['per-second'] ?? (isSidecar ? 1_000 : 250));
const restMs = 50;
const agents = Number(values.agents);
const largeEach = Number(values['large-each']);
/** The time between two writes of the owner. */
const writeMs = 1_000;
const agentsAtOnce = 16;
const aloneSeconds = 30;

interface Caller {
  readonly url: string;
  readonly key: string;
}

const rssMb = (pid: number): number => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;

async function keepAsking({ url, key }: Caller, until: () => boolean): Promise<readonly number[]> {
  const took: number[] = [];
  const pool = new Pool(url, { connections: 1 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (let n = 0; !until(); n += 1) {
    const began = performance.now();
    const answer = await pool.request({
      path: '/govern/tool-use',
      method: 'POST',
      headers,
      body: bodyOf({ session_id: `honest-${n % 5}` }),
    });
    await answer.body.text();
    took.push(performance.now() - began);
    await delay(restMs);
  }
  await pool.close();
  return took;
}

const attacker = fileURLToPath(new URL('./flood-attacker.ts', import.meta.url));
const farServer = fileURLToPath(new URL('./flood-server.ts', import.meta.url));

/** In a process of its own, so that the cost of its requests delays no answer that is timed here. */
async function attack(caller: Caller, doors: AttackOrder['doors']): Promise<FloodCounts> {
  const order: AttackOrder = { ...caller, requestsPerSecond, minutes, largeEach, doors };
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', attacker, JSON.stringify(order)]);
  return JSON.parse(stdout);
}

/** Creates the agents of the workspace; returns how the owner writes one of them. */
async function makeAgents(stage: Stage, workspace: Workspace): Promise<() => Promise<unknown>> {
  let made = 0;
  let id = '';
  const makeOn = async (): Promise<void> => {
    while (made < agents) {
      made += 1;
      const body = { name: `agent ${made}`, model: 'demo/echo', enabledTools: ['mail.*', 'github.*'] };
      const answer = await ask(`${stage.rest()}/api/v1/agents`, workspace.key, { body });
      // The stage may have created some before: the last ones are refused then.
      if (answer.status === 200) id = String(answer.body['id']);
    }
  };
  await Promise.all(Array.from({ length: agentsAtOnce }, makeOn));
  let writes = 0;
  return async () => {
    writes += 1;
    const body = { maxToolCalls: 100 + (writes % 100) };
    const { status } = await ask(`${stage.rest()}/api/v1/agents/${id}`, workspace.key, { method: 'PUT', body });
    if (status !== 200) throw new Error(`the owner's write was answered ${status}`);
  };
}

interface WriteCounts {
  written: number;
  /** Why the newest refused write was refused. */
  why: string;
}

/** Each second, with any result: the control plane may be frozen. */
async function keepWriting(write: () => Promise<unknown>, until: () => boolean): Promise<WriteCounts> {
  const seen: WriteCounts = { written: 0, why: '' };
  while (!until()) {
    await Promise.all([
      delay(writeMs),
      write().then(
        () => (seen.written += 1),
        (error: unknown) => {
          seen.why = String(error);
        },
      ),
    ]);
  }
  return seen;
}

const percentile = (took: readonly number[], share: number): number => took.toSorted((a, b) => a - b)[Math.floor(took.length * share)] ?? 0;

async function run(tree: Tree, say: (line: string) => void): Promise<number> {
  return withClosing(async (closing, folder) => {
    const nodeArgs = [`--max-old-space-size=${memory.oldSpaceMb}`, `--max-semi-space-size=${semiSpaceMb}`];
    standAt(isSidecar ? 'behind' : 'program');
    const stage = await openStage(tree, folder, closing, isSidecar ? [] : nodeArgs);
    standAt('program');
    const workspace = await stage.makeWorkspace('acme');
    const write = agents === 0 ? null : await makeAgents(stage, workspace);
    const own = binOf(tree, 'tollgate-sidecar');
    if (own === null) throw new Error(`${tree.name} has no program for the sidecar`);
    let program: Program | null = null;
    const [mesh, gateway] = ['TOLLGATE_MESH_PORT', 'TOLLGATE_GATEWAY_FILE'].map((name) => hasOtherDoors && knowsVariable(tree, name));
    const gatewayFile = join(folder, 'gateway.json');
    if (gateway === true) {
      const far = await startProgram(['--import', 'tsx', farServer], { cwd: thisTree.root, until: 'port', env: {} });
      closing.add(() => far.end());
      writeFileSync(gatewayFile, JSON.stringify({ mcpServers: { far: { url: `http://127.0.0.1:${far.announced.get('port')}/mcp` } } }));
    }
    if (isSidecar) {
      program = await startProgram([...nodeArgs, own], {
        cwd: tree.root,
        until: 'hooks',
        env: {
          TOLLGATE_SIDECAR_PORT: '0',
          TOLLGATE_CONTROL_PLANE: stage.address(),
          TOLLGATE_KEY: await stage.keyWith(workspace, ['sidecar.sync', 'govern']),
          TOLLGATE_SPOOL_DIR: stage.newFolder('spool'),
          ...(mesh === true ? { TOLLGATE_MESH_PORT: '0' } : {}),
          ...(gateway === true ? { TOLLGATE_GATEWAY_FILE: gatewayFile } : {}),
        },
      });
      const started = program;
      closing.add(() => started.end());
    }
    const pid = program?.pid ?? stage.pid();
    const url = program === null ? stage.rest() : new URL(program.announced.get('hooks') ?? '').origin;
    const doors = hasOtherDoors ? { mesh: program?.announced.get('mesh') ?? null, mcpServer: gateway === true ? 'far' : null } : null;
    const honest = { url, key: await stage.keyWith(workspace, ['govern']) };
    const attacking = { url, key: await stage.keyWith(workspace, ['govern']) };
    const end: { why: string | null } = { why: null };
    void program?.exit.then((code) => {
      end.why = `ended with ${code}`;
    });

    standAt('timed');
    // The owner writes in both phases: the cost of a revision for others is no attack.
    const times = { isOver: false };
    const writing = write === null ? null : keepWriting(write, () => times.isOver);
    closing.add(() => {
      times.isOver = true;
    });
    const aloneUntil = performance.now() + aloneSeconds * 1_000;
    const alone = await keepAsking(honest, () => performance.now() > aloneUntil);
    const began = performance.now();
    const over = (): boolean => end.why !== null || performance.now() - began > minutes * 60_000;
    const rss: number[] = [];
    const watch = (async () => {
      while (!over()) {
        rss.push(rssMb(pid));
        await delay(1_000);
      }
    })().catch((error: unknown) => {
      end.why ??= String(error);
    });
    const stall = (async () => {
      if (stallSeconds === 0) return;
      await delay((minutes * 60_000) / 2 - (stallSeconds * 1_000) / 2);
      process.kill(stage.pid(), 'SIGSTOP');
      await delay(stallSeconds * 1_000);
      process.kill(stage.pid(), 'SIGCONT');
    })();
    const [attacked, took] = await Promise.all([attack(attacking, doors), keepAsking(honest, over).catch(() => [])]);
    times.isOver = true;
    const [written] = await Promise.all([writing, watch, stall]);

    const share = (from: number, to: number): readonly number[] => rss.slice(Math.floor(rss.length * from), Math.ceil(rss.length * to));
    const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / Math.max(1, all.length);
    const [early, late] = [mean(share(0.2, 0.3)), mean(share(0.9, 1))];
    const most = Math.max(...rss);
    const p99 = { alone: percentile(alone, 0.99), attacked: percentile(took, 0.99) };
    const p99Of = (tenth: number): number =>
      percentile(took.slice(Math.floor((took.length * tenth) / 10), Math.ceil((took.length * (tenth + 1)) / 10)), 0.99);
    const answeredShare = attacked.answered / (requestsPerSecond * minutes * 60);
    say(
      `${tree.name}, ${values.program}: ${attacked.sent} requests in ${minutes} minutes, ${attacked.answered} answered, ${attacked.refused} told to come later, ${attacked.failed} failed; ${written?.written ?? 0} revisions of ${agents} agents`,
    );
    say(
      `RSS by tenths of the time, MB: ${Array.from({ length: 10 }, (_, at) => mean(share(at / 10, (at + 1) / 10)).toFixed(0)).join(' ')}; at most ${most.toFixed(0)}`,
    );
    say(
      `other callers' p99: ${p99.alone.toFixed(1)} ms alone, ${p99.attacked.toFixed(1)} ms then; by tenths of the time ${Array.from({ length: 10 }, (_, at) => p99Of(at).toFixed(1)).join(' ')}`,
    );
    const checks: readonly (readonly [string, boolean])[] = [
      [`it continues${end.why === null ? '' : `: ${end.why}`}`, end.why === null],
      [`RSS of the last tenth of the time is at most 1.03 of that of the third: ${(late / early).toFixed(3)}`, late <= 1.03 * early],
      [
        `the owner's writes were taken${written === null || written.written > 0 ? '' : `: ${written.why}`}`,
        written === null || written.written > 0,
      ],
      [`RSS stays under 90 % of ${memory.limitMb} MiB: ${most.toFixed(0)}`, most < 0.9 * memory.limitMb],
      [`at least 90 % of the requests that the limit allows are answered: ${(answeredShare * 100).toFixed(1)} %`, answeredShare >= 0.9],
      [`other callers' p99 is at most twice as long: ${(p99.attacked / p99.alone).toFixed(2)}`, p99.attacked <= 2 * p99.alone],
    ];
    // While the control plane is frozen new sessions are denied, and the backlog is processed afterwards: only memory
    // must hold then.
    const held = stallSeconds === 0 ? checks : checks.filter(([what]) => what.startsWith('it continues') || what.startsWith('RSS stays'));
    for (const [what, holds] of held) say(`${holds ? 'ok      ' : 'FAILED  '}${what}`);
    const failed = held.filter(([, holds]) => !holds).length;
    say(`flood: ${held.length} checks, ${failed} failed`);
    return values.at === undefined && failed > 0 ? 1 : 0;
  });
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
process.exitCode = await (values.at === undefined
  ? run(thisTree, say)
  : withClosing(async (closing) => run(await buildCommit(values.at ?? '', closing), say)));
