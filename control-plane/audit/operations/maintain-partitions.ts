// Periodic job of every control plane, at start and then each hour. It creates the partitions of the coming days before
// they are needed. It drops partitions that are out of retention and keeps what the chain needs of them. Safe when two
// processes run it at the same time.
//
// If entries are exported, entries that were not yet exported are kept longer, up to `exportGraceDays`. A collector
// that is down for an evening loses nothing, and a collector that never returns does not fill the disk.
import { bounds } from '@tollgate/proto/contract';
import { reasonOf } from '../../base/loggable.ts';
import { advanceKeptAfter, deleteBeforeKept, deleteSpoolsBefore, readHeadsAsJson, retireDay } from '../store/audit-retention.ts';
import { findUnexportedGap, hasUnexported, isExportLeased } from '../store/audit-export.ts';
import {
  analyseDays,
  daysBetween,
  dropCountsLeft,
  dropDay,
  ensureDays,
  listDaysBefore,
  lockDay,
  lockDropping,
  startOf,
  startOfDay,
} from '../store/partitions.ts';
import { inTransaction } from '../../database/transaction.ts';
import { isUnavailable } from '../../base/unavailable.ts';
import type { OperationDeps } from '../../access/operation.ts';

const dayMs = 24 * 3_600_000;
/**
 * The minimum number of days for which spools are remembered. Entries are accepted up to a year late, so a spool that
 * returns after this time must be a copy.
 */
const spoolDaysMin = 400;
export const exportGraceDays = 7;

interface MaintainPartitionsDeps extends Pick<OperationDeps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * `isExporting`: this control plane exports entries, now or soon. Returns the days that were dropped, as `YYYYMMDD`.
 */
export async function maintainPartitions(
  deps: MaintainPartitionsDeps,
  retentionDays: number,
  isExporting = false,
): Promise<readonly string[]> {
  const { pool, clock, log } = deps;
  const now = clock();
  const ahead = new Date(now.getTime() + bounds.auditFutureMs + dayMs);
  await inTransaction(pool, (client) => ensureDays(client, daysBetween(now, ahead)));
  const oldest = new Date(now.getTime() - retentionDays * dayMs);
  try {
    const keptFrom = isExporting || (await isExportLeased(pool)) ? await unlessUnexported(deps, oldest, retentionDays) : oldest;
    return await dropDays(pool, keptFrom, now, retentionDays);
  } catch (error) {
    // To drop a partition, the job must wait for every reader of the log. It stops waiting after a short time, and runs
    // again in an hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'audit entries past their retention could not be removed');
    return [];
  }
}

/**
 * Returns the time from which entries are kept. This is `oldest`, or an earlier time if older items are not exported
 * yet. It is at most `exportGraceDays` before `oldest`.
 */
async function unlessUnexported({ pool, log }: MaintainPartitionsDeps, oldest: Date, retentionDays: number): Promise<Date> {
  const atMost = new Date(oldest.getTime() - exportGraceDays * dayMs);
  const fields = { retentionDays, exportGraceDays };
  const gap = await findUnexportedGap(pool, oldest);
  let keptFrom = gap === null ? oldest : new Date(Math.max(gap.getTime(), atMost.getTime()));
  for (const day of (await listDaysBefore(pool, oldest)).toReversed()) {
    const from = startOf(day);
    if (!(await hasUnexported(pool, from, new Date(from.getTime() + dayMs)))) continue;
    if (from < startOfDay(atMost))
      log.error({ ...fields, day }, 'audit entries past their retention are removed although they were not exported');
    else if (from < keptFrom) keptFrom = from;
  }
  if (keptFrom < oldest) log.warn({ ...fields, keptFrom }, 'audit entries past their retention are kept until they are exported');
  return keptFrom;
}

async function dropDays(pool: OperationDeps['pool'], oldest: Date, now: Date, retentionDays: number): Promise<readonly string[]> {
  const days = await listDaysBefore(pool, oldest);
  await inTransaction(pool, (client) => advanceKeptAfter(client, oldest, startOfDay(oldest)), 'patient');
  const dropped: string[] = [];
  for (const day of days) if (await retireAndDrop(pool, day)) dropped.push(day);
  await inTransaction(pool, dropCountsLeft);
  await inTransaction(pool, (client) => deleteBeforeKept(client, oldest), 'patient');
  const spoolsFrom = new Date(now.getTime() - Math.max(retentionDays, spoolDaysMin) * dayMs);
  await inTransaction(pool, (client) => deleteSpoolsBefore(client, spoolsFrom), 'patient');
  return dropped;
}

/**
 * First retires the existing items while other work continues. Then locks the day for a moment and retires what has
 * arrived since.
 */
async function retireAndDrop(pool: OperationDeps['pool'], day: string): Promise<boolean> {
  const heads = await readHeadsAsJson(pool);
  const isThere = await inTransaction(
    pool,
    async (client) => {
      const found = await lockDropping(client, day);
      if (found) await retireDay(client, day);
      return found;
    },
    'patient',
  );
  if (!isThere) return false;
  return inTransaction(pool, async (client) => {
    if (!(await lockDay(client, day))) return false;
    await retireDay(client, day, heads);
    await dropDay(client, day);
    return true;
  });
}

/**
 * Updates the statistics of days that have grown or ended. Runs each minute, because PostgreSQL's own jobs may do this
 * too late.
 */
export async function updateStatistics({ pool, clock }: Pick<OperationDeps, 'pool' | 'clock'>): Promise<readonly string[]> {
  return inTransaction(pool, (client) => analyseDays(client, clock()), 'patient');
}
