// R5: whatever happens to PostgreSQL, decisions go on, REST answers within two seconds, every control plane is current
// two seconds after it is back, and nothing that was answered is lost.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { followPlane } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';
import {
  type Asking,
  type Deciding,
  decide,
  expectRecorded,
  expectWhole,
  keepAsking,
  keepDeciding,
  killListeners,
  readListeners,
  readRevision,
} from './load.ts';
import { askTimed, denying, planeNames, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

const undo: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  await world.postgres.heal();
  for (const step of undo.splice(0).reverse()) await step();
});

const answerMsMax = 2_000;
const currentMsMax = 2_000;
const shippedMsMax = 60_000;

interface Load {
  readonly asking: Asking;
  readonly deciding: readonly [Deciding, Deciding];
}

interface Fault {
  readonly breaks: () => Promise<void> | void;
  readonly mends: () => Promise<void> | void;
  /** Resolves when it has lasted long enough. */
  readonly lasts: (load: Load) => Promise<void>;
}

let sessions = 0;

/** One sidecar of each control plane. */
async function followBoth() {
  const { planes, key } = world;
  const follow = (at: 0 | 1) => followPlane({ address: () => planes[at].grpc }, { key, form: 'library', sidecarId: `sidecar-${at}` });
  return [await follow(0), await follow(1)] as const;
}

/** A PUT on each control plane is enforced by a sidecar of the other; how long after `since`, in ms. */
async function becomesCurrent([a, b]: Awaited<ReturnType<typeof followBoth>>, since: number): Promise<number> {
  sessions += 1;
  const crosses = async (at: 0 | 1, other: typeof a): Promise<void> => {
    const tool = `probe-${at}.${sessions}`;
    const written = () => askTimed(world.planes[at], '/default/admin/workspacePolicy', { method: 'PUT', body: denying(tool) });
    const { body } = await eventually(written, ({ status }) => status === 200);
    await other.reaches(Number(body['revision']));
    expect(decide(other, tool, 'probe')).toMatchObject({ allowed: false, code: 'policy_denied' });
  };
  await Promise.all([crosses(0, b), crosses(1, a)]);
  return performance.now() - since;
}

async function withstands({ breaks, mends, lasts }: Fault): Promise<void> {
  const { planes, postgres } = world;
  const since = await readRevision(postgres);
  const followed = await followBoth();
  sessions += 1;
  const deciding = [keepDeciding(followed[0], `calls-0.${sessions}`), keepDeciding(followed[1], `calls-1.${sessions}`)] as const;
  const asking = keepAsking(planes);
  undo.push(
    () => asking.stop(),
    () => deciding.forEach((each) => each.stop()),
  );
  await asking.answers(200, 3, asking.allLanes);

  const before = deciding.map(({ answered }) => answered.length);
  await breaks();
  await lasts({ asking, deciding });
  const during = deciding.map(({ answered }, at) => answered.length - (before[at] ?? 0));
  await mends();
  const mendedAt = performance.now();
  const currentMs = await becomesCurrent(followed, mendedAt);
  await become(200);

  await asking.answers(200, 3, asking.allLanes);
  await asking.stop();
  for (const each of deciding) each.stop();
  for (const { followed } of deciding)
    await eventually(
      async () => followed.sidecar.shipping().records,
      (left) => left === 0,
      shippedMsMax,
    );
  expect(asking.asked.filter(({ status, ms }) => (status !== 200 && status !== 503) || ms >= answerMsMax)).toEqual([]);
  expect(currentMs).toBeLessThan(currentMsMax);
  expect(Math.min(...during)).toBeGreaterThan(0);
  expect(deciding.flatMap(({ denied }) => denied)).toEqual([]);
  for (const each of deciding) await expectRecorded(postgres, each);
  await expectWhole(postgres, asking, since);
}

const readiness = async (): Promise<readonly number[]> =>
  Promise.all(world.planes.map(async (plane) => (await askTimed(plane, '/readyz')).status));

const become = (status: number): Promise<unknown> => eventually(readiness, (all) => all.every((each) => each === status), answerMsMax);

/** Until each of those who ask was refused so often. */
const refusesAll =
  (times: number) =>
  ({ asking }: Load): Promise<void> =>
    asking.answers(503, times, asking.allLanes);
const refusesWrites = ({ asking }: Load): Promise<void> => asking.answers(503, 3, asking.writeLanes);
const atOnce = async (): Promise<void> => {};

test('stopped, and started again', () =>
  withstands({
    breaks: () => world.postgres.stop(),
    lasts: async (load) => {
      await refusesAll(100)(load);
      await become(503);
    },
    mends: () => world.postgres.start(),
  }));

test('crashed, and recovered at once', () =>
  withstands({ breaks: () => world.postgres.crash(), lasts: atOnce, mends: () => world.postgres.start() }));

test('restarted: sessions are told, and it is back at once', () =>
  withstands({ breaks: () => world.postgres.stop(), lasts: atOnce, mends: () => world.postgres.start() }));

/** Far more requests at once than a control plane has connections, until the socket's queue is full too. */
async function refusesCrowds(): Promise<void> {
  for (let crowd = 0; crowd < 4; crowd += 1) {
    const asked = world.planes.flatMap((plane) => Array.from({ length: 60 }, () => askTimed(plane, '/api/v1/agents')));
    const answers = await Promise.all(asked);
    expect(answers.filter(({ status, ms }) => status !== 503 || ms >= answerMsMax)).toEqual([]);
  }
}

/** Who is a child of whom is read from /proc. */
const onLinux = test.runIf(process.platform === 'linux');

onLinux('frozen', () =>
  withstands({
    breaks: () => world.postgres.freeze(),
    lasts: async (load) => {
      await refusesAll(3)(load);
      await refusesCrowds();
      await become(503);
    },
    mends: () => world.postgres.thaw(),
  }),
);

onLinux('frozen while it was working on an answer', async () => {
  const { postgres, planes } = world;
  const { breaks, mends } = await locks('lock table audit_entry in access exclusive mode');
  await breaks();
  const asked = askTimed(planes[0], '/default/admin/audit');
  const waiting = () => postgres.query("select from pg_locks where relation = 'audit_entry'::regclass and not granted");
  await eventually(waiting, (rows) => rows.length === 1);
  postgres.freeze();
  const { status, ms } = await asked;
  expect(status).toBe(503);
  expect(ms).toBeLessThan(answerMsMax);
  postgres.thaw();
  await mends();
  expect(await askTimed(planes[0], '/default/admin/audit')).toMatchObject({ status: 200 });
});

/** What another session does and does not end. */
async function locks(sql: string): Promise<Pick<Fault, 'breaks' | 'mends'>> {
  const client = new pg.Client(world.postgres.connection);
  await client.connect();
  undo.push(() => client.end());
  return {
    breaks: async () => void (await client.query(`begin; ${sql}`)),
    mends: async () => void (await client.query('rollback')),
  };
}

test('the row of the workspace locked', async () =>
  withstands({ ...(await locks('select from workspace for update')), lasts: refusesWrites }));

test('the table of workspaces locked', async () =>
  withstands({ ...(await locks('lock table workspace in access exclusive mode')), lasts: refusesAll(3) }));

/** Nothing can be taken in, and what was decided meanwhile stays with the sidecars. */
const refusesReadsOfLog = ({ asking }: Load): Promise<void> => asking.answers(503, 3, asking.logLanes);

test('the audit log locked', async () =>
  withstands({ ...(await locks('lock table audit_entry in access exclusive mode')), lasts: refusesReadsOfLog }));

test('the listening connections killed, and opened again', async () => {
  const before = await readListeners(world.postgres, planeNames);
  expect(before).toHaveLength(2);
  await withstands({
    breaks: () => killListeners(world.postgres, planeNames),
    lasts: atOnce,
    mends: () => {},
  });
  const after = await readListeners(world.postgres, planeNames);
  expect(after).toHaveLength(2);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
});
