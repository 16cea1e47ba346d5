// Counts how often money was refused to runs. It counts separately for each bound that can have too little left: the
// day of a user, the budget of a run above, and the run's own budget. It also counts the runs that are refused before
// they begin because of the user's day.
import { AppError } from '@tollgate/proto/contract';
import { Counter, type Registry } from 'prom-client';
import type { Money } from './money.ts';
import type { RunnerDeps } from './runner.ts';

type Admit = RunnerDeps['admit'];

export interface RefusalCounts {
  /** Returns a `Money` that also counts refusals. */
  readonly countRefusals: (money: Money) => Money;
  /** Returns a check that also counts refusals because of the user's day. */
  readonly countRefusedDays: (admit: Admit) => Admit;
}

const bounds = ['day', 'ancestor', 'run'] as const;

export function createRefusalCounts(registry: Registry): RefusalCounts {
  const refused = new Counter({
    name: 'tollgate_spend_refused_total',
    help: 'Reservations of money that were refused to a run, by the account with too little left: day, ancestor, run',
    labelNames: ['bound'],
    registers: [registry],
  });
  for (const bound of bounds) refused.inc({ bound }, 0);
  return {
    countRefusals: (money) => ({
      settle: (run, reservationId, spent, signal) => money.settle(run, reservationId, spent, signal),
      reserve: async (run, wanted, signal) => {
        const reserved = await money.reserve(run, wanted, signal);
        if (reserved.kind === 'exhausted') refused.inc({ bound: reserved.bound });
        return reserved;
      },
    }),
    countRefusedDays: (admit) => async (caller, least) => {
      try {
        await admit(caller, least);
      } catch (error) {
        if (error instanceof AppError && error.code === 'rate_limited') refused.inc({ bound: 'day' });
        throw error;
      }
    },
  };
}
