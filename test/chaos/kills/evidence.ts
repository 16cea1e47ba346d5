// The evidence that the checker compares: what callers and administrators received, and what the database holds at the
// end.
import type { AuditEntry } from '@tollgate/proto/contract';
import { miscounted } from '../../support/miscounted.ts';
import type { Postgres } from '../postgres.ts';
import type { Call } from './calls.ts';
import type { Agents } from './world.ts';
import type { Write } from './writes.ts';

export interface StoredEntry {
  readonly spoolId: string;
  readonly sequence: number;
  readonly ingest: number;
  /** Wall clock of the process that decided it, ms. */
  readonly ts: number;
  readonly tool: string;
  readonly decision: string;
  readonly sub: string;
  readonly entry: Pick<
    AuditEntry,
    'hookEvent' | 'code' | 'decisionReason' | 'requestId' | 'epoch' | 'revision' | 'inputDigest' | 'latencyUs' | 'outage' | 'outcome'
  >;
}

interface Gap {
  readonly spoolId: string;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

/** The workspace's document, as a revision left it. */
export interface HistoryRow {
  readonly revision: number;
  readonly document: unknown;
}

export interface StoredEvidence {
  readonly epoch: string;
  /** The newest revision of the workspace. */
  readonly newest: number;
  readonly history: readonly HistoryRow[];
  /** In the order in which they were ingested. */
  readonly entries: readonly StoredEntry[];
  readonly gaps: readonly Gap[];
  /** The newest sequence of each spool that was acknowledged to its sidecars. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Where the counts of the statistics differ from the entries. */
  readonly miscounted: readonly string[];
}

export interface Evidence extends StoredEvidence {
  readonly calls: readonly Call[];
  /** When the disk of a sidecar was lost, by the wall clock. */
  readonly lostDisks: ReadonlyMap<Agents, readonly number[]>;
  readonly writes: readonly Write[];
  readonly windowSeconds: number;
  /** `process`: each process counts on its own. */
  readonly limitsHoldOver: 'all' | 'process';
}

export async function readStored(postgres: Postgres): Promise<StoredEvidence> {
  const { query } = postgres;
  const [deployment] = await query<{ epoch: string }>('select epoch from deployment');
  const [workspace] = await query<{ id: string; revision: string }>("select id, revision from workspace where slug = 'default'");
  const of = [workspace?.id];
  const history = await query<{ revision: string; document: unknown }>(
    "select revision, document from policy_history where workspace_id = $1 and layer = 'workspace' order by revision",
    of,
  );
  const entries = await query<Omit<StoredEntry, 'sequence' | 'ingest' | 'ts'> & { sequence: string; ingest: string; ts: Date }>(
    `select spool_id as "spoolId", sequence, ingest, ts, tool, decision, sub, entry from audit_entry where workspace_id = $1 order by ingest`,
    of,
  );
  const gaps = await query<{ spoolId: string; first: string; last: string; reason: string }>(
    'select spool_id as "spoolId", first_sequence as first, last_sequence as last, reason from audit_gap where workspace_id = $1',
    of,
  );
  const streams = await query<{ spoolId: string; sequence: string }>(
    'select spool_id as "spoolId", sequence from audit_stream where workspace_id = $1',
    of,
  );
  return {
    epoch: deployment?.epoch ?? '',
    newest: Number(workspace?.revision),
    history: history.map(({ revision, document }) => ({ revision: Number(revision), document })),
    entries: entries.map((row) => ({ ...row, sequence: Number(row.sequence), ingest: Number(row.ingest), ts: row.ts.getTime() })),
    gaps: gaps.map(({ first, last, ...rest }) => ({ ...rest, first: Number(first), last: Number(last) })),
    acknowledged: new Map(streams.map(({ spoolId, sequence }) => [spoolId, Number(sequence)])),
    miscounted: await miscounted(query),
  };
}
