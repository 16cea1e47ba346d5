// Stores admin events: what was changed, by which actor, and when. They are written in the transaction of the change
// itself.
import { isObject } from '@tollgate/proto/shape';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

/**
 * The position of an event within its workspace. A sequence that all workspaces share would show each workspace how
 * active the others are.
 */
export interface EventPosition {
  readonly revision: number;
  /** The position among the events of the revision, from 1. */
  readonly position: number;
}

export interface AdminEvent extends EventPosition {
  readonly at: Date;
  readonly sub: string;
  readonly keyId: string;
  readonly action: string;
  /** What was changed, e.g. `agent/<id>`. */
  readonly target: string;
  /** The names of what changed. It never contains a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
}

interface NewEvents extends Omit<AdminEvent, 'position' | 'target'> {
  readonly targets: readonly string[];
}

/** Inserts one event for each target. */
export async function insertEvents(db: Queryable, workspaceId: number, events: NewEvents): Promise<void> {
  const { at, sub, keyId, action, targets, revision, detail } = events;
  await db.query(
    `insert into admin_event (workspace_id, at, sub, key_id, action, target, revision, position, detail)
     select $1, $2, $3, $4, $5, target, $7, position, $8 from unnest($6::text[]) with ordinality as changed(target, position)`,
    [workspaceId, at, sub, keyId, action, targets, revision, JSON.stringify(detail)],
  );
}

/** Returns the newest change of any of `targets` after the revision `since`, or null. */
export async function findChangedSince(
  db: Queryable,
  workspaceId: number,
  targets: readonly string[],
  since: number,
): Promise<{ readonly target: string; readonly revision: number } | null> {
  const { rows } = await db.query<{ target: string; revision: string }>(
    `select target, revision from admin_event where workspace_id = $1 and target = any($2) and revision > $3
     order by revision desc limit 1`,
    [workspaceId, targets, since],
  );
  return rows[0] === undefined ? null : { target: rows[0].target, revision: Number(rows[0].revision) };
}

/** Lists events, newest first. `before`: only events before this position. */
export async function listEvents(
  db: Queryable,
  workspaceId: number,
  limit: number,
  before: EventPosition | null,
): Promise<readonly AdminEvent[]> {
  const { rows } = await db.query<{
    at: Date;
    sub: string;
    key_id: string;
    action: string;
    target: string;
    revision: string;
    position: number;
    detail: unknown;
  }>(
    `select at, sub, key_id, action, target, revision, position, detail from admin_event
     where workspace_id = $1 and ($2::bigint is null or (revision, position) < ($2, $3::integer))
     order by revision desc, position desc limit $4`,
    [workspaceId, before?.revision, before?.position, limit],
  );
  return rows.map((row) => ({
    at: row.at,
    sub: row.sub,
    keyId: row.key_id,
    action: row.action,
    target: row.target,
    revision: Number(row.revision),
    position: row.position,
    detail: rowIs(isObject, row.detail),
  }));
}
