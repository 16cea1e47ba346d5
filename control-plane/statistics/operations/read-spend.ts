import { readOperation } from '../../access/operation.ts';
import { nextMidnightUtc, utcDayOf } from '../../runs/rules/day.ts';
import { centsFromMicrocents } from '../../runs/rules/money.ts';
import { listAgentCosts, listUserCosts } from '../../runs/store/spend.ts';
import { type CostPosition, type SpendPage, spendCursorOf } from '../rules/stats-query.ts';

interface SpendQuery {
  readonly limit: number;
  /** The parsed `next` of the previous page; null: the first page. */
  readonly page: SpendPage | null;
}

/** Returns what the runs of a day cost: by user, and by agent. Each list is the largest cost first. */
export const readSpend = readOperation('audit.read', async ({ readingPool, clock, dailyCap }, actor, { limit, page }: SpendQuery) => {
  const day = page?.day ?? utcDayOf(clock());
  const from = (after: CostPosition | null | undefined) => ({
    workspaceId: actor.workspaceId,
    day,
    limit: limit + 1,
    after: after ?? null,
  });
  // A list that has ended is not read again.
  const users = page?.user === null ? [] : await listUserCosts(readingPool, from(page?.user));
  const agents = page?.agent === null ? [] : await listAgentCosts(readingPool, from(page?.agent));
  const next = { day, user: lastOf(users, limit), agent: lastOf(agents, limit) };
  return {
    day,
    resetsAt: nextMidnightUtc(new Date(`${day}T00:00:00Z`)),
    capCents: centsFromMicrocents(dailyCap),
    users: users.slice(0, limit).map(({ id, microcents }) => ({ sub: id, cents: centsFromMicrocents(microcents) })),
    agents: agents.slice(0, limit).map(({ id, name, microcents }) => ({ agentId: id, name, cents: centsFromMicrocents(microcents) })),
    ...(next.user === null && next.agent === null ? {} : { next: spendCursorOf(next) }),
  };
});

/** Returns the position after which the next page of a list begins. Null: there is none. */
const lastOf = (costs: readonly CostPosition[], limit: number): CostPosition | null =>
  costs.length > limit ? (costs[limit - 1] ?? null) : null;
