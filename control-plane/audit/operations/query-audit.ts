import { cursorOf, parseAuditQuery } from '../rules/audit-query.ts';
import { accepted } from '../../base/refusal.ts';
import { readAudit } from '../store/audit.ts';
import { readOperation } from '../../access/operation.ts';

/** Returns a page of the log, newest first. `next` is absent on the last page. */
export const queryAudit = readOperation(
  'audit.read',
  async ({ readingPool, clock }, actor, parameters: Readonly<Record<string, unknown>>) => {
    const query = accepted(parseAuditQuery(parameters, clock()));
    const found = await readAudit(readingPool, actor.workspaceId, query);
    const page = found.slice(0, query.limit);
    const last = page.at(-1);
    return {
      entries: page.map(({ entry }) => entry),
      count: page.length,
      since: query.since.toISOString(),
      limit: query.limit,
      ...(last !== undefined && found.length > page.length ? { next: cursorOf(last.position, query.since) } : {}),
    };
  },
);
