// A chore of every control plane, at start and then hourly: the partitions of the days to come exist before anybody
// needs them, and those out of retention go, leaving what the chain needs of them. Safe to run twice at once.
//
// Where entries are exported, those that were not yet are kept longer, up to `exportGraceDays`: a collector that is away for
// an evening costs nothing, and one that is away for ever does not fill the disk.
import { bounds } from '@tollgate/proto/contract';
import { reasonOf } from '../../loggable.ts';
import { advanceKeptAfter, deleteBeforeKept, deleteSpoolsBefore, readHeadsAsJson, retireDay } from '../../store/audit-retention.ts';
import { findUnexportedGap, hasUnexported, isSomebodyExporting } from '../../store/audit-export.ts';
import {
  analyseDays,
  daysBetween,
  dropDay,
  ensureDays,
  listDaysBefore,
  lockDay,
  lockDropping,
  startOf,
  startOfDay,
} from '../../store/partitions.ts';
import { inTransaction } from '../../store/transaction.ts';
import { isUnavailable } from '../../store/unavailable.ts';
import type { Deps } from '../operation.ts';

const dayMs = 24 * 3_600_000;
/** Entries are taken in up to a year late; a spool that comes back after this is one that was copied. */
const spoolDaysMin = 400;
export const exportGraceDays = 7;

interface TendDeps extends Pick<Deps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** `isExporting`: by this control plane, now or soon. Returns the days that were dropped, as `YYYYMMDD`. */
export async function tendPartitions(deps: TendDeps, retentionDays: number, isExporting = false): Promise<readonly string[]> {
  const { pool, clock, log } = deps;
  const now = clock();
  const ahead = new Date(now.getTime() + bounds.auditFutureMs + dayMs);
  await inTransaction(pool, (client) => ensureDays(client, daysBetween(now, ahead)));
  const oldest = new Date(now.getTime() - retentionDays * dayMs);
  try {
    const keptFrom = isExporting || (await isSomebodyExporting(pool)) ? await unlessUnexported(deps, oldest, retentionDays) : oldest;
    return await dropDays(pool, keptFrom, now, retentionDays);
  } catch (error) {
    // Dropping waits for every reader of the log, and gives up soon: there is another hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'audit entries out of retention are still there');
    return [];
  }
}

/** `oldest`, or the instant before it from which on there is something to export, as long as that may wait. */
async function unlessUnexported({ pool, log }: TendDeps, oldest: Date, retentionDays: number): Promise<Date> {
  const atMost = new Date(oldest.getTime() - exportGraceDays * dayMs);
  const fields = { retentionDays, exportGraceDays };
  const gap = await findUnexportedGap(pool, oldest);
  let keptFrom = gap === null ? oldest : new Date(Math.max(gap.getTime(), atMost.getTime()));
  for (const day of (await listDaysBefore(pool, oldest)).toReversed()) {
    const from = startOf(day);
    if (!(await hasUnexported(pool, from, new Date(from.getTime() + dayMs)))) continue;
    if (from < startOfDay(atMost)) log.error({ ...fields, day }, 'audit entries go out of retention that were not exported');
    else if (from < keptFrom) keptFrom = from;
  }
  if (keptFrom < oldest) log.warn({ ...fields, keptFrom }, 'audit entries out of retention are kept until they are exported');
  return keptFrom;
}

async function dropDays(pool: Deps['pool'], oldest: Date, now: Date, retentionDays: number): Promise<readonly string[]> {
  const days = await listDaysBefore(pool, oldest);
  await inTransaction(pool, (client) => advanceKeptAfter(client, oldest, startOfDay(oldest)), 'patient');
  const dropped: string[] = [];
  for (const day of days) if (await retireAndDrop(pool, day)) dropped.push(day);
  await inTransaction(pool, (client) => deleteBeforeKept(client, oldest), 'patient');
  const spoolsFrom = new Date(now.getTime() - Math.max(retentionDays, spoolDaysMin) * dayMs);
  await inTransaction(pool, (client) => deleteSpoolsBefore(client, spoolsFrom), 'patient');
  return dropped;
}

/** First what is there, with everybody at work; then, with everybody kept out for a moment, what has come in since. */
async function retireAndDrop(pool: Deps['pool'], day: string): Promise<boolean> {
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

/** Each minute: statistics of days that have grown or ended, which PostgreSQL's own chores may come late to. */
export async function tendStatistics({ pool, clock }: Pick<Deps, 'pool' | 'clock'>): Promise<readonly string[]> {
  return inTransaction(pool, (client) => analyseDays(client, clock()), 'patient');
}
