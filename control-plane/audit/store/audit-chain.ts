// Stores the chain of a workspace: its end, its items in order, its checkpoints, and what is kept of it when days go
// out of retention.

import type pg from 'pg';
import { originOf, type ShownGap, valueBefore } from '@tollgate/proto/chain';
import type { PageWanted } from '../../base/page.ts';
import type { SigningKey } from '../rules/signing-key.ts';
import type { ChainEnd } from './audit-ingest.ts';
import { type EntryRow, entryFromRow, shown } from './audit.ts';
import { queryPatiently } from '../../database/patience.ts';
import type { Queryable } from '../../database/transaction.ts';

export interface StoredLog extends ChainEnd {
  readonly origin: string;
  /** The number of items that were stored before the chain existed. */
  readonly beginsAfter: number;
  /** An export begins after this item. */
  readonly keptAfter: number;
}

interface LogRow {
  readonly ingest: string;
  readonly chain: string | null;
  readonly log_id: string;
  readonly begins_after: string;
  readonly kept_after: string;
  readonly slug: string;
}

/** Reads the log. It creates the log if no item has arrived yet. */
export async function openLog(db: Queryable, workspaceId: number): Promise<StoredLog> {
  await db.query('insert into audit_head (workspace_id, ingest) values ($1, 0) on conflict do nothing', [workspaceId]);
  const { rows } = await db.query<LogRow>(
    `select ingest, encode(chain, 'hex') as chain, log_id, begins_after, kept_after, slug
     from audit_head join workspace on id = workspace_id where workspace_id = $1`,
    [workspaceId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the audit log must have a row after the insert, but this row was not found');
  const origin = originOf(row.slug, row.log_id);
  const beginsAfter = Number(row.begins_after);
  const chain = row.chain ?? valueBefore(origin, beginsAfter);
  return { origin, ingest: Number(row.ingest), chain, beginsAfter, keptAfter: Number(row.kept_after) };
}

/**
 * Returns an entry that did not arrive through the normal path, or null. Its number is beyond the end of its log,
 * before the first item, or among the removed items although its time is still in retention.
 */
export async function findStray(
  db: Queryable,
  workspaceId: number,
  keptFrom: Date,
): Promise<{ readonly id: string; readonly ingest: number } | null> {
  const { rows } = await db.query<{ spool_id: string; sequence: string; ingest: string }>(
    `with head as materialized (select * from audit_head where workspace_id = $1)
     (select spool_id, sequence, ingest from audit_entry
      where workspace_id = $1 and ingest > (select ingest from head) order by ingest limit 1)
     union all
     (select spool_id, sequence, ingest from audit_entry where workspace_id = $1 and ingest <= 0 order by ingest limit 1)
     union all
     (select spool_id, sequence, ingest from audit_entry
      where workspace_id = $1 and ingest > (select begins_after from head) and ingest <= (select kept_after from head) and ts >= $2
      order by ingest limit 1)`,
    [workspaceId, keptFrom],
  );
  const [row] = rows;
  return row === undefined ? null : { id: `${row.spool_id.replaceAll('-', '')}-${row.sequence}`, ingest: Number(row.ingest) };
}

export interface StoredCheckpoint {
  readonly size: number;
  readonly chain: string;
  readonly madeAt: Date;
  readonly note: string;
}

interface CheckpointRow {
  readonly size: string;
  readonly chain: string;
  readonly made_at: Date;
  readonly note: string;
}

const checkpointColumns = `size, encode(chain, 'hex') as chain, made_at, note`;

const checkpointFromRow = (row: CheckpointRow): StoredCheckpoint => ({
  size: Number(row.size),
  chain: row.chain,
  madeAt: row.made_at,
  note: row.note,
});

/** Returns the newest checkpoint of at most `sizeMax` items, or null. */
export async function findCheckpoint(
  db: Queryable,
  workspaceId: number,
  sizeMax = Number.MAX_SAFE_INTEGER,
): Promise<StoredCheckpoint | null> {
  const { rows } = await db.query<CheckpointRow>(
    `select ${checkpointColumns} from audit_checkpoint where workspace_id = $1 and size <= $2 order by size desc limit 1`,
    [workspaceId, sizeMax],
  );
  return rows[0] === undefined ? null : checkpointFromRow(rows[0]);
}

/**
 * Stores a checkpoint, and the key that signed it. If there is already a checkpoint of the same size, it is replaced
 * only if both have the same chain value. If the values differ, the old checkpoint stays and the result is false.
 */
export async function writeCheckpoint(
  db: Queryable,
  workspaceId: number,
  { size, chain, madeAt, note }: StoredCheckpoint,
  publicKey: Uint8Array,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with key as (insert into audit_key (public_key, since) values ($6, $4) on conflict do nothing)
     insert into audit_checkpoint as one (workspace_id, size, chain, made_at, note) values ($1, $2, decode($3, 'hex'), $4, $5)
     on conflict (workspace_id, size) do update set made_at = excluded.made_at, note = excluded.note where one.chain = excluded.chain`,
    [workspaceId, size, chain, madeAt, note, Buffer.from(publicKey)],
  );
  return rowCount === 1;
}

/** Returns the ids of workspaces with items that no checkpoint covers. */
export async function listUnsigned(db: Queryable): Promise<readonly number[]> {
  const { rows } = await db.query<{ workspace_id: string }>(
    `select workspace_id from audit_head head where ingest > coalesce(
       (select max(size) from audit_checkpoint one where one.workspace_id = head.workspace_id), begins_after) order by workspace_id`,
  );
  return rows.map((row) => Number(row.workspace_id));
}

/** Returns the keys of control planes that have signed, oldest first. */
export async function listKeys(db: Queryable, { limit, after }: PageWanted<SigningKey>): Promise<readonly SigningKey[]> {
  const { rows } = await db.query<{ public_key: Buffer; since: Date }>(
    `select public_key, since from audit_key where $1::timestamptz is null or (since, public_key) > ($1, $2::bytea)
     order by since, public_key limit $3`,
    [after?.since, after === null ? null : Buffer.from(after.publicKey), limit],
  );
  return rows.map((row) => ({ publicKey: row.public_key, since: row.since }));
}

export async function hasKey(db: Queryable, publicKey: Uint8Array): Promise<boolean> {
  const { rowCount } = await db.query('select from audit_key where public_key = $1', [Buffer.from(publicKey)]);
  return rowCount === 1;
}

/** An item of the log. `digest` was computed when the item arrived; empty: it was removed. */
export type StoredItem = { readonly ingest: number; readonly digest: string } & (
  | { readonly kind: 'entry'; readonly ts: string; readonly entry: Readonly<Record<string, unknown>> }
  | { readonly kind: 'gap'; readonly gap: ShownGap }
  | { readonly kind: 'retired'; readonly ts: string }
);

interface ItemRow extends EntryRow {
  readonly ingest: string;
  readonly kind: number;
  readonly digest: string | null;
  readonly last_sequence: string | null;
  readonly reason: string | null;
}

const standardItems = 250;
/** Maximum size of a page, as stored. A single item can be larger. */
const pageBytesMax = 4 * 1_048_576;

const pageText = (items: number): string => `select * from (
    select *, coalesce(sum(pg_column_size(entry)) over (order by ingest groups between unbounded preceding and 1 preceding), 0) as weight_before
    from (
      (select ingest, 0 as kind, encode(digest, 'hex') as digest, ${shown}, null::bigint as last_sequence, null as reason
       from audit_entry where workspace_id = $1 and ingest > $2 and ingest <= $3 order by ingest limit ${items})
      union all
      (select ingest, 1, encode(digest, 'hex'), null, spool_id, first_sequence, received_at, '', '', '', '', '', null, last_sequence, reason
       from audit_gap where workspace_id = $1 and ingest > $2 and ingest <= $3 order by ingest limit ${items})
      union all
      (select ingest, 2, encode(digest, 'hex'), ts, null, null, null, '', '', '', '', '', null, null, null
       from audit_retired where workspace_id = $1 and ingest > $2 and ingest <= $3 order by ingest limit ${items})
    ) item order by ingest, kind limit ${items}
  ) page where weight_before < ${pageBytesMax} order by ingest, kind`;

/** Returns the items with `after < ingest <= upTo`, in order. An empty list means that there are no more. */
export async function readItems(
  pool: pg.Pool,
  workspaceId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
  items = standardItems,
): Promise<readonly StoredItem[]> {
  const rows = await queryPatiently<ItemRow>(pool, { text: pageText(items), values: [workspaceId, after, upTo] });
  // If two items have the same number, the next page must not begin between them. Therefore the last number is left to
  // the next page.
  const last = rows.at(-1)?.ingest;
  const whole = rows.length < items || rows[0]?.ingest === last ? rows : rows.filter(({ ingest }) => ingest !== last);
  // While a day is being dropped, both its entries and their retired rows exist. A retired row is left out if its entry
  // is present.
  return whole.filter(({ kind, ingest }, at) => kind !== 2 || ingest !== whole[at - 1]?.ingest).map(itemFromRow);
}

function itemFromRow(row: ItemRow): StoredItem {
  const item = { ingest: Number(row.ingest), digest: row.digest ?? '' };
  if (row.kind === 2) return { ...item, kind: 'retired', ts: row.ts.toISOString() };
  if (row.kind === 0) return { ...item, kind: 'entry', ts: row.ts.toISOString(), entry: entryFromRow(row) };
  const gap = {
    spoolId: row.spool_id.replaceAll('-', ''),
    firstSequence: Number(row.sequence),
    lastSequence: Number(row.last_sequence),
    reason: row.reason ?? '',
    receivedAt: row.received_at.toISOString(),
  };
  return { ...item, kind: 'gap', gap };
}
