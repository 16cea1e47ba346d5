// How a batch of a spool becomes rows, within the caller's transaction: the spool's row is locked first, so that two
// deliveries of one spool never overlap, and holds how far it has come. Few round trips: this is the hot path.
import { once } from 'node:events';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { StoredEntry } from '../domain/audit/audit-entry.ts';
import { selectMissing } from './partitions.ts';
import { patienceMs, patientQuery } from './transaction.ts';

/** One spool of one workspace. */
export interface SpoolId {
  readonly workspaceId: number;
  /** 32 hex digits. */
  readonly spoolId: string;
}

export interface SequencedEntry {
  readonly sequence: number;
  readonly entry: StoredEntry;
}

export interface Gap {
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

export interface LockedSpool {
  /** The last sequence that is stored, 0 for a new spool. */
  readonly stored: number;
  readonly missingDays: readonly string[];
}

/** Locks the spool until the transaction ends; in the same round trip says which of `days` (`YYYYMMDD`) have no partition. */
export async function lockSpool(client: pg.PoolClient, { workspaceId, spoolId }: SpoolId, days: readonly string[]): Promise<LockedSpool> {
  const { rows } = await client.query<{ sequence: string; missing: readonly string[] }>(
    patientQuery(
      `insert into audit_stream (workspace_id, spool_id, sequence) values ($1, $2, 0)
     on conflict (workspace_id, spool_id) do update set sequence = audit_stream.sequence
     returning sequence, array(${selectMissing('$3')}) as missing`,
      [workspaceId, spoolId, days],
    ),
  );
  return { stored: Number(rows[0]?.sequence ?? 0), missingDays: rows[0]?.missing ?? [] };
}

/**
 * Moves the spool on to `sequence` and takes `count` ingest numbers of the workspace; returns the first. They follow the
 * order of commits, without gaps: the head stays locked until this batch is in.
 */
export async function advanceSpool(
  client: pg.PoolClient,
  { workspaceId, spoolId }: SpoolId,
  sequence: number,
  count: number,
): Promise<number> {
  const { rows } = await client.query<{ ingest: string }>(
    patientQuery(
      `with moved as (update audit_stream set sequence = $3 where workspace_id = $1 and spool_id = $2)
     insert into audit_head as head (workspace_id, ingest) values ($1, $4)
     on conflict (workspace_id) do update set ingest = head.ingest + excluded.ingest returning ingest`,
      [workspaceId, spoolId, sequence, count],
    ),
  );
  return Number(rows[0]?.ingest) - count + 1;
}

export async function insertGap(
  client: pg.PoolClient,
  { workspaceId, spoolId }: SpoolId,
  { first, last, reason }: Gap,
  receivedAt: Date,
): Promise<void> {
  await client.query(
    'insert into audit_gap (workspace_id, spool_id, first_sequence, last_sequence, reason, received_at) values ($1, $2, $3, $4, $5, $6)',
    [workspaceId, spoolId, first, last, reason, receivedAt],
  );
}

interface Copied {
  readonly spool: SpoolId;
  readonly entries: readonly SequencedEntry[];
  readonly firstIngest: number;
  readonly receivedAt: Date;
}

const copyText =
  'copy audit_entry (workspace_id, ts, spool_id, sequence, ingest, received_at, tool, decision, agent_name, sub, session_id, entry) from stdin';

/** COPY: ten times as fast as inserts. */
export async function copyEntries(client: pg.PoolClient, { spool, entries, firstIngest, receivedAt }: Copied): Promise<void> {
  if (entries.length === 0) return;
  const received = receivedAt.toISOString();
  const lines = entries.map(({ sequence, entry }, index) => {
    const { ts, tool, decision, agentName, sub, sessionId, rest } = entry;
    const text = `${escapeCopy(tool)}\t${decision}\t${escapeCopy(agentName)}\t${escapeCopy(sub)}\t${escapeCopy(sessionId)}`;
    return `${spool.workspaceId}\t${ts.toISOString()}\t${spool.spoolId}\t${sequence}\t${firstIngest + index}\t${received}\t${text}\t${escapeCopy(rest)}\n`;
  });
  const copy = client.query(Object.assign(copyFrom(copyText), { query_timeout: patienceMs }));
  copy.end(lines.join(''));
  await once(copy, 'finish');
}

const copySpecial = /[\\\t\n\r\b\f\v]/;

/** COPY's text format: a tab ends a column, a line feed a row, and a backslash begins an escape. */
function escapeCopy(text: string): string {
  if (!copySpecial.test(text)) return text;
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\b', '\\b')
    .replaceAll('\f', '\\f')
    .replaceAll('\v', '\\v');
}
