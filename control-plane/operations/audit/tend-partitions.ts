// A chore of every control plane, at start and then hourly: the partitions of the days to come exist before anybody
// needs them, and those out of retention go. Safe to run twice at once.
import { bounds } from '@tollgate/proto/contract';
import { reasonOf } from '../../loggable.ts';
import { daysBetween, dropDaysBefore, ensureDays } from '../../store/partitions.ts';
import { inTransaction } from '../../store/transaction.ts';
import { isUnavailable } from '../../store/unavailable.ts';
import type { Deps } from '../operation.ts';

const dayMs = 24 * 3_600_000;

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
    return await inTransaction(pool, (client) => dropDaysBefore(client, oldest));
  } catch (error) {
    // Dropping waits for every reader of the log, and gives up soon: there is another hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'audit entries out of retention are still there');
    return [];
  }
}
