// How batches of a workspace's spools become part of its log, within the caller's transaction: the rows of the spools are locked
// in their order and then that of the chain, so that no two transactions of a workspace overlap, and none waits for one
// that waits for it. Few round trips: this is the hot path.
import type pg from 'pg';
import { originOf } from '../chain/checkpoint.ts';
import { valueBefore } from '../chain/link.ts';
import { selectMissing } from './partitions.ts';
import { patientQuery, startOver } from './transaction.ts';

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

/** Where the workspace's chain stands. */
export interface ChainEnd {
  /** Items so far. */
  readonly ingest: number;
  /** The value after them. */
  readonly chain: string;
}

export interface LockedSpool {
  /** Its last sequence that is stored, 0 for a new spool. */
  readonly stored: number;
  /** The database was put back from a backup since the spool brought anything. */
  readonly restored: boolean;
  /** SHA-256 of its secret, in hex; null: none was shown yet. */
  readonly secretHash: string | null;
  /** The key that it was begun with; null: not known. */
  readonly keyId: string | null;
  /** The only subject that its entries may name; null: any. */
  readonly onlySub: string | null;
  /** The log says already that something of it came again with other bytes. */
  readonly conflicted: boolean;
}

/** The workspace of the log. */
export interface LockedWorkspace {
  readonly randomId: string;
  readonly createdAt: Date;
}

/** Entries of one spool that follow each other, and SHA-256 of the bytes of each, 32 bytes one after the other. */
export interface SentRun {
  readonly spoolId: string;
  readonly first: number;
  readonly last: number;
  readonly hashes: Buffer;
}

interface LockedLog extends ChainEnd {
  readonly workspace: LockedWorkspace;
  /** By spool id, each that was asked for. */
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

// An aggregate on the left side of a join: every spool is locked before the chain is, never one spool after it.
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
 * The first thing in its transaction: locks spools and chain until it ends; in the same round trip says which of `days`
 * (`YYYYMMDD`) have no partition.
 */
export async function lockLog(
  client: pg.PoolClient,
  workspaceId: number,
  spoolIds: readonly string[],
  days: readonly string[],
): Promise<LockedLog> {
  const lock = async (): Promise<LockedLog | null> => {
    const { rows } = await client.query<LockedRow>(patientQuery(lockText, [workspaceId, spoolIds, days]));
    return rows[0] === undefined ? null : lockedFromRow(rows[0], spoolIds);
  };
  const locked = await lock();
  if (locked !== null) return locked;
  // Who makes a spool that another transaction makes as well waits for that one, which may wait for what is locked here.
  await startOver(client);
  await client.query(patientQuery(beginText, [workspaceId, spoolIds]));
  const begun = await lock();
  if (begun === null) throw new Error('a spool was made, and is not there');
  return begun;
}

/** Lets go of spools that were locked by this transaction and of which nothing was ever taken: who sends such ones leaves nothing behind. */
export async function deleteUnbegunSpools(client: pg.PoolClient, workspaceId: number, spoolIds: readonly string[]): Promise<void> {
  await client.query(
    patientQuery(
      'delete from audit_stream where workspace_id = $1 and spool_id = any($2::uuid[]) and sequence = 0 and secret_hash is null',
      [workspaceId, spoolIds],
    ),
  );
}

/** Null where one of them has no row yet, or the chain has none. */
function lockedFromRow(row: LockedRow, spoolIds: readonly string[]): LockedLog | null {
  const spools = new Map(Object.entries(row.spools));
  if (row.ingest === null || !spoolIds.every((id) => spools.has(id))) return null;
  const chain = row.chain ?? valueBefore(originOf(row.slug, row.log_id), Number(row.begins_after));
  const workspace = { randomId: row.random_id, createdAt: row.created_at };
  return { spools, workspace, ingest: Number(row.ingest), chain, missingDays: row.missing };
}

/** How the bytes of the last entries of spools were, of these sequences; the spools are locked by this transaction. */
export async function listSent(
  client: pg.PoolClient,
  workspaceId: number,
  spoolIds: readonly string[],
  { first: from, last: to }: { readonly first: number; readonly last: number },
): Promise<readonly SentRun[]> {
  const { rows } = await client.query<{ spool: string; first: string; last: string; hashes: Buffer }>(
    patientQuery(
      `select encode(uuid_send(spool_id), 'hex') as spool, first_sequence as first, last_sequence as last, hashes
       from audit_sent where workspace_id = $1 and spool_id = any($2::uuid[]) and last_sequence >= $3 and first_sequence <= $4`,
      [workspaceId, spoolIds, from, to],
    ),
  );
  return rows.map(({ spool, first, last, hashes }) => ({ spoolId: spool, first: Number(first), last: Number(last), hashes }));
}

/** What a spool is from now on. */
export interface Arrived extends LockedSpool {
  readonly spoolId: string;
  readonly at: Date;
}

/** Of so many sequences of a spool, its last, it is kept how their bytes were. */
export const sentKept = 4_000;

/** Moves spools, each of which stands there once, and chain on; they were locked by this transaction. */
export async function advanceLog(
  client: pg.PoolClient,
  workspaceId: number,
  { arrived, sent }: { readonly arrived: readonly Arrived[]; readonly sent: readonly SentRun[] },
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
  await client.query(
    patientQuery(
      `with arrived as (
         select * from unnest($4::uuid[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[], $9::text[], $10::boolean[], $11::boolean[])
           as arrived (spool_id, sequence, at, secret_hash, key_id, only_sub, conflicted, restored)),
       moved as (
         update audit_stream set sequence = arrived.sequence, seen_at = arrived.at, restored = arrived.restored,
           secret_hash = decode(arrived.secret_hash, 'hex'), key_id = arrived.key_id, only_sub = arrived.only_sub, conflicted = arrived.conflicted
         from arrived where audit_stream.workspace_id = $1 and audit_stream.spool_id = arrived.spool_id),
       noted as (
         insert into audit_sent (workspace_id, spool_id, first_sequence, last_sequence, hashes)
         select $1, spool_id, first, last, hashes from unnest($12::uuid[], $13::bigint[], $14::bigint[], $15::bytea[])
           as sent (spool_id, first, last, hashes)),
       forgotten as (
         delete from audit_sent using arrived where audit_sent.workspace_id = $1 and audit_sent.spool_id = arrived.spool_id
           and audit_sent.last_sequence <= arrived.sequence - ${sentKept})
       update audit_head set ingest = $2, chain = decode($3, 'hex') where workspace_id = $1`,
      [workspaceId, ingest, chain, ...columns],
    ),
  );
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
