// Control planes as processes, and a collector that receives their entries: the control plane that sends is killed in
// the middle of a batch, and another takes over. CI runs this without a clock, and test/long with one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { expect } from 'vitest';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { expectWhole, positionOf } from '../control-plane/exporting.ts';
import { acknowledgedOf, batchOf, records, spool } from '../control-plane/spool.ts';
import { type Collector, startCollector } from '../support/collector.ts';
import { type ControlPlane, eventually, startControlPlane } from '../support/programs.ts';
import type { Measure } from './measure.ts';
import { startPostgres } from './postgres.ts';

export interface Exporting {
  readonly collector: Collector;
  readonly pool: Pool;
  readonly planes: ReadonlySet<ControlPlane>;
  readonly startPlane: (name: string) => Promise<ControlPlane>;
  readonly endPlane: (plane: ControlPlane, signal: NodeJS.Signals) => Promise<void>;
  /** Ingests entries of the first workspace; returns how many it has then. */
  readonly ingest: (count: number) => Promise<number>;
  close(): Promise<void>;
}

export async function startExporting(): Promise<Exporting> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-chaos-export-'));
  const [postgres, collector] = await Promise.all([startPostgres(), startCollector()]);
  const pool = new Pool(postgres.connection);
  // At the end PostgreSQL may end before the last connection.
  pool.on('error', () => undefined);
  const planes = new Set<ControlPlane>();
  return {
    collector,
    pool,
    planes,
    startPlane: async (name) => {
      const plane = await startControlPlane({
        DATABASE_URL: postgres.url(name),
        TOLLGATE_DATA_DIR: join(folder, name),
        TOLLGATE_AUDIT_EXPORT_ENDPOINT: collector.url,
        TOLLGATE_AUDIT_EXPORT_HEADERS: 'authorization=Bearer%20of-the-test',
      });
      planes.add(plane);
      return plane;
    },
    endPlane: async (plane, signal) => {
      planes.delete(plane);
      await plane.end(signal);
    },
    ingest: ingesting(pool),
    close: async () => {
      await Promise.all([...planes].map((plane) => plane.end('SIGKILL')));
      await pool.end();
      await collector.close();
      await postgres.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ingesting(pool: Pool): Exporting['ingest'] {
  let from = 1;
  return async (count) => {
    const { rows } = await pool.query<{ id: string }>(`select id from workspace where slug = 'default'`);
    const take = createIngest({ pool, clock: () => new Date() });
    const until = from + count;
    for (; from < until; from += 500)
      acknowledgedOf(
        await take(
          batchOf({
            workspaceId: Number(rows[0]?.id),
            spoolId: spool('a'),
            records: records(from, Math.min(until, from + 500) - 1, sequenced),
          }),
        ),
      );
    from = until;
    return until - 1;
  };
}

const sequenced = (sequence: number): object => ({
  tool: `tool.${sequence}`,
  decision: 'allow',
  ts: new Date().toISOString(),
  agentName: 'bot',
  sub: 'ann',
  sessionId: 's',
});

export const cursor = async ({ pool }: Exporting): Promise<number> =>
  Number((await pool.query<{ position: string }>('select position from audit_export')).rows[0]?.position ?? 0);
export const metric = async (plane: ControlPlane, name: string): Promise<number> => {
  const text = await (await fetch(`${plane.rest}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};
const isSending = async (plane: ControlPlane): Promise<boolean> => (await metric(plane, 'tollgate_audit_export_sending')) === 1;

/** The sender is killed in the middle of a batch, and no entry is missing. Steps: `another takes over`. */
export async function takesOver(exporting: Exporting, measure: Measure): Promise<void> {
  const { collector, startPlane, endPlane, ingest } = exporting;
  const two = [await startPlane('plane-a'), await startPlane('plane-b')] as const;
  await ingest(1_000);
  await eventually(
    () => cursor(exporting),
    (at) => at === 1_000,
  );
  // The third request from now on is never answered.
  const begun = collector.posts.length;
  collector.reply = ({ nth }) => (nth - begun === 3 ? 'hang' : 'take');
  const head = await ingest(5_000);
  await collector.until(() => collector.posts.length >= begun + 3);
  const sending = (await isSending(two[0])) ? two[0] : two[1];
  const standing = sending === two[0] ? two[1] : two[0];
  await measure('another takes over', async () => {
    await endPlane(sending, 'SIGKILL');
    expect(await cursor(exporting)).toBeLessThan(head);
    const posted = collector.posts.length;
    await collector.until(() => collector.posts.length > posted);
  });
  await eventually(
    () => cursor(exporting),
    (at) => at === head,
  );
  expect(await isSending(standing)).toBe(true);
  expectWhole(collector.held, 'default', head);
  // What was sent of the batch again is at most what was in progress.
  expect(collector.held.length - head).toBeLessThanOrEqual(1_000);
  expect(collector.posts.every(({ headers }) => headers.authorization === 'Bearer of-the-test')).toBe(true);
  expect(standing.log()).not.toContain('of-the-test');
}

/**
 * Measures from the commit of an entry until the collector has it; then the sender is stopped. Steps: `an entry
 * crosses`, `one after a stop`.
 */
export async function crosses({ collector, planes, startPlane, endPlane, ingest }: Exporting, measure: Measure): Promise<void> {
  await startPlane('plane-c');
  await startPlane('plane-d');
  const cross = async (step: string): Promise<void> => {
    const head = await ingest(1);
    await measure(step, () => collector.until(() => collector.held.some((record) => positionOf(record) === head)));
  };
  for (let n = 0; n < 5; n += 1) await cross('an entry crosses');
  for (const plane of planes) {
    if (!(await isSending(plane))) continue;
    await endPlane(plane, 'SIGTERM');
    break;
  }
  await cross('one after a stop');
}
