// Approvals under kills: two sidecars race for one use, while a control plane, a sidecar or PostgreSQL is killed at some step
// of the call: when it is asked for, held, answered or claimed. The tool is the outside witness: it appends a line to a file for
// each call that was permitted. Whatever is killed, no approval has more lines than uses, and each ends in a recorded state.
// `TOLLGATE_TEST_APPROVAL_KILLS` sets the number of kills, `TOLLGATE_TEST_SEED` their sequence.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, eventually, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { freePort } from '../support/prometheus.ts';
import { randomFrom } from '../support/random.ts';
import { type Postgres, startPostgres } from './postgres.ts';

const kills = Number(process.env['TOLLGATE_TEST_APPROVAL_KILLS'] ?? 20);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 7);
const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const steps = ['asked', 'held', 'answered', 'claimed'] as const;
const approvals = '/default/admin/approvals';
/** A use may be given back after its round. Then its approval expires. */
const validSeconds = 30;
/** Longer than any program needs to start, and any caller to notice that a program is gone. */
const healMs = 60_000;

/** A program that is started again after each kill. `url` changes then. */
interface Killable {
  url: string;
  readonly kill: () => Promise<void>;
}

let postgres: Postgres;
let folder = '';
let witness = '';
let agentKey = '';
let planes: readonly Killable[] = [];
let sidecars: readonly Killable[] = [];
const running = new Map<string, Program>();

beforeAll(async () => {
  postgres = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-approvals-'));
  witness = join(folder, 'witness');
  const ports = [await freePort(), await freePort()];
  planes = [await startPlane('plane-a', ports[0] ?? 0), await startPlane('plane-b', ports[1] ?? 0)];
  const policy = { defaults: { api: { permission: 'allow' } }, tools: { pay: { api: { permission: 'ask', ask: { validSeconds } } } } };
  expect((await asOwner('/default/admin/workspacePolicy', { method: 'PUT', body: policy })).status).toBe(200);
  agentKey = await keyFor(['govern']);
  const key = await keyFor(['sidecar.sync']);
  sidecars = [await startSidecar('edge-a', ports[0] ?? 0, key), await startSidecar('edge-b', ports[1] ?? 0, key)];
});
afterAll(async () => {
  await Promise.all([...running.values()].map((program) => program.end('SIGKILL')));
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
});

async function killable<T extends Program>(name: string, start: () => Promise<T>, urlOf: (program: T) => string): Promise<Killable> {
  let program = await start();
  running.set(name, program);
  const one: Killable = {
    url: urlOf(program),
    kill: async () => {
      await program.end('SIGKILL');
      program = await start();
      running.set(name, program);
      one.url = urlOf(program);
    },
  };
  return one;
}

const startPlane = (name: string, grpcPort: number): Promise<Killable> =>
  killable(
    name,
    () =>
      startControlPlane({
        DATABASE_URL: postgres.url(name),
        TOLLGATE_DATA_DIR: join(folder, name),
        TOLLGATE_OWNER_KEY: ownerKey,
        TOLLGATE_GRPC_PORT: String(grpcPort),
      }),
    ({ rest }) => rest,
  );

const startSidecar = (name: string, grpcPort: number, key: string): Promise<Killable> =>
  killable(
    name,
    async () => {
      const sidecar = await startSidecarProgram({
        TOLLGATE_CONTROL_PLANE: `127.0.0.1:${grpcPort}`,
        TOLLGATE_KEY: key,
        TOLLGATE_SPOOL_DIR: join(folder, name),
      });
      await eventually(
        async () => (await fetch(`${sidecar.url}/readyz`)).status,
        (status) => status === 200,
      );
      return sidecar;
    },
    ({ url }) => url,
  );

const asOwner = (path: string, question: Parameters<typeof ask>[2] = {}, at = planes[0]) => ask(`${at?.url}${path}`, ownerKey, question);

const keyFor = async (scopes: readonly string[]): Promise<string> =>
  String((await asOwner('/default/admin/keys', { body: { name: 'test', scopes } })).body['key']);

const sessionOf = (round: number): string => `round-${round}`;

/** Makes the same call again and again until the round is over. The tool is a line in the file of the witness. */
async function pay(sidecar: Killable, round: number, isOver: () => boolean): Promise<void> {
  const body = { tool_name: 'pay', tool_input: { round }, session_id: sessionOf(round), agent_tier: 'api', wait_ms: 2_000 };
  while (!isOver()) {
    const answer = await ask(`${sidecar.url}/govern/tool-use`, agentKey, { body }).catch(() => null);
    if (answer?.body['decision'] === 'allow') appendFileSync(witness, `${String(answer.body['request_id'])}\n`);
    else await delay(20);
  }
}

interface Found {
  readonly id: string;
  readonly state: string;
}

/** Returns the approvals of a round, the oldest first. Empty: there is none, or PostgreSQL does not answer. */
const approvalsOf = (round: number): Promise<readonly Found[]> =>
  postgres
    .query<Found & Record<string, unknown>>('select id, state from approval where session_id = $1 order by created_at', [sessionOf(round)])
    .catch(() => []);

const stateOf = async (round: number, id: string): Promise<string> =>
  (await approvalsOf(round)).find((one) => one.id === id)?.state ?? 'unknown';

/** Presses at one control plane after the other, until one has answered it. */
const press = (round: number, id: string, verb: 'approve' | 'deny') =>
  eventually(
    async () => {
      for (const plane of planes) await asOwner(`${approvals}/${id}/${verb}`, { body: {} }, plane).catch(() => null);
      return stateOf(round, id);
    },
    (state) => state !== 'pending' && state !== 'unknown',
    healMs,
  );

async function playRound(round: number, step: (typeof steps)[number], kill: () => Promise<void>): Promise<void> {
  let isOver = false;
  let killing = Promise.resolve();
  const reached = (at: typeof step): void => {
    if (at === step) killing = kill();
  };
  const agents = [...sidecars, ...sidecars].map((sidecar) => pay(sidecar, round, () => isOver));
  try {
    reached('asked');
    const [first] = await eventually(
      () => approvalsOf(round),
      (found) => found.length > 0,
      healMs,
    );
    const { id } = first ?? expect.fail('the call was not asked for');
    reached('held');
    const pressing = press(round, id, 'approve');
    reached('answered');
    await pressing;
    reached('claimed');
    await killing;
    await eventually(
      () => stateOf(round, id),
      (state) => state !== 'approved',
      healMs,
    );
  } finally {
    isOver = true;
    await killing;
    // What was asked for after the use is denied. This also ends the waits of the callers.
    for (const one of await approvalsOf(round)) if (one.state === 'pending') await press(round, one.id, 'deny');
    await Promise.all(agents);
    for (const one of await approvalsOf(round)) if (one.state === 'pending') await press(round, one.id, 'deny');
  }
}

test(`${kills} kills at each step of a call: no approval is used more often than it allows, and each ends in a recorded state`, {
  timeout: 120_000 + kills * 20_000,
}, async () => {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] ?? expect.fail('the list is empty');
  const crash = async (): Promise<void> => {
    await postgres.crash();
    await postgres.start();
  };
  for (let round = 0; round < kills; round += 1) {
    const victim = pick([...planes.map(({ kill }) => kill), ...sidecars.map(({ kill }) => kill), crash]);
    // Some milliseconds later, so that the kill meets the step at another place each time.
    const ms = Math.floor(random() * 40);
    await playRound(round, steps[round % steps.length] ?? 'asked', async () => {
      await delay(ms);
      await victim();
    });
  }
  await expectHeld();
});

async function expectHeld(): Promise<void> {
  const lines = readFileSync(witness, 'utf8').trimEnd().split('\n');
  const uses = await postgres.query<{ approval_id: string; request_id: string }>(
    'select approval_id, request_id from approval_use where returned_at is null',
  );
  const approvalOf = new Map(uses.map((use) => [use.request_id, use.approval_id]));
  // Each permitted call has a use of its own.
  expect(lines.filter((line) => !approvalOf.has(line))).toEqual([]);
  expect(new Set(lines).size).toBe(lines.length);
  const made = new Map<string, number>();
  for (const line of lines) made.set(approvalOf.get(line) ?? '', (made.get(approvalOf.get(line) ?? '') ?? 0) + 1);
  await eventually(
    () => postgres.query("select id from approval where state = 'approved'"),
    (open) => open.length === 0,
    healMs + validSeconds * 1_000,
  );
  const all = await postgres.query<{ id: string; uses: number; state: string; recorded: string }>(
    `select id, uses, state, (select detail->>'state' from approval_event where approval_id = approval.id order by version desc limit 1) as recorded
     from approval`,
  );
  for (const one of all) {
    expect(made.get(one.id) ?? 0).toBeLessThanOrEqual(one.uses);
    expect(['used', 'denied', 'expired', 'cancelled']).toContain(one.state);
    expect(one.recorded).toBe(one.state);
  }
  // Most calls must still be made: a kill loses at most the call that it met.
  expect(lines.length).toBeGreaterThanOrEqual(kills / 2);
}
