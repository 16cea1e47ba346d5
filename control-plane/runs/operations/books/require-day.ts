// Checks the user's daily cap before a run begins. If the cap leaves too little for one call of the model, the run is
// refused until midnight UTC. The refusal itself costs nothing.
import { AppError } from '@tollgate/proto/contract';
import { secondsToMidnightUtc, utcDayOf } from '../../rules/day.ts';
import { centsFromMicrocents } from '../../rules/money.ts';
import { readDay } from '../../store/spend.ts';
import type { OperationDeps } from '../../../access/operation.ts';

const daySpent = (now: Date, dailyCap: number): AppError =>
  new AppError({
    code: 'rate_limited',
    publicMessage: `the runs of a user may cost at most ${centsFromMicrocents(dailyCap)} cents a day; nothing is left for today, or too little for one call of this model; the cap is reset at midnight UTC`,
    retryAfterSeconds: secondsToMidnightUtc(now),
  });

/**
 * Throws `rate_limited` if less than `least` µ¢ are left. A `least` of 0, for a free model, always passes. Money that
 * is reserved but not spent can be released, so it is not counted here.
 */
export async function requireDay(
  { pool, clock, dailyCap }: Pick<OperationDeps, 'pool' | 'clock' | 'dailyCap'>,
  { workspaceId, sub }: { readonly workspaceId: number; readonly sub: string },
  least: number,
): Promise<void> {
  if (least === 0) return;
  const now = clock();
  const { settled } = await readDay(pool, { workspaceId, sub, day: utcDayOf(now) });
  if (settled + least > dailyCap) throw daySpent(now, dailyCap);
}
