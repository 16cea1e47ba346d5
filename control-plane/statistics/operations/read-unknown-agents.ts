import { accepted } from '../../base/refusal.ts';
import { readOperation } from '../../access/operation.ts';
import { callerCursorOf, parseCallersQuery } from '../rules/stats-query.ts';
import { readUnknownAgents as readStored } from '../store/read-counts.ts';

/** Returns the agents that called and are not registered, the one with the newest call first. */
export const readUnknownAgents = readOperation(
  'audit.read',
  async ({ readingPool, clock }, actor, parameters: Readonly<Record<string, unknown>>) => {
    const query = accepted(parseCallersQuery(parameters, clock()));
    const found = await readStored(readingPool, actor.workspaceId, query);
    const agents = found.slice(0, query.limit);
    const last = agents.at(-1);
    return {
      since: query.since,
      agents,
      ...(last !== undefined && found.length > agents.length ? { next: callerCursorOf(query.since, last) } : {}),
    };
  },
);
