// Remembers why the database rejects entries of the audit log, in the database's own words, for people who read
// `/readyz`. Sidecars send a refused batch repeatedly and report it nowhere else.

import type { AuditBatch, IngestResult } from '../rules/audit-batch.ts';
import { reasonOf } from '../../base/loggable.ts';
import { isUnavailable } from '../../base/unavailable.ts';

type Ingest = (batch: AuditBatch) => Promise<IngestResult>;

/**
 * How long a failure is remembered. It is longer than the time that a sidecar waits before a retry. If a sidecar no
 * longer retries, its last failure says nothing about the present.
 */
const forgetMs = 120_000;

/** `now` returns a monotonic time in ms. */
export function watchIngest(take: Ingest, now: () => number) {
  const failed = new Map<number, { readonly reason: string; readonly at: number }>();
  return {
    ingest: async (batch: AuditBatch): Promise<IngestResult> => {
      try {
        const ingested = await take(batch);
        failed.delete(batch.workspaceId);
        return ingested;
      } catch (error) {
        if (isUnavailable(error)) failed.set(batch.workspaceId, { reason: reasonOf(error), at: now() });
        throw error;
      }
    },
    /** Returns one line for each reason. Returns an empty list while all batches are accepted. */
    problems: (): readonly string[] => {
      for (const [workspaceId, { at }] of failed) if (at + forgetMs < now()) failed.delete(workspaceId);
      return [...new Set([...failed.values()].map(({ reason }) => `audit entries cannot be stored: ${reason}`))];
    },
  };
}
