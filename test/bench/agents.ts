// The policy of an agent type is written in a workspace of 2,000 agents of that type, compared with one of 20. Pages of
// 200 agents are read from a list of 2,000, compared with a list of 200. A real control plane, with one sidecar that
// follows each of the two policies.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, type ControlPlane, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { untilReady } from './gateway/around.ts';
import { judge, median, type Result } from './measure.ts';

const rounds = 30;
const warmUp = 10;
const pageSize = 200;
const operatorKey = 'operator-key-of-at-least-32-characters';
const agent = { name: 'bot', model: 'demo/echo', enabledTools: ['mail.*', 'github.*'] };
const type = encodeURIComponent('acme::api::bot');

export async function benchAgents(): Promise<readonly Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const programs: Program[] = [];
  try {
    const plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OPERATOR_KEY: operatorKey });
    programs.unshift(plane);
    const [few, some, many] = [
      await createWorkspace(plane, 'few', 20),
      await createWorkspace(plane, 'some', pageSize),
      await createWorkspace(plane, 'many', 2_000),
    ];
    for (const { slug, key } of [few, many]) {
      const env = { TOLLGATE_CONTROL_PLANE: plane.grpc, TOLLGATE_KEY: key, TOLLGATE_SPOOL_DIR: join(folder, slug) };
      const sidecar = await startSidecarProgram(env);
      programs.unshift(sidecar);
      await untilReady(sidecar.url, 2);
    }
    return await measure({ few, some, many });
  } finally {
    for (const program of programs) await program.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Workspace {
  readonly slug: string;
  readonly rest: string;
  readonly key: string;
  readonly agents: number;
}

async function createWorkspace({ rest }: ControlPlane, slug: string, agents: number): Promise<Workspace> {
  const { body } = await ask(`${rest}/api/v1/workspaces`, operatorKey, {
    body: { slug, owner: { uid: 'owner', email: 'owner@acme.test' } },
  });
  const key = String(body['key']);
  for (let n = 0; n < agents; n += 1) requireOk(await ask(`${rest}/api/v1/agents`, key, { body: agent }));
  return { slug, rest, key, agents };
}

function requireOk({ status, body }: Awaited<ReturnType<typeof ask>>) {
  if (status !== 200) throw new Error(`the control plane answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

async function measure({ few, some, many }: Readonly<Record<'few' | 'some' | 'many', Workspace>>): Promise<readonly Result[]> {
  const writes = await comparePairs(
    (round) => writePolicy(many, round),
    (round) => writePolicy(few, round),
  );
  const pages = await comparePairs(
    () => readPages(many),
    () => readPages(some),
  );
  return [
    judge('agents, policy', {
      name: `PUT of the policy of an agent type, ${many.agents} agents of the type`,
      ...writes,
      unit: 'ms',
      baseline: `the same at ${few.agents} agents`,
    }),
    judge('agents, page', {
      name: `GET of a page of ${pageSize} agents, of ${many.agents}`,
      ...pages,
      unit: 'ms',
      baseline: `the same of ${some.agents} agents`,
    }),
  ];
}

/** Both return a time in ms. */
async function comparePairs(subject: (round: number) => Promise<number>, baseline: (round: number) => Promise<number>) {
  const pairs: { readonly ms: number; readonly baselineMs: number }[] = [];
  for (let round = 0; round < warmUp + rounds; round += 1) {
    const baselineMs = await baseline(round);
    const ms = await subject(round);
    if (round >= warmUp) pairs.push({ ms, baselineMs });
  }
  return { value: median(pairs.map(({ ms }) => ms)), ratio: median(pairs.map(({ ms, baselineMs }) => ms / baselineMs)) };
}

async function writePolicy({ slug, rest, key }: Workspace, round: number): Promise<number> {
  const body = { tools: { 'mail.send': { api: { rateLimit: round + 1 } } } };
  const startedAt = performance.now();
  requireOk(await ask(`${rest}/${slug}/admin/agentTypePolicies/${type}`, key, { method: 'PUT', body }));
  return performance.now() - startedAt;
}

/** The mean time of a page. */
async function readPages({ rest, key, agents }: Workspace): Promise<number> {
  let cursor = '';
  let seen = 0;
  let pages = 0;
  const startedAt = performance.now();
  do {
    const { profiles, next } = requireOk(await ask(`${rest}/api/v1/agents?limit=${pageSize}${cursor}`, key));
    seen += Array.isArray(profiles) ? profiles.length : 0;
    pages += 1;
    cursor = typeof next === 'string' ? `&cursor=${next}` : '';
  } while (cursor !== '');
  const ms = (performance.now() - startedAt) / pages;
  if (seen !== agents) throw new Error(`${seen} of ${agents} agents were listed`);
  return ms;
}
