// Reads the gaps of a log: which records of which spool never arrived, and why.
import type pg from 'pg';
import type { ShownGap } from '@tollgate/proto/chain';
import { queryPatiently } from '../../database/patience.ts';

export interface ListedGap extends ShownGap {
  /** The number of the item in the log, which the export of the chain has too. */
  readonly n: number;
}

interface GapRow {
  readonly ingest: string;
  readonly spool_id: string;
  readonly first_sequence: string;
  readonly last_sequence: string;
  readonly reason: string;
  readonly received_at: Date;
}

/** Returns gaps before an item, newest first. Those from before the log was a chain have no number and are left out. */
export async function listGaps(pool: pg.Pool, workspaceId: number, limit: number, before: number | null): Promise<readonly ListedGap[]> {
  const rows = await queryPatiently<GapRow>(pool, gapsQuery(workspaceId, limit, before));
  return rows.map((row) => ({
    n: Number(row.ingest),
    spoolId: row.spool_id.replaceAll('-', ''),
    firstSequence: Number(row.first_sequence),
    lastSequence: Number(row.last_sequence),
    reason: row.reason,
    receivedAt: row.received_at.toISOString(),
  }));
}

export const gapsQuery = (workspaceId: number, limit: number, before: number | null) => ({
  text: `select ingest, spool_id, first_sequence, last_sequence, reason, received_at from audit_gap
    where workspace_id = $1 and ingest < $2 order by ingest desc limit $3`,
  values: [workspaceId, before ?? Number.MAX_SAFE_INTEGER, limit],
});
