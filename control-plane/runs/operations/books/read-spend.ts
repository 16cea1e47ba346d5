// Reads what the runs of this day have cost each user.
import { nextMidnightUtc, utcDayOf } from '../../rules/day.ts';
import { centsFromMicrocents } from '../../rules/money.ts';
import { listSpend } from '../../store/spend.ts';
import type { OperationDeps } from '../../../access/operation.ts';

export interface UsedSpend {
  readonly day: string;
  readonly resetsAt: string;
  readonly capCents: number;
  readonly users: readonly {
    readonly sub: string;
    readonly spentCents: number;
    /** Reserved for model calls that are in progress. */
    readonly reservedCents: number;
    readonly leftCents: number;
  }[];
}

interface Question {
  readonly workspaceId: number;
  readonly now: Date;
  /** The only user to read; null: all users with spending. */
  readonly sub: string | null;
  readonly limit: number;
}

export async function readSpend(
  { readingPool, dailyCap }: Pick<OperationDeps, 'readingPool' | 'dailyCap'>,
  { workspaceId, now, sub, limit }: Question,
): Promise<UsedSpend> {
  const day = utcDayOf(now);
  const found = await listSpend(readingPool, { workspaceId, day, sub }, limit);
  return {
    day,
    resetsAt: nextMidnightUtc(now).toISOString(),
    capCents: centsFromMicrocents(dailyCap),
    users: found.map(({ sub: user, settled, reserved }) => ({
      sub: user,
      spentCents: centsFromMicrocents(settled),
      reservedCents: centsFromMicrocents(reserved),
      leftCents: centsFromMicrocents(Math.max(0, dailyCap - settled - reserved)),
    })),
  };
}
