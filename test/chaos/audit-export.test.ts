// Control planes as processes, and a collector: whoever sends is killed in the middle of it, and another goes on.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createIngest } from '../../control-plane/operations/audit/ingest-batch.ts';
import { expectWhole, positionOf } from '../control-plane/exporting.ts';
import { records, spool } from '../control-plane/spool.ts';
import { type Collector, startCollector } from '../support/collector.ts';
import { type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';
import { type Postgres, startPostgres } from './postgres.ts';

let postgres: Postgres;
let pool: Pool;
let collector: Collector;
let folder: string;
const planes = new Set<ControlPlane>();

const startPlane = async (name: string): Promise<ControlPlane> => {
  const plane = await startControlPlane(
    {
      DATABASE_URL: postgres.url(name),
      TOLLGATE_DATA_DIR: join(folder, name),
      TOLLGATE_AUDIT_EXPORT_ENDPOINT: collector.url,
      TOLLGATE_AUDIT_EXPORT_HEADERS: 'authorization=Bearer%20of-the-test',
    },
    'source',
  );
  planes.add(plane);
  return plane;
};

async function endPlane(plane: ControlPlane, signal: NodeJS.Signals): Promise<void> {
  planes.delete(plane);
  await plane.end(signal);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-chaos-export-'));
  [postgres, collector] = await Promise.all([startPostgres(), startCollector()]);
  pool = new Pool(postgres.connection);
});
afterAll(async () => {
  await Promise.all([...planes].map((plane) => plane.end('SIGKILL')));
  await pool?.end();
  await collector?.close();
  await postgres?.close();
  rmSync(folder, { recursive: true, force: true });
});

const ingested = { from: 1 };
/** Of the first workspace. */
async function ingest(count: number): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(`select id from workspace where slug = 'default'`);
  const take = createIngest({ pool, clock: () => new Date() });
  const until = ingested.from + count;
  for (; ingested.from < until; ingested.from += 500)
    await take({
      workspaceId: Number(rows[0]?.id),
      spoolId: spool('a'),
      records: records(ingested.from, Math.min(until, ingested.from + 500) - 1, sequenced),
    });
  ingested.from = until;
  return until - 1;
}
const sequenced = (sequence: number): object => ({
  tool: `tool.${sequence}`,
  decision: 'allow',
  ts: new Date().toISOString(),
  agentName: 'bot',
  sub: 'ann',
  sessionId: 's',
});

const cursor = async (): Promise<number> =>
  Number((await pool.query<{ position: string }>('select position from audit_export')).rows[0]?.position ?? 0);
const metric = async (plane: ControlPlane, name: string): Promise<number> => {
  const text = await (await fetch(`${plane.rest}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};
const isSending = async (plane: ControlPlane): Promise<boolean> => (await metric(plane, 'tollgate_audit_export_sending')) === 1;

test('kill -9 of the one that sends, in the middle of a batch: another takes over within seconds, and nothing is missing', async () => {
  const two = [await startPlane('plane-a'), await startPlane('plane-b')] as const;
  await ingest(1_000);
  await eventually(cursor, (at) => at === 1_000);
  // The third request from now on is never answered.
  const begun = collector.posts.length;
  collector.reply = ({ nth }) => (nth - begun === 3 ? 'hang' : 'take');
  const head = await ingest(5_000);
  await collector.until(() => collector.posts.length >= begun + 3);
  const sending = (await isSending(two[0])) ? two[0] : two[1];
  const standing = sending === two[0] ? two[1] : two[0];
  const killedAt = performance.now();
  await endPlane(sending, 'SIGKILL');
  const held = await cursor();
  expect(held).toBeLessThan(head);
  const posted = collector.posts.length;
  await collector.until(() => collector.posts.length > posted);
  expect(performance.now() - killedAt).toBeLessThan(8_000);
  await eventually(cursor, (at) => at === head);
  expect(await isSending(standing)).toBe(true);
  expectWhole(collector.held, 'default', head);
  // What was sent of the batch, and no more than what was under way.
  expect(collector.held.length - head).toBeLessThanOrEqual(1_000);
  expect(collector.posts.every(({ headers }) => headers.authorization === 'Bearer of-the-test')).toBe(true);
  expect(standing.log()).not.toContain('of-the-test');
});

/** How long an entry takes from its commit to the collector, in ms. */
async function crosses(): Promise<number> {
  const head = await ingest(1);
  const committedAt = performance.now();
  await collector.until(() => collector.held.some((record) => positionOf(record) === head));
  return performance.now() - committedAt;
}

test('a new entry goes out within about a second, and soon after the one that sends was told to stop', async () => {
  await startPlane('plane-c');
  await startPlane('plane-d');
  const ms: number[] = [];
  for (let n = 0; n < 5; n += 1) ms.push(await crosses());
  expect(Math.max(...ms)).toBeLessThan(1_500);
  for (const plane of planes) {
    if (!(await isSending(plane))) continue;
    await endPlane(plane, 'SIGTERM');
    break;
  }
  expect(await crosses()).toBeLessThan(3_000);
});

test('a collector that refuses makes nobody unready; how far the export is behind is to be seen on all', async () => {
  collector.reply = () => ({ status: 401, body: { message: 'who are you' } });
  const head = await ingest(10);
  for (const plane of planes)
    await eventually(
      () => metric(plane, 'tollgate_audit_export_lag_records'),
      (lag) => lag === 10,
    );
  const ready = async () => Promise.all([...planes].map(async (plane) => (await fetch(`${plane.rest}/readyz`)).json()));
  const warning = 'audit entries are not exported: the collector answered 401 Unauthorized (one workspace, asked again now and then)';
  await eventually(ready, (answers) => JSON.stringify(answers).includes(warning));
  expect(await ready()).toEqual(expect.arrayContaining([{ ok: true }, { ok: true, warnings: [warning] }]));
  expect(await cursor()).toBe(head - 10);
});
