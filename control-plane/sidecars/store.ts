// Stores the sidecars of a workspace. Each control plane records the sidecars that are connected to it. If control
// planes must agree on a time, the time of the database is used.
import type { RevisionName } from '@tollgate/proto/contract';
import { type ListedSidecar, presence, type SidecarPosition, type SidecarSeen } from './rules/sidecar.ts';
import { rowIs } from '../database/row.ts';
import type { Queryable } from '../database/transaction.ts';

/** The columns in the order of `valuesOf`, with their types. */
const columns = [
  ['workspace_id', 'bigint'],
  ['key_id', 'text'],
  ['boot_id', 'text'],
  ['stream_id', 'text'],
  ['sidecar_id', 'text'],
  ['form', 'text'],
  ['control_plane', 'text'],
  // As JSON, because `unnest` flattens an array of arrays.
  ['capabilities', 'jsonb'],
  ['connected_at', 'timestamptz'],
  ['left_at', 'timestamptz'],
  ['epoch', 'text'],
  ['revision', 'bigint'],
  ['nack_code', 'text'],
  ['nack_message', 'text'],
  ['nack_at', 'timestamptz'],
  ['version', 'text'],
  ['spool_records', 'bigint'],
  ['spool_bytes', 'bigint'],
  ['spool_age_ms', 'bigint'],
  ['unrecorded', 'bigint'],
  ['outage_decisions', 'bigint'],
  ['refused_spools', 'bigint'],
  ['refused_records', 'bigint'],
  ['clock_ahead_seconds', 'bigint'],
] as const;

const valuesOf = ({ held, lastNack, status, ...seen }: SidecarSeen): readonly unknown[] => [
  seen.workspaceId,
  seen.keyId,
  seen.bootId,
  seen.streamId,
  seen.sidecarId,
  seen.form,
  seen.controlPlane,
  JSON.stringify(seen.capabilities),
  seen.connectedAt,
  seen.leftAt,
  held?.epoch,
  held?.number,
  lastNack?.code,
  lastNack?.message,
  lastNack?.at,
  status?.version,
  status?.spoolRecords,
  status?.spoolBytes,
  status?.spoolAgeMs,
  status?.unrecorded,
  status?.outageDecisions,
  status?.refusedSpools,
  status?.refusedRecords,
  status?.clock?.aheadSeconds,
];

const names = columns.map(([name]) => name).join(', ');
const arrays = columns.map(([, type], at) => `$${at + 1}::${type}[]`).join(', ');
// In this column and all later ones, a null does not overwrite the value from an earlier stream of the same start. That
// value is still the last one that the sidecar sent.
const firstSaid = columns.findIndex(([name]) => name === 'nack_code');
const updates = columns
  .map(([name], at) => `${name} = ${at >= firstSaid ? `coalesce(excluded.${name}, s.${name})` : `excluded.${name}`}`)
  .join(', ');

const isThere = (believedMs: string): string =>
  `(left_at is null and seen_at > clock_timestamp() - ${believedMs} * interval '1 millisecond')`;

/**
 * Writes all sidecars in one statement. Sidecars of deleted workspaces are left out. A stream that has ended does not
 * overwrite a newer stream, which another control plane may have recorded in the meantime.
 */
export async function upsertSidecars(db: Queryable, sidecars: readonly SidecarSeen[]): Promise<void> {
  if (sidecars.length === 0) return;
  const rows = sidecars.map(valuesOf);
  await db.query(
    `insert into sidecar as s (${names}, seen_at)
     select ${columns.map(([name]) => `told.${name}`).join(', ')}, clock_timestamp()
       from unnest(${arrays}) as told(${names}) join workspace on workspace.id = told.workspace_id
       order by told.workspace_id, told.key_id, told.boot_id
     on conflict (workspace_id, key_id, boot_id) do update set ${updates}, seen_at = excluded.seen_at
       where excluded.left_at is null or s.stream_id = excluded.stream_id`,
    columns.map((_, at) => rows.map((row) => row[at] ?? null)),
  );
}

/** Keeps only the latest `kept` rows of sidecars that are no longer connected. */
export async function deleteGoneSidecars(db: Queryable, workspaceId: number, kept: number): Promise<void> {
  await db.query(
    `delete from sidecar where workspace_id = $1 and not ${isThere('$3')} and (key_id, boot_id) in
       (select key_id, boot_id from sidecar where workspace_id = $1 and not ${isThere('$3')} order by seen_at desc, key_id, boot_id offset $2)`,
    [workspaceId, kept, presence.believedMs],
  );
}

/**
 * Deletes the sidecars that no control plane has seen for this number of days. This includes sidecars whose control
 * plane died before it could record that they left.
 */
export async function deleteSidecarsUnseen(db: Queryable, days: number): Promise<void> {
  await db.query("delete from sidecar where seen_at < clock_timestamp() - $1 * interval '1 day'", [days]);
}

/** Returns the names of connected sidecars that lack at least one of these capabilities, sorted. */
export async function listLackingSidecars(db: Queryable, workspaceId: number, needs: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ sidecar_id: string }>(
    `select distinct sidecar_id from sidecar where workspace_id = $1 and ${isThere('$3')} and not capabilities ?& $2::text[] order by 1`,
    [workspaceId, needs, presence.believedMs],
  );
  return rows.map((row) => row.sidecar_id);
}

interface SidecarRow {
  readonly key_id: string;
  readonly boot_id: string;
  readonly sidecar_id: string;
  readonly form: string;
  readonly control_plane: string;
  readonly lacks: readonly string[];
  readonly connected_at: Date;
  readonly seen_at: Date;
  readonly connected: boolean;
  readonly epoch: string | null;
  readonly revision: string | null;
  readonly lag: string | null;
  readonly behind_ms: number | null;
  readonly nack_code: string | null;
  readonly nack_message: string | null;
  readonly nack_at: Date | null;
  readonly version: string | null;
  readonly spool_records: string | null;
  readonly spool_bytes: string | null;
  readonly spool_age_ms: string | null;
  readonly unrecorded: string | null;
  readonly outage_decisions: string | null;
  readonly refused_spools: string | null;
  readonly refused_records: string | null;
  readonly clock_ahead_seconds: string | null;
}

export interface SidecarList {
  /** The newest revision of the workspace. */
  readonly newest: RevisionName;
  readonly sidecars: readonly ListedSidecar[];
}

interface SidecarsWanted {
  readonly limit: number;
  /** Lists only sidecars after this position. Null: lists from the beginning. */
  readonly after: SidecarPosition | null;
}

/** The order that `SidecarPosition` defines. */
const order = 'not s.connected, s.sidecar_id, -extract(epoch from s.connected_at), s.boot_id, s.key_id';

/**
 * Returns a page of sidecars. The time that a sidecar is behind begins when the first revision after the one that it
 * holds was created.
 */
export async function listSidecars(db: Queryable, workspaceId: number, { limit, after }: SidecarsWanted): Promise<SidecarList> {
  const { rows: newest } = await db.query<{ epoch: string; revision: string }>(
    'select deployment.epoch, workspace.revision from workspace cross join deployment where workspace.id = $1',
    [workspaceId],
  );
  const { rows } = await db.query<SidecarRow>(
    `with known as (select sidecar.*, ${isThere('$2')} as connected from sidecar where workspace_id = $1),
       page as (select * from known s
         where $4::boolean is null
           or (${order}) > (not $4::boolean, $5::text, -extract(epoch from $6::timestamptz), $7::text, $8::text)
         order by ${order} limit $3)
     select s.*, array(select need from unnest(d.needs) as need where not s.capabilities ? need) as lacks, case when s.epoch = d.epoch and s.revision <= w.revision then w.revision - s.revision end as lag,
       (extract(epoch from clock_timestamp() - (select at from admin_event e
         where e.workspace_id = $1 and e.revision > s.revision order by e.revision, e.position limit 1)) * 1000)::float8 as behind_ms
     from page s join workspace w on w.id = s.workspace_id cross join deployment d order by ${order}`,
    [workspaceId, presence.believedMs, limit, after?.connected, after?.sidecarId, after?.connectedAt, after?.bootId, after?.keyId],
  );
  return {
    newest: { epoch: newest[0]?.epoch ?? '', number: Number(newest[0]?.revision ?? 0) },
    sidecars: rows.map(sidecarFromRow),
  };
}

const isForm = (value: unknown): value is ListedSidecar['form'] => value === 'process' || value === 'library';

function sidecarFromRow(row: SidecarRow): ListedSidecar {
  const { nack_code: code, nack_message: message, nack_at: at, version } = row;
  return {
    keyId: row.key_id,
    bootId: row.boot_id,
    sidecarId: row.sidecar_id,
    form: rowIs(isForm, row.form),
    controlPlane: row.control_plane,
    lacks: row.lacks,
    connectedAt: row.connected_at,
    connected: row.connected,
    lastSeen: row.seen_at,
    held: row.epoch === null ? null : { epoch: row.epoch, number: Number(row.revision) },
    lag: row.lag === null ? null : { revisions: Number(row.lag), seconds: row.lag === '0' ? 0 : Math.max(0, (row.behind_ms ?? 0) / 1000) },
    lastNack: code === null || message === null || at === null ? null : { code, message, at },
    status:
      version === null
        ? null
        : {
            version,
            spoolRecords: Number(row.spool_records),
            spoolBytes: Number(row.spool_bytes),
            spoolAgeMs: Number(row.spool_age_ms),
            unrecorded: Number(row.unrecorded),
            outageDecisions: Number(row.outage_decisions),
            refusedSpools: Number(row.refused_spools),
            refusedRecords: Number(row.refused_records),
            clock: row.clock_ahead_seconds === null ? null : { aheadSeconds: Number(row.clock_ahead_seconds) },
          },
  };
}
