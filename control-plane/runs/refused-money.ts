// Counts how often money was refused to runs, by the bound with too little left: the day of a user, the budget of a run
// above, or the run's own budget. A refusal by the day is also counted when a run is about to begin.
import { AppError } from '@tollgate/proto/contract';
import { Counter, type Registry } from 'prom-client';
import type { RunnerDeps } from './runner.ts';

type MoneyParts = Pick<RunnerDeps, 'money' | 'admit'>;

const bounds = ['day', 'ancestor', 'run'] as const;

/** Returns the same functions, with counting added. */
export function countRefusedMoney(registry: Registry, { money, admit }: MoneyParts): MoneyParts {
  const refused = new Counter({
    name: 'tollgate_spend_refused_total',
    help: 'Reservations of money that were refused to a run, by the account with too little left: day, ancestor, run',
    labelNames: ['bound'],
    registers: [registry],
  });
  for (const bound of bounds) refused.inc({ bound }, 0);
  return {
    money: {
      ...money,
      reserve: async (...asked) => {
        const reserved = await money.reserve(...asked);
        if (reserved.kind === 'exhausted') refused.inc({ bound: reserved.bound });
        return reserved;
      },
    },
    admit: async (caller, least) => {
      try {
        await admit(caller, least);
      } catch (error) {
        if (error instanceof AppError && error.code === 'rate_limited') refused.inc({ bound: 'day' });
        throw error;
      }
    },
  };
}
