import { accepted } from '../../base/refusal.ts';
import { readOperation } from '../../access/operation.ts';
import { groupCursorOf, parseDecisionsQuery, parseRedactionsQuery } from '../rules/stats-query.ts';
import type { Range } from '../rules/range.ts';
import { type Groups, readDecisions as readStoredDecisions, readRedactions as readStoredRedactions } from '../store/read-counts.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** Returns how many decisions were made, by what the caller asks for, the largest group first. */
export const readDecisions = readOperation('audit.read', async ({ readingPool, clock }, actor, parameters: Parameters) => {
  const query = accepted(parseDecisionsQuery(parameters, clock()));
  return answerOf(await readStoredDecisions(readingPool, actor.workspaceId, query), query.range);
});

/** Returns what was redacted, by the kind of finding, the largest group first. */
export const readRedactions = readOperation('audit.read', async ({ readingPool, clock }, actor, parameters: Parameters) => {
  const query = accepted(parseRedactionsQuery(parameters, clock()));
  return answerOf(await readStoredRedactions(readingPool, actor.workspaceId, query), query.range);
});

function answerOf({ total, groups, rest }: Groups, range: Range): Range & Groups & { readonly next?: string } {
  const last = groups.at(-1);
  return { ...range, total, groups, rest, ...(last !== undefined && rest.values > 0 ? { next: groupCursorOf(range, last) } : {}) };
}
