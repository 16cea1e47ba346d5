// Exports the whole log, or the requested part, up to the newest entry at the time of the request. It reads page by
// page, so that no transaction stays open while a client is slow. The stream ends normally only when it is complete.
// Any problem is thrown and cuts the answer.
import type { Actor } from '../../access/rules/actor.ts';
import { type ExportQuery, parseExportQuery } from '../rules/audit-query.ts';
import { accepted } from '../../base/refusal.ts';
import { readHead, readIngested } from '../store/audit.ts';
import { type OperationDeps, readOperation } from '../../access/operation.ts';
import { createStanding } from '../../access/operations/standing.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Exports entries in the order in which they arrived, oldest first. */
export const exportAudit = readOperation('audit.read', async (deps, actor, parameters: Readonly<Record<string, unknown>>, { signal }) => {
  const query = accepted(parseExportQuery(parameters));
  const upTo = await readHead(deps.pool, actor.workspaceId);
  return entriesUpTo(upTo, { deps, actor, query, signal });
});

interface Export {
  readonly deps: OperationDeps;
  readonly actor: Actor;
  readonly query: ExportQuery;
  readonly signal: AbortSignal | undefined;
}

async function* entriesUpTo(upTo: number, { deps, actor, query, signal }: Export): AsyncGenerator<Entry> {
  const requireStanding = createStanding(deps, actor, 'audit.read');
  for (let after = 0; after < upTo; ) {
    const { entries, reached } = await readIngested(deps.readingPool, actor.workspaceId, { ...query, after, upTo });
    for (const { entry } of entries) {
      await requireStanding();
      signal?.throwIfAborted();
      yield entry;
    }
    // The caller is also checked when the filters match no entry of the page.
    await requireStanding();
    signal?.throwIfAborted();
    after = reached;
  }
}
