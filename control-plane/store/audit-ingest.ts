// How a batch of a spool becomes rows, within the caller's transaction: the stream's row is locked first, so that two
// deliveries of one spool never overlap, and holds how far the spool has come.
import { once } from 'node:events';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { StoredEntry } from '../domain/audit-entry.ts';
import { dayOf, ensureDays } from './partitions.ts';

/** One spool of one workspace. */
export interface StreamId {
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

/** The last sequence that is stored, 0 for a new spool; locks the stream until the transaction ends. */
export async function lockStream(client: pg.PoolClient, { workspaceId, spoolId }: StreamId): Promise<number> {
  const { rows } = await client.query<{ sequence: string }>(
    `insert into audit_stream (workspace_id, spool_id, sequence) values ($1, $2, 0)
     on conflict (workspace_id, spool_id) do update set sequence = audit_stream.sequence returning sequence`,
    [workspaceId, spoolId],
  );
  return Number(rows[0]?.sequence ?? 0);
}

export async function moveStream(client: pg.PoolClient, { workspaceId, spoolId }: StreamId, sequence: number): Promise<void> {
  await client.query('update audit_stream set sequence = $3 where workspace_id = $1 and spool_id = $2', [workspaceId, spoolId, sequence]);
}

export async function insertGap(
  client: pg.PoolClient,
  { workspaceId, spoolId }: StreamId,
  { first, last, reason }: Gap,
  receivedAt: Date,
): Promise<void> {
  await client.query(
    'insert into audit_gap (workspace_id, spool_id, first_sequence, last_sequence, reason, received_at) values ($1, $2, $3, $4, $5, $6)',
    [workspaceId, spoolId, first, last, reason, receivedAt],
  );
}

/** COPY: ten times as fast as inserts. */
export async function copyEntries(
  client: pg.PoolClient,
  stream: StreamId,
  entries: readonly SequencedEntry[],
  receivedAt: Date,
): Promise<void> {
  if (entries.length === 0) return;
  await ensureDays(client, [...new Set(entries.map(({ entry }) => dayOf(entry.ts)))]);
  const first = await takeIngestNumbers(client, stream.workspaceId, entries.length);
  const received = receivedAt.toISOString();
  const lines = entries.map(({ sequence, entry }, index) => {
    const { ts, tool, decision, agentName, sub, sessionId, rest } = entry;
    const text = [tool, decision, agentName, sub, sessionId, rest].map(escapeCopy).join('\t');
    return `${stream.workspaceId}\t${ts.toISOString()}\t${stream.spoolId}\t${sequence}\t${first + index}\t${received}\t${text}\n`;
  });
  const copy = client.query(
    copyFrom(
      'copy audit_entry (workspace_id, ts, spool_id, sequence, ingest, received_at, tool, decision, agent_name, sub, session_id, entry) from stdin',
    ),
  );
  copy.end(lines.join(''));
  await once(copy, 'finish');
}

/** The numbers follow the order of commits, without gaps: the head stays locked until this batch is in. */
async function takeIngestNumbers(client: pg.PoolClient, workspaceId: number, count: number): Promise<number> {
  const { rows } = await client.query<{ ingest: string }>(
    `insert into audit_head as head (workspace_id, ingest) values ($1, $2)
     on conflict (workspace_id) do update set ingest = head.ingest + excluded.ingest returning ingest`,
    [workspaceId, count],
  );
  return Number(rows[0]?.ingest) - count + 1;
}

const copySpecial = /[\\\t\n\r\b\f\v]/g;

/** COPY's text format: these characters have a meaning there. */
const escapeCopy = (text: string): string => text.replace(copySpecial, escapeOne);

function escapeOne(character: string): string {
  switch (character) {
    case '\\':
      return '\\\\';
    case '\t':
      return '\\t';
    case '\n':
      return '\\n';
    case '\r':
      return '\\r';
    case '\b':
      return '\\b';
    case '\f':
      return '\\f';
    default:
      return '\\v';
  }
}
