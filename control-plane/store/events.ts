// Admin events: who changed what, when. Written in the transaction of the change itself.
import { isObject } from '../domain/policy.ts';
import { rowIs } from './row.ts';
import type { Queryable } from './transaction.ts';

export interface AdminEvent {
  readonly id: number;
  readonly at: Date;
  readonly sub: string;
  readonly keyId: string;
  readonly action: string;
  /** What was changed, e.g. `agent/<id>`. */
  readonly target: string;
  readonly revision: number;
  /** Names of what changed; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export async function insertEvent(db: Queryable, workspaceId: number, event: Omit<AdminEvent, 'id'>): Promise<void> {
  const { at, sub, keyId, action, target, revision, detail } = event;
  await db.query(
    'insert into admin_event (workspace_id, at, sub, key_id, action, target, revision, detail) values ($1, $2, $3, $4, $5, $6, $7, $8)',
    [workspaceId, at, sub, keyId, action, target, revision, JSON.stringify(detail)],
  );
}

/** Newest first; `before`: only events of lower ids. */
export async function listEvents(db: Queryable, workspaceId: number, limit: number, before: number | null): Promise<readonly AdminEvent[]> {
  const { rows } = await db.query<{
    id: string;
    at: Date;
    sub: string;
    key_id: string;
    action: string;
    target: string;
    revision: string;
    detail: unknown;
  }>(
    `select id, at, sub, key_id, action, target, revision, detail from admin_event
     where workspace_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [workspaceId, before, limit],
  );
  return rows.map((row) => ({
    id: Number(row.id),
    at: row.at,
    sub: row.sub,
    keyId: row.key_id,
    action: row.action,
    target: row.target,
    revision: Number(row.revision),
    detail: rowIs(isObject, row.detail),
  }));
}
