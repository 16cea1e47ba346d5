// Stores batches of a workspace's spools in its log, within the caller's transaction. It locks the rows of the spools
// in order, and then the row of the chain. Transactions of one workspace therefore never overlap, and they cannot
// deadlock. It uses few round trips, because this is the hot path.

import type pg from 'pg';
import { originOf, valueBefore } from '@tollgate/proto/chain';
import { selectMissing } from './partitions.ts';
import { patientQuery, preparedQuery, startOver } from '../../database/transaction.ts';

export interface NumberedGap {
  /** 32 hex digits. */
  readonly spoolId: string;
  readonly ingest: number;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
  readonly digest: string;
  readonly receivedAt: string;
}

/** The end of the workspace's chain. */
export interface ChainEnd {
  /** The number of items so far. */
  readonly ingest: number;
  /** The chain value after the last item. */
  readonly chain: string;
}

export interface LockedSpool {
  /** The last stored sequence of the spool; 0 for a new spool. */
  readonly stored: number;
  /** The database was restored from a backup after the last batch of the spool. */
  readonly restored: boolean;
  /** SHA-256 of the spool's secret, in hex; null: the spool has not shown a secret yet. */
  readonly secretHash: string | null;
  /** The key with which the spool was begun; null: unknown. */
  readonly keyId: string | null;
  /** The only subject that its entries can name; null: any. */
  readonly onlySub: string | null;
  /** The log already records that entries of the spool arrived again with different bytes. */
  readonly conflicted: boolean;
}

/** The workspace of the log. */
export interface LockedWorkspace {
  readonly randomId: string;
  readonly createdAt: Date;
}

/**
 * Consecutive entries of one spool. `hashes` contains the SHA-256 of the bytes of each entry in hex, 64 digits each, in
 * order.
 */
export interface SentRun {
  readonly spoolId: string;
  readonly first: number;
  readonly last: number;
  readonly hashes: string;
}

interface LockedLog extends ChainEnd {
  readonly workspace: LockedWorkspace;
  /** All requested spools, by spool id. */
  readonly spools: ReadonlyMap<string, LockedSpool>;
  readonly missingDays: readonly string[];
}

interface LockedRow {
  readonly spools: Readonly<Record<string, LockedSpool>>;
  readonly ingest: string | null;
  readonly chain: string | null;
  readonly log_id: string;
  readonly begins_after: string;
  readonly slug: string;
  readonly random_id: string;
  readonly created_at: Date;
  readonly missing: readonly string[];
}

// The aggregate on the left side of the join makes sure that all spools are locked first, and the chain after them.
const lockText = `with stream as materialized (
    select * from audit_stream where workspace_id = $1 and spool_id = any($2::uuid[]) order by spool_id for update),
  head as materialized (
    select ingest, encode(chain, 'hex') as chain, log_id, begins_after from audit_head where workspace_id = $1 for update)
  select spools, head.*, workspace.slug, workspace.random_id, workspace.created_at, array(${selectMissing('$3')}) as missing
  from (
    select coalesce(json_object_agg(encode(uuid_send(spool_id), 'hex'), json_build_object('stored', sequence, 'restored', restored,
      'secretHash', encode(secret_hash, 'hex'), 'keyId', key_id, 'onlySub', only_sub, 'conflicted', conflicted)), '{}') as spools
    from stream
  ) locked left join head on true left join workspace on workspace.id = $1`;

const beginText = `with head as (insert into audit_head (workspace_id, ingest) values ($1, 0) on conflict do nothing)
  insert into audit_stream (workspace_id, spool_id, sequence)
  select $1, spool_id, 0 from unnest($2::uuid[]) as spool_id order by spool_id on conflict do nothing`;

/**
 * Must be the first statement of its transaction. Locks spools and chain until the transaction ends. In the same round
 * trip, it reports which of `days` (`YYYYMMDD`) have no partition.
 */
export async function lockLog(
  client: pg.PoolClient,
  workspaceId: number,
  spoolIds: readonly string[],
  days: readonly string[],
): Promise<LockedLog> {
  const lock = async (): Promise<LockedLog | null> => {
    const { rows } = await client.query<LockedRow>(preparedQuery('lock_log', lockText, [workspaceId, spoolIds, days]));
    return rows[0] === undefined ? null : lockedFromRow(rows[0], spoolIds);
  };
  const locked = await lock();
  if (locked !== null) return locked;
  // Two transactions that insert the same spool wait for each other. If one of them already held a lock of this log,
  // they could deadlock. Therefore the insert runs in a new transaction, before the locks.
  await startOver(client);
  await client.query(patientQuery(beginText, [workspaceId, spoolIds]));
  const begun = await lock();
  if (begun === null) throw new Error('the audit log and its spools must have rows after the insert, but these rows were not found');
  return begun;
}

/**
 * Deletes spools that this transaction has locked and from which nothing was accepted. A sender of such batches leaves
 * no rows behind.
 */
export async function deleteUnbegunSpools(client: pg.PoolClient, workspaceId: number, spoolIds: readonly string[]): Promise<void> {
  await client.query(
    patientQuery(
      'delete from audit_stream where workspace_id = $1 and spool_id = any($2::uuid[]) and sequence = 0 and secret_hash is null',
      [workspaceId, spoolIds],
    ),
  );
}

/** Returns null if one of the spools or the chain has no row yet. */
function lockedFromRow(row: LockedRow, spoolIds: readonly string[]): LockedLog | null {
  const spools = new Map(Object.entries(row.spools));
  if (row.ingest === null || !spoolIds.every((id) => spools.has(id))) return null;
  const chain = row.chain ?? valueBefore(originOf(row.slug, row.log_id), Number(row.begins_after));
  const workspace = { randomId: row.random_id, createdAt: row.created_at };
  return { spools, workspace, ingest: Number(row.ingest), chain, missingDays: row.missing };
}

/**
 * Reads the stored hashes of entries of these spools, for a range of sequences. This transaction must have locked the
 * spools.
 */
export async function listSent(
  client: pg.PoolClient,
  workspaceId: number,
  spoolIds: readonly string[],
  { first: from, last: to }: { readonly first: number; readonly last: number },
): Promise<readonly SentRun[]> {
  const { rows } = await client.query<{ spool: string; first: string; last: string; hashes: string }>(
    patientQuery(
      `select encode(uuid_send(spool_id), 'hex') as spool, first_sequence as first, last_sequence as last, encode(hashes, 'hex') as hashes
       from audit_sent where workspace_id = $1 and spool_id = any($2::uuid[]) and last_sequence >= $3 and first_sequence <= $4`,
      [workspaceId, spoolIds, from, to],
    ),
  );
  return rows.map(({ spool, first, last, hashes }) => ({ spoolId: spool, first: Number(first), last: Number(last), hashes }));
}

/** The new state of a spool. */
export interface SpoolState extends LockedSpool {
  readonly spoolId: string;
  readonly at: Date;
}

/** For this many of the last sequences of a spool, the hashes of the bytes are kept. */
export const sentKept = 4_000;

// The condition on `first_sequence` follows from the other one. With it, the index skips the runs that stay.
const advanceText = `with arrived as (
  select * from unnest($4::uuid[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[], $9::text[], $10::boolean[], $11::boolean[])
    as arrived (spool_id, sequence, at, secret_hash, key_id, only_sub, conflicted, restored)),
moved as (
  update audit_stream set sequence = arrived.sequence, seen_at = arrived.at, restored = arrived.restored,
    secret_hash = decode(arrived.secret_hash, 'hex'), key_id = arrived.key_id, only_sub = arrived.only_sub, conflicted = arrived.conflicted
  from arrived where audit_stream.workspace_id = $1 and audit_stream.spool_id = arrived.spool_id),
noted as (
  insert into audit_sent (workspace_id, spool_id, first_sequence, last_sequence, hashes)
  select $1, spool_id, first, last, decode(hashes, 'hex') from unnest($12::uuid[], $13::bigint[], $14::bigint[], $15::text[])
    as sent (spool_id, first, last, hashes)),
forgotten as (
  delete from audit_sent using arrived where audit_sent.workspace_id = $1 and audit_sent.spool_id = arrived.spool_id
    and audit_sent.first_sequence <= arrived.sequence - ${sentKept} and audit_sent.last_sequence <= arrived.sequence - ${sentKept})
update audit_head set ingest = $2, chain = decode($3, 'hex') where workspace_id = $1`;

/** Updates the spools and the chain. This transaction must have locked them. Each spool must occur only once. */
export async function advanceLog(
  client: pg.PoolClient,
  workspaceId: number,
  { arrived, sent }: { readonly arrived: readonly SpoolState[]; readonly sent: readonly SentRun[] },
  { ingest, chain }: ChainEnd,
): Promise<void> {
  const columns = [
    arrived.map(({ spoolId }) => spoolId),
    arrived.map(({ stored }) => stored),
    arrived.map(({ at }) => at),
    arrived.map(({ secretHash }) => secretHash),
    arrived.map(({ keyId }) => keyId),
    arrived.map(({ onlySub }) => onlySub),
    arrived.map(({ conflicted }) => conflicted),
    arrived.map(({ restored }) => restored),
    sent.map(({ spoolId }) => spoolId),
    sent.map(({ first }) => first),
    sent.map(({ last }) => last),
    sent.map(({ hashes }) => hashes),
  ];
  await client.query(preparedQuery('advance_log', advanceText, [workspaceId, ingest, chain, ...columns]));
}

export async function insertGaps(client: pg.PoolClient, workspaceId: number, gaps: readonly NumberedGap[]): Promise<void> {
  if (gaps.length === 0) return;
  const numbers = [gaps.map(({ ingest }) => ingest), gaps.map(({ first }) => first), gaps.map(({ last }) => last)];
  const texts = [gaps.map(({ reason }) => reason), gaps.map(({ digest }) => digest)];
  await client.query(
    patientQuery(
      `insert into audit_gap (workspace_id, spool_id, received_at, ingest, first_sequence, last_sequence, reason, digest)
       select $1, spool_id, received_at, ingest, first, last, reason, decode(digest, 'hex')
       from unnest($2::uuid[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
         as gap (spool_id, received_at, ingest, first, last, reason, digest)`,
      [workspaceId, gaps.map(({ spoolId }) => spoolId), gaps.map(({ receivedAt }) => receivedAt), ...numbers, ...texts],
    ),
  );
}
