// How a batch of a spool becomes rows, within the caller's transaction: the spool's row and then that of its workspace's
// chain are locked first, so that no two batches of a workspace overlap. Few round trips: this is the hot path.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { originOf } from '../chain/checkpoint.ts';
import { valueBefore } from '../chain/link.ts';
import type { StoredEntry } from '../domain/audit/audit-entry.ts';
import { selectMissing } from './partitions.ts';
import { patienceMs, patientQuery } from './transaction.ts';

/** One spool of one workspace. */
export interface SpoolId {
  readonly workspaceId: number;
  /** 32 hex digits. */
  readonly spoolId: string;
}

export interface NumberedEntry {
  readonly sequence: number;
  readonly ingest: number;
  readonly entry: StoredEntry;
}

export interface NumberedGap {
  readonly ingest: number;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
  readonly digest: string;
}

/** Where the workspace's chain stands. */
export interface ChainEnd {
  /** Items so far. */
  readonly ingest: number;
  /** The value after them. */
  readonly chain: string;
}

interface LockedLog extends ChainEnd {
  /** The last sequence of the spool that is stored, 0 for a new spool. */
  readonly stored: number;
  /** The database was put back from a backup since the spool brought anything. */
  readonly restored: boolean;
  readonly missingDays: readonly string[];
}

interface LockedRow {
  readonly sequence: string | null;
  readonly restored: boolean | null;
  readonly ingest: string | null;
  readonly chain: string | null;
  readonly log_id: string;
  readonly begins_after: string;
  readonly slug: string;
  readonly missing: readonly string[];
}

const lockText = `with stream as materialized (select sequence, restored from audit_stream where workspace_id = $1 and spool_id = $2 for update),
  head as materialized (
    select ingest, encode(chain, 'hex') as chain, log_id, begins_after from audit_head where workspace_id = $1 for update)
  select stream.sequence, stream.restored, head.*, (select slug from workspace where id = $1) as slug, array(${selectMissing('$3')}) as missing
  from (select) one left join stream on true left join head on true`;

const beginText = `with head as (insert into audit_head (workspace_id, ingest) values ($1, 0) on conflict do nothing)
  insert into audit_stream (workspace_id, spool_id, sequence) values ($1, $2, 0) on conflict do nothing`;

/** Locks spool and chain until the transaction ends; in the same round trip says which of `days` (`YYYYMMDD`) have no partition. */
export async function lockLog(client: pg.PoolClient, { workspaceId, spoolId }: SpoolId, days: readonly string[]): Promise<LockedLog> {
  const lock = async (): Promise<LockedRow | undefined> =>
    (await client.query<LockedRow>(patientQuery(lockText, [workspaceId, spoolId, days]))).rows[0];
  let row = await lock();
  if (row === undefined || row.sequence === null || row.ingest === null) {
    await client.query(patientQuery(beginText, [workspaceId, spoolId]));
    row = await lock();
  }
  if (row === undefined || row.sequence === null || row.ingest === null) throw new Error('a spool was made, and is not there');
  const chain = row.chain ?? valueBefore(originOf(row.slug, row.log_id), Number(row.begins_after));
  return { stored: Number(row.sequence), restored: row.restored === true, ingest: Number(row.ingest), chain, missingDays: row.missing };
}

/** Moves spool and chain on; they were locked by this transaction. */
export async function advanceLog(
  client: pg.PoolClient,
  { workspaceId, spoolId }: SpoolId,
  { sequence, ingest, chain, at }: ChainEnd & { readonly sequence: number; readonly at: Date },
): Promise<void> {
  await client.query(
    patientQuery(
      `with moved as (update audit_stream set sequence = $3, seen_at = $6, restored = false where workspace_id = $1 and spool_id = $2)
     update audit_head set ingest = $4, chain = decode($5, 'hex') where workspace_id = $1`,
      [workspaceId, spoolId, sequence, ingest, chain, at],
    ),
  );
}

export async function insertGaps(
  client: pg.PoolClient,
  { workspaceId, spoolId }: SpoolId,
  gaps: readonly NumberedGap[],
  receivedAt: Date,
): Promise<void> {
  if (gaps.length === 0) return;
  const columns = [gaps.map((gap) => gap.ingest), gaps.map(({ first }) => first), gaps.map(({ last }) => last)];
  await client.query(
    patientQuery(
      `insert into audit_gap (workspace_id, spool_id, received_at, ingest, first_sequence, last_sequence, reason, digest)
       select $1, $2, $3, ingest, first, last, reason, decode(digest, 'hex')
       from unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[]) as gap (ingest, first, last, reason, digest)`,
      [workspaceId, spoolId, receivedAt, ...columns, gaps.map(({ reason }) => reason), gaps.map(({ digest }) => digest)],
    ),
  );
}

interface Copied {
  readonly spool: SpoolId;
  /** Taken while the server works on those before. */
  readonly entries: Iterable<NumberedEntry>;
  readonly receivedAt: Date;
}

const copyText =
  'copy audit_entry (workspace_id, ts, spool_id, sequence, ingest, received_at, tool, decision, agent_name, sub, session_id, entry, digest) from stdin';

/** COPY: ten times as fast as inserts. */
export async function copyEntries(client: pg.PoolClient, { spool, entries, receivedAt }: Copied): Promise<void> {
  const copy = client.query(Object.assign(copyFrom(copyText), { query_timeout: patienceMs }));
  await pipeline(Readable.from(pieces(spool, entries, receivedAt.toISOString()), { objectMode: false, highWaterMark: 65_536 }), copy);
}

/** Large enough to be few, small enough that the server begins soon. */
const pieceCharacters = 65_536;

function* pieces({ workspaceId, spoolId }: SpoolId, entries: Iterable<NumberedEntry>, received: string): Generator<string> {
  let piece = '';
  for (const { sequence, ingest, entry } of entries) {
    const { ts, tool, decision, agentName, sub, sessionId, rest, digest } = entry;
    const text = `${escapeCopy(tool)}\t${decision}\t${escapeCopy(agentName)}\t${escapeCopy(sub)}\t${escapeCopy(sessionId)}`;
    // JSON text has no raw control characters.
    const json = rest.replaceAll('\\', '\\\\');
    piece += `${workspaceId}\t${ts}\t${spoolId}\t${sequence}\t${ingest}\t${received}\t${text}\t${json}\t\\\\x${digest}\n`;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
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
