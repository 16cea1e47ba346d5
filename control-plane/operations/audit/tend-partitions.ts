// A chore of every control plane, at start and then hourly: the partitions of the days to come exist before anybody
// needs them, and those out of retention go, leaving what the chain needs of them. Safe to run twice at once.
import { bounds } from '@tollgate/proto/contract';
import { reasonOf } from '../../loggable.ts';
import { advanceKeptAfter, deleteBeforeKept, deleteSpoolsBefore, readHeadsAsJson, retireDay } from '../../store/audit-retention.ts';
import {
  analyseDays,
  daysBetween,
  dropDay,
  ensureDays,
  listDaysBefore,
  lockDay,
  lockDropping,
  startOfDay,
} from '../../store/partitions.ts';
import { inTransaction } from '../../store/transaction.ts';
import { isUnavailable } from '../../store/unavailable.ts';
import type { Deps } from '../operation.ts';

const dayMs = 24 * 3_600_000;
/** Entries are taken in up to a year late; a spool that comes back after this is one that was copied. */
const spoolDaysMin = 400;

interface TendDeps extends Pick<Deps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void };
}

/** Returns the days that were dropped, as `YYYYMMDD`. */
export async function tendPartitions({ pool, clock, log }: TendDeps, retentionDays: number): Promise<readonly string[]> {
  const now = clock();
  const ahead = new Date(now.getTime() + bounds.auditFutureMs + dayMs);
  await inTransaction(pool, (client) => ensureDays(client, daysBetween(now, ahead)));
  const oldest = new Date(now.getTime() - retentionDays * dayMs);
  try {
    return await dropDays(pool, oldest, now, retentionDays);
  } catch (error) {
    // Dropping waits for every reader of the log, and gives up soon: there is another hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'audit entries out of retention are still there');
    return [];
  }
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
