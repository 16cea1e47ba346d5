// Runs that wait for a person under kills: a control plane or PostgreSQL is killed, or a control plane is paused until others
// think that it is dead, at each step of a run: when it asks, is
// stored, approved, claims its use, calls its tool, or ends. The tool is the outside witness: it appends a line to a file for
// each call. Whatever is killed, no approved call is made twice, no call that needed no one is repeated, and each run ends in
// a recorded state.
// `TOLLGATE_TEST_RUN_KILLS` sets the number of kills, `TOLLGATE_TEST_SEED` their sequence.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silenceMs } from '../../control-plane/runs/rules/run.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { ask, type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';
import { randomFrom } from '../support/random.ts';
import { type Postgres, startPostgres } from './postgres.ts';

const kills = Number(process.env['TOLLGATE_TEST_RUN_KILLS'] ?? 12);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 7);
const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const steps = ['asked', 'stored', 'approved', 'claimed', 'called', 'finished'] as const;
type Step = (typeof steps)[number];
/** Longer than any program needs to start, and than the silence after which runs of a dead control plane are ended. */
const healMs = 60_000;

let postgres: Postgres;
let folder: string;
let witness: string;
let tools: FakeServer;
let anaKey: string;
let agentId: string;
const planes = new Map<string, ControlPlane>();
/** Called with the input of each call that reaches the tool `pay`. */
let onPay: (round: number) => void = () => undefined;

const startPlane = async (name: string): Promise<void> => {
  planes.set(
    name,
    await startControlPlane({
      DATABASE_URL: postgres.url(name),
      TOLLGATE_DATA_DIR: join(folder, name),
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
    }),
  );
};
const killPlane = (name: string) => async (): Promise<void> => {
  await planes.get(name)?.end('SIGKILL');
  await startPlane(name);
};
/** It is silent for so long that others take its runs, and then it continues as if nothing had happened. */
const pausePlane = (name: string) => async (): Promise<void> => {
  planes.get(name)?.signal('SIGSTOP');
  await delay(silenceMs + 2_000);
  planes.get(name)?.signal('SIGCONT');
};
const crash = async (): Promise<void> => {
  await postgres.crash();
  await postgres.start();
};
const urlOf = (name: string): string => planes.get(name)?.rest ?? '';
const asOwner = (path: string, more: Parameters<typeof ask>[2] = {}, at = 'a') => ask(`${urlOf(at)}${path}`, ownerKey, more);

beforeAll(async () => {
  postgres = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-waiting-'));
  tools = await startFakeServer();
  tools.pages = [[tool('pay'), tool('look')]];
  witness = join(folder, 'witness');
  writeFileSync(witness, '');
  tools.instead = ({ rpc: { method, params } }) => {
    if (method !== 'tools/call') return false;
    const round = Number(params?.arguments?.['round']);
    appendFileSync(witness, `${params?.name} ${round}\n`);
    if (params?.name === 'pay') onPay(round);
    return false;
  };
  for (const name of ['a', 'b']) await startPlane(name);
  await asOwner('/default/admin/members', { body: { uid: 'ana', email: 'ana@example.com', role: 'member' } });
  const scopes = ['agents.read', 'agents.write'];
  anaKey = String((await asOwner('/default/admin/keys', { body: { name: 'ana', uid: 'ana', scopes } })).body['key']);
  expect(await asOwner('/default/admin/toolServers', { body: { name: 'bank', url: tools.url } })).toMatchObject({ status: 200 });
  const agent = { name: 'clerk', model: 'demo/echo', enabledTools: ['bank.*'] };
  agentId = String((await asOwner('/api/v1/agents', { body: agent })).body['id']);
  const policy = { tools: { 'bank.pay': { api: { permission: 'ask' } } } };
  expect(await asOwner('/default/admin/workspacePolicy', { method: 'PUT', body: policy })).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await Promise.all([...planes.values()].map((plane) => plane.end('SIGKILL')));
  await postgres.close();
  await tools.close();
  rmSync(folder, { recursive: true, force: true });
});

const query: Postgres['query'] = (sql, values) => postgres.query(sql, values);
/** Asks until PostgreSQL answers. */
const patiently = <T extends Record<string, unknown>>(sql: string, values: readonly unknown[]): Promise<readonly T[]> =>
  eventually(
    () => query<T>(sql, values).catch(() => null),
    (rows) => rows !== null,
    healMs,
  ).then((rows) => rows ?? []);

interface FoundRun extends Record<string, unknown> {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
  readonly transcript: string;
}

const runOf = async (round: number): Promise<FoundRun | undefined> =>
  (
    await patiently<FoundRun>(`select id, status, error, transcript::text from run where request->>'input' like $1`, [
      `%"round": ${round}}%`,
    ])
  )[0];
const hasEnded = (run: FoundRun | undefined): boolean => run === undefined || !['running', 'waiting'].includes(run.status);
const pendingOf = (id: string) => patiently<{ id: string }>(`select id from approval where session_id = $1 and state = 'pending'`, [id]);

/** How many lines the tool has written for this call. */
const made = (name: string, round: number): number =>
  readFileSync(witness, 'utf8')
    .split('\n')
    .filter((line) => line === `${name} ${round}`).length;

/** Approves what the run asks until it has ended. */
async function approveUntilEnd(round: number, reached: (step: Step) => void): Promise<void> {
  await eventually(
    async () => {
      const run = await runOf(round);
      if (run?.status === 'waiting') reached('stored');
      for (const { id } of run === undefined ? [] : await pendingOf(run.id)) {
        for (const at of ['a', 'b']) await asOwner(`/default/admin/approvals/${id}/approve`, { body: {} }, at).catch(() => null);
        reached('approved');
      }
      const used = await patiently(`select 1 from approval where session_id = $1 and state = 'used'`, [run?.id ?? '']);
      if (used.length > 0) reached('claimed');
      return run;
    },
    hasEnded,
    healMs,
  );
  reached('finished');
}

async function playRound(round: number, step: Step, kill: () => Promise<void>): Promise<void> {
  const killing: { done: Promise<void> | null } = { done: null };
  const reached = (at: Step): void => {
    if (at === step) killing.done ??= kill();
  };
  onPay = (paid) => {
    if (paid === round) reached('called');
  };
  const input = `call bank.look {"round": ${round}}\ncall bank.pay {"round": ${round}}`;
  const starting = ask(`${urlOf(round % 2 === 0 ? 'a' : 'b')}/api/v1/agents/${agentId}/run`, anaKey, { body: { input } }).catch(() => null);
  reached('asked');
  await starting;
  await approveUntilEnd(round, reached);
  await killing.done;
}

test(`${kills} kills at each step of a run that waits: no call is made twice, and each run ends in a recorded state`, {
  timeout: 120_000 + kills * 60_000,
}, async () => {
  const random = randomFrom(seed);
  const victims = [killPlane('a'), killPlane('b'), crash, pausePlane('a'), pausePlane('b')];
  const ended: (FoundRun | undefined)[] = [];
  for (let round = 1; round <= kills; round += 1) {
    const victim = victims[Math.floor(random() * victims.length)] ?? crash;
    // Some milliseconds later, so that the kill meets the step at another place each time.
    const ms = Math.floor(random() * 40);
    await playRound(round, steps[round % steps.length] ?? 'asked', async () => {
      await delay(ms);
      await victim();
    });
    const run = await runOf(round);
    ended.push(run);
    expect(made('pay', round)).toBeLessThanOrEqual(1);
    expect(made('look', round)).toBeLessThanOrEqual(1);
    // A run that is completed has made its call, or it was told that its approval could not be used: a control plane that was
    // paused while it claimed one does not know the answer, gives the use back, and makes no call.
    if (run?.status === 'completed') expect(made('pay', round) === 1 || run.transcript.includes('approval_unavailable')).toBe(true);
    else if (run !== undefined) expect(run).toMatchObject({ status: 'failed', error: expect.stringContaining('control plane') });
    expect(run === undefined ? [] : await pendingOf(run.id)).toEqual([]);
  }
  // Most runs must still be completed: a kill loses at most the run that it met.
  expect(ended.filter((run) => run?.status === 'completed').length).toBeGreaterThanOrEqual(kills / 3);
});
