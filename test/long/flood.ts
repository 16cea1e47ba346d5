// `node --import tsx test/long/flood.ts [--at <commit>] [--minutes 10] [--program sidecar|control-plane]`: one key asks as often as it may, each time in a
// new session, with chains, tools, clients and lists that nobody has named before. What a program keeps of it must stop growing, and other callers must
// hardly feel it. Memory is RSS, read each second; each program has the heap that Node takes under the chart's memory limit.
// The last line is `flood: N checks, M failed`; it ends with 1 where one failed. Of another commit it only says what was seen.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { withClosing } from '../bench/side/stage.ts';
import { binOf, buildCommit, thisTree, type Tree } from '../bench/side/tree.ts';
import { type Program, startProgram } from '../support/programs.ts';
import { openStage } from '../trust/stage.ts';

const { values } = parseArgs({
  options: {
    at: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    program: { type: 'string', default: 'sidecar' },
  },
});
const minutes = Number(values.minutes);
const isSidecar = values.program === 'sidecar';
/** Of injection and of the chart, in MiB; and what Node takes of it for its heap in a container. */
const memory = isSidecar ? { limitMb: 512, heapMb: 259 } : { limitMb: 1_024, heapMb: 523 };
const requestsPerSecond = 1_000;
/** One of so many requests brings the longest list that there may be. */
const longEach = 200;
const connections = 32;
const restMs = 50;
const aloneSeconds = 30;

interface Caller {
  readonly url: string;
  readonly key: string;
}

const bodyOf = (fields: object): string =>
  JSON.stringify({ tool_name: 'server7.tool_7', tool_input: { n: 1 }, agent_name: 'free', agent_tier: 'api', ...fields });

/** Each says something that nobody has said before. */
function attackOf(n: number): string {
  if (n % longEach === 0)
    return bodyOf({ session_id: `s${n}`, delegated_tools: Array.from({ length: 1_000 }, (_, at) => `${n}.${at}.${'x'.repeat(180)}`) });
  switch (n % 4) {
    case 0:
      return bodyOf({ session_id: `${n}-${'s'.repeat(150)}` });
    case 1:
      return bodyOf({ session_id: `s${n}`, agent_chain: Array.from({ length: 16 }, (_, at) => `agent-${n}-${at}`) });
    case 2:
      return bodyOf({ session_id: `s${n}`, tool_name: `tool.${n}.${'t'.repeat(100)}`, client: { name: `client-${n}` } });
    default:
      return bodyOf({ session_id: `s${n}`, delegated_tools: [`server7.tool_${n}`, 'server7.*'], call_id: `call-${n}` });
  }
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

interface Attacked {
  readonly sent: number;
  readonly answered: number;
  readonly refused: number;
}

async function attack({ url, key }: Caller, until: () => boolean): Promise<Attacked> {
  const pool = new Pool(url, { connections });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const began = performance.now();
  const seen = { sent: 0, answered: 0, refused: 0 };
  const askOn = async (): Promise<void> => {
    while (!until()) {
      if (seen.sent > ((performance.now() - began) / 1_000) * requestsPerSecond) {
        await delay(5);
        continue;
      }
      seen.sent += 1;
      const asked = pool.request({ path: '/govern/tool-use', method: 'POST', headers, body: attackOf(seen.sent) });
      const status = await asked.then(
        async (answer) => {
          await answer.body.dump();
          return answer.statusCode;
        },
        () => 0,
      );
      if (status === 429) seen.refused += 1;
      else if (status >= 200 && status < 500) seen.answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, askOn));
  await pool.close().catch(() => undefined);
  return seen;
}

const percentile = (took: readonly number[], share: number): number => took.toSorted((a, b) => a - b)[Math.floor(took.length * share)] ?? 0;

async function run(tree: Tree, say: (line: string) => void): Promise<number> {
  return withClosing(async (closing, folder) => {
    const stage = await openStage(tree, folder, closing);
    const workspace = await stage.makeWorkspace('acme');
    const own = binOf(tree, 'tollgate-sidecar');
    if (own === null) throw new Error(`${tree.name} has no program for the sidecar`);
    let program: Program | null = null;
    if (isSidecar) {
      program = await startProgram([`--max-old-space-size=${memory.heapMb}`, own], {
        cwd: tree.root,
        until: 'hooks',
        env: {
          TOLLGATE_SIDECAR_PORT: '0',
          TOLLGATE_CONTROL_PLANE: stage.address(),
          TOLLGATE_KEY: await stage.keyWith(workspace, ['sidecar.sync', 'govern']),
          TOLLGATE_SPOOL_DIR: stage.newFolder('spool'),
        },
      });
      const started = program;
      closing.add(() => started.end());
    }
    const pid = program?.pid ?? stage.pid();
    const url = program === null ? stage.rest() : new URL(program.announced.get('hooks') ?? '').origin;
    const honest = { url, key: await stage.keyWith(workspace, ['govern']) };
    const attacker = { url, key: await stage.keyWith(workspace, ['govern']) };
    const end: { why: string | null } = { why: null };
    void program?.exit.then((code) => {
      end.why = `ended with ${code}`;
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
    const [attacked, took] = await Promise.all([attack(attacker, over), keepAsking(honest, over).catch(() => [])]);
    await watch;

    const share = (from: number, to: number): readonly number[] => rss.slice(Math.floor(rss.length * from), Math.ceil(rss.length * to));
    const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / Math.max(1, all.length);
    const [early, late] = [mean(share(0.1, 0.3)), mean(share(0.8, 1))];
    const most = Math.max(...rss);
    const p99 = { alone: percentile(alone, 0.99), attacked: percentile(took, 0.99) };
    const answeredShare = attacked.answered / Math.max(1, Math.min(attacked.sent, requestsPerSecond * minutes * 60));
    say(
      `${tree.name}, ${values.program}: ${attacked.sent} requests in ${minutes} minutes, ${attacked.answered} answered, ${attacked.refused} told to come later`,
    );
    say(
      `RSS by tenths of the time, MB: ${Array.from({ length: 10 }, (_, at) => mean(share(at / 10, (at + 1) / 10)).toFixed(0)).join(' ')}; at most ${most.toFixed(0)}`,
    );
    say(`other callers' p99: ${p99.alone.toFixed(1)} ms alone, ${p99.attacked.toFixed(1)} ms then`);
    const checks: readonly (readonly [string, boolean])[] = [
      [`it goes on${end.why === null ? '' : `: ${end.why}`}`, end.why === null],
      [`RSS of the last fifth is at most 1.03 of that of the second tenth and third: ${(late / early).toFixed(3)}`, late <= 1.03 * early],
      [`RSS stays under 90 % of ${memory.limitMb} MiB: ${most.toFixed(0)}`, most < 0.9 * memory.limitMb],
      [`at least 90 % of the requests are answered: ${(answeredShare * 100).toFixed(1)} %`, answeredShare >= 0.9],
      [`other callers' p99 is at most twice as long: ${(p99.attacked / p99.alone).toFixed(2)}`, p99.attacked <= 2 * p99.alone],
    ];
    for (const [what, holds] of checks) say(`${holds ? 'ok      ' : 'FAILED  '}${what}`);
    const failed = checks.filter(([, holds]) => !holds).length;
    say(`flood: ${checks.length} checks, ${failed} failed`);
    return values.at === undefined && failed > 0 ? 1 : 0;
  });
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
process.exitCode = await (values.at === undefined
  ? run(thisTree, say)
  : withClosing(async (closing) => run(await buildCommit(values.at ?? '', closing), say)));
