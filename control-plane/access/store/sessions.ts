// Stores console sessions. `actors.ts` finds the actor of a session.
import { sessionsMax } from '../rules/session.ts';
import { isOfMember } from './keys.ts';
import type { Queryable } from '../../database/transaction.ts';

export interface NewSession {
  readonly id: string;
  readonly hash: string;
  /** The key or member on which the session depends. */
  readonly on: { readonly keyId: string } | { readonly uid: string };
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** Stores a session. If there would be too many, deletes the oldest sessions of the same key or member. */
export async function insertSession(db: Queryable, workspaceId: number, session: NewSession): Promise<void> {
  const { id, hash, on, expiresAt, createdAt } = session;
  const [keyId, uid] = 'keyId' in on ? [on.keyId, null] : [null, on.uid];
  await db.query(
    `delete from session where workspace_id = $1 and id in
       (select id from session where workspace_id = $1 and (key_id = $2 or uid = $3) order by created_at desc, id offset $4)`,
    [workspaceId, keyId, uid, sessionsMax - 1],
  );
  await db.query('insert into session (workspace_id, id, hash, key_id, uid, expires_at, created_at) values ($1, $2, $3, $4, $5, $6, $7)', [
    workspaceId,
    id,
    hash,
    keyId,
    uid,
    expiresAt,
    createdAt,
  ]);
}

/**
 * Returns the slugs of the workspaces that have a member of the same uid or e-mail as this member: those that one
 * identity of the issuer can sign in to.
 */
export async function listWorkspacesOf(db: Queryable, workspaceId: number, uid: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ slug: string }>(
    `select distinct slug from member me
     join member one on one.uid = me.uid or lower(one.email collate "C") = lower(me.email collate "C")
     join workspace on workspace.id = one.workspace_id
     where me.workspace_id = $1 and me.uid = $2 order by slug limit 200`,
    [workspaceId, uid],
  );
  return rows.map(({ slug }) => slug);
}

export async function deleteSession(db: Queryable, hash: string): Promise<void> {
  await db.query('delete from session where hash = $1', [hash]);
}

/**
 * Deletes the sessions of a key. Call this after the key was changed: a session that is created at the same time waits
 * for the key's lock, and is therefore visible here.
 */
export async function deleteSessionsOfKey(db: Queryable, workspaceId: number, keyId: string): Promise<void> {
  await db.query('delete from session where workspace_id = $1 and key_id = $2', [workspaceId, keyId]);
}

/** Deletes the member's sessions that were opened through an issuer. Call this after the member was changed. */
export async function deleteSessionsOnMember(db: Queryable, workspaceId: number, uid: string): Promise<void> {
  await db.query('delete from session where workspace_id = $1 and uid = $2', [workspaceId, uid]);
}

/** Deletes the sessions of the member and of the member's keys. Call this after the keys were revoked. */
export async function deleteSessionsOfMember(db: Queryable, workspaceId: number, uid: string): Promise<void> {
  await db.query(
    `delete from session where workspace_id = $1 and (uid = $2 or key_id in
       (select id from api_key where workspace_id = $1 and ${isOfMember}))`,
    [workspaceId, uid],
  );
}

export async function deleteExpiredSessions(db: Queryable, now: Date): Promise<void> {
  await db.query('delete from session where expires_at <= $1', [now]);
}
