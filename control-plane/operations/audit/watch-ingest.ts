// What keeps entries out of the audit log, in the database's own words, for people who look at `/readyz`: sidecars come with
// a refused batch again and again, and nobody else is told.
import type { AuditBatch, Ingested } from '../../domain/audit/audit-batch.ts';
import { reasonOf } from '../../loggable.ts';
import { isUnavailable } from '../../store/unavailable.ts';

type Ingest = (batch: AuditBatch) => Promise<Ingested>;

/** Longer than a sidecar waits before it comes again; whoever does not come any more says nothing of now. */
const forgetMs = 120_000;

/** `now`: ms, never goes back. */
export function watchIngest(take: Ingest, now: () => number) {
  const failed = new Map<number, { readonly reason: string; readonly at: number }>();
  return {
    ingest: async (batch: AuditBatch): Promise<Ingested> => {
      try {
        const ingested = await take(batch);
        failed.delete(batch.workspaceId);
        return ingested;
      } catch (error) {
        if (isUnavailable(error)) failed.set(batch.workspaceId, { reason: reasonOf(error), at: now() });
        throw error;
      }
    },
    /** One line for each reason; empty while all is taken in. */
    problems: (): readonly string[] => {
      for (const [workspaceId, { at }] of failed) if (at + forgetMs < now()) failed.delete(workspaceId);
      return [...new Set([...failed.values()].map(({ reason }) => `entries are not taken in: ${reason}`))];
    },
  };
}
