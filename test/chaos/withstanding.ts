// Whatever happens to PostgreSQL, sidecars continue to decide, REST refuses what it cannot do, and every control plane
// is current after recovery. The faults, each with the conditions that must hold during it. CI runs them without a
// clock, and test/long with one.
import pg from 'pg';
import { expect } from 'vitest';
import { followPlane } from '../support/plane.ts';
import { type Answer, eventually } from '../support/programs.ts';
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
import type { Measure } from './measure.ts';
import { askAsOwner, denying, planeNames, type World } from './world.ts';

export interface Bench {
  readonly world: World;
  readonly measure: Measure;
  /** Functions to undo after the test, the last first. */
  readonly undo: (() => Promise<unknown> | void)[];
}

export interface Fault {
  readonly name: string;
  /** The parents of processes are read from /proc. */
  readonly onLinux: boolean;
  readonly run: (bench: Bench) => Promise<void>;
}

const shippedMsMax = 60_000;

interface Load {
  readonly asking: Asking;
  readonly deciding: readonly [Deciding, Deciding];
}

interface Breaking {
  readonly breaks: () => Promise<void> | void;
  readonly repairs: () => Promise<void> | void;
  /** Resolves when the fault has lasted long enough. */
  readonly lasts: (load: Load, bench: Bench) => Promise<void>;
}

let sessions = 0;

/** One sidecar of each control plane. */
async function followBoth({ planes, key }: World) {
  const follow = (at: 0 | 1) => followPlane({ address: () => planes[at].grpc }, { key, form: 'library', sidecarId: `sidecar-${at}` });
  return [await follow(0), await follow(1)] as const;
}

/** A PUT on each control plane is enforced by a sidecar of the other. */
async function becomesCurrent({ planes }: World, [a, b]: Awaited<ReturnType<typeof followBoth>>): Promise<void> {
  sessions += 1;
  const crosses = async (at: 0 | 1, other: typeof a): Promise<void> => {
    const tool = `probe-${at}.${sessions}`;
    const written = () => askAsOwner(planes[at], '/default/admin/workspacePolicy', { method: 'PUT', body: denying(tool) });
    const { body } = await eventually(written, ({ status }) => status === 200);
    await other.reaches(Number(body['revision']));
    expect(decide(other, tool, 'probe')).toMatchObject({ allowed: false, code: 'policy_denied' });
  };
  await Promise.all([crosses(0, b), crosses(1, a)]);
}

async function withstands(bench: Bench, { breaks, repairs, lasts }: Breaking): Promise<void> {
  const { world, measure, undo } = bench;
  const { planes, postgres } = world;
  const since = await readRevision(postgres);
  const followed = await followBoth(world);
  sessions += 1;
  const deciding = [keepDeciding(followed[0], `calls-0.${sessions}`), keepDeciding(followed[1], `calls-1.${sessions}`)] as const;
  const asking = keepAsking(planes, measure);
  undo.push(
    () => asking.stop(),
    () => deciding.forEach((each) => each.stop()),
  );
  await asking.answers(200, 3, asking.allLanes);

  const before = deciding.map(({ answered }) => answered.length);
  await breaks();
  await lasts({ asking, deciding }, bench);
  const during = deciding.map(({ answered }, at) => answered.length - (before[at] ?? 0));
  await repairs();
  await measure('all is current', () => becomesCurrent(world, followed));
  await become(bench, 200);

  await asking.answers(200, 3, asking.allLanes);
  await asking.stop();
  for (const each of deciding) each.stop();
  for (const { followed } of deciding)
    await eventually(
      async () => followed.sidecar.shipping().records,
      (left) => left === 0,
      shippedMsMax,
    );
  expect(asking.asked.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  expect(Math.min(...during)).toBeGreaterThan(0);
  expect(deciding.flatMap(({ denied }) => denied)).toEqual([]);
  for (const each of deciding) await expectRecorded(postgres, each);
  await expectWhole(postgres, asking, since);
}

const readiness = async ({ planes }: World): Promise<readonly number[]> =>
  Promise.all(planes.map(async (plane) => (await askAsOwner(plane, '/readyz')).status));

const become = ({ world, measure }: Bench, status: number): Promise<unknown> =>
  measure('all say whether they are ready', () =>
    eventually(
      () => readiness(world),
      (all) => all.every((each) => each === status),
    ),
  );

/** Waits until each lane was refused this often. */
const refusesAll =
  (times: number) =>
  ({ asking }: Load): Promise<void> =>
    asking.answers(503, times, asking.allLanes);
const refusesWrites = ({ asking }: Load): Promise<void> => asking.answers(503, 3, asking.writeLanes);
/** Nothing can be ingested, and meanwhile decisions stay with the sidecars. */
const refusesReadsOfLog = ({ asking }: Load): Promise<void> => asking.answers(503, 3, asking.logLanes);
const atOnce = async (): Promise<void> => {};

/** Many more requests at once than a control plane has connections, until the socket's queue is full too. */
async function refusesCrowds({ world, measure }: Bench): Promise<void> {
  for (let crowd = 0; crowd < 4; crowd += 1) {
    const asked = world.planes.flatMap((plane) =>
      Array.from({ length: 60 }, () => measure('an answer', () => askAsOwner(plane, '/api/v1/agents'))),
    );
    const answers: readonly Answer[] = await Promise.all(asked);
    expect(answers.filter(({ status }) => status !== 503)).toEqual([]);
  }
}

/** A transaction of another session that it does not end. */
async function locks({ world, undo }: Bench, sql: string): Promise<Pick<Breaking, 'breaks' | 'repairs'>> {
  const client = new pg.Client(world.postgres.connection);
  await client.connect();
  undo.push(() => client.end());
  return {
    breaks: async () => void (await client.query(`begin; ${sql}`)),
    repairs: async () => void (await client.query('rollback')),
  };
}

async function freezesInAnAnswer(bench: Bench): Promise<void> {
  const { postgres, planes } = bench.world;
  const { breaks, repairs } = await locks(bench, 'lock table audit_entry in access exclusive mode');
  await breaks();
  const asked = bench.measure('an answer', () => askAsOwner(planes[0], '/default/admin/audit'));
  const waiting = () => postgres.query("select from pg_locks where relation = 'audit_entry'::regclass and not granted");
  await eventually(waiting, (rows) => rows.length === 1);
  postgres.freeze();
  expect((await asked).status).toBe(503);
  postgres.thaw();
  await repairs();
  expect(await askAsOwner(planes[0], '/default/admin/audit')).toMatchObject({ status: 200 });
}

async function killsListeners(bench: Bench): Promise<void> {
  const { postgres } = bench.world;
  const before = await readListeners(postgres, planeNames);
  expect(before).toHaveLength(2);
  await withstands(bench, { breaks: () => killListeners(postgres, planeNames), lasts: atOnce, repairs: () => {} });
  const after = await readListeners(postgres, planeNames);
  expect(after).toHaveLength(2);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
}

type Breaks = (world: World) => Breaking;

const breaking = (name: string, breaks: Breaks, { onLinux = false } = {}): Fault => ({
  name,
  onLinux,
  run: (bench) => withstands(bench, breaks(bench.world)),
});
const locking = (name: string, sql: string, lasts: Breaking['lasts']): Fault => ({
  name,
  onLinux: false,
  run: async (bench) => withstands(bench, { ...(await locks(bench, sql)), lasts }),
});

export const faults: readonly Fault[] = [
  breaking('stopped, and started again', ({ postgres }) => ({
    breaks: () => postgres.stop(),
    lasts: async (load, bench) => {
      await refusesAll(100)(load);
      await become(bench, 503);
    },
    repairs: () => postgres.start(),
  })),
  breaking('crashed, and recovered at once', ({ postgres }) => ({
    breaks: () => postgres.crash(),
    lasts: atOnce,
    repairs: () => postgres.start(),
  })),
  breaking('restarted: sessions are told, and it is back at once', ({ postgres }) => ({
    breaks: () => postgres.stop(),
    lasts: atOnce,
    repairs: () => postgres.start(),
  })),
  breaking(
    'frozen',
    ({ postgres }) => ({
      breaks: () => postgres.freeze(),
      lasts: async (load, bench) => {
        await refusesAll(3)(load);
        await refusesCrowds(bench);
        await become(bench, 503);
      },
      repairs: () => postgres.thaw(),
    }),
    { onLinux: true },
  ),
  { name: 'frozen while it was working on an answer', onLinux: true, run: freezesInAnAnswer },
  locking('the row of the workspace locked', 'select from workspace for update', refusesWrites),
  locking('the table of workspaces locked', 'lock table workspace in access exclusive mode', refusesAll(3)),
  locking('the audit log locked', 'lock table audit_entry in access exclusive mode', refusesReadsOfLog),
  { name: 'the listening connections killed, and opened again', onLinux: false, run: killsListeners },
];
