// Stores who approved, and reads the persons that this depends on.
import { isRole } from '@tollgate/proto/contract';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';
import type { ApprovalRef } from '../rules/approval.ts';
import type { StandingMember, StoredAnswer } from '../rules/who-may-answer.ts';

/** Lists the answers, the oldest first. */
export async function listAnswers(db: Queryable, { workspaceId, id }: ApprovalRef): Promise<readonly StoredAnswer[]> {
  const { rows } = await db.query<{ uid: string; persons: readonly string[]; member_since: Date; via: string; key_id: string; at: Date }>(
    `select uid, persons, member_since, via, key_id, at from approval_answer where workspace_id = $1 and approval_id = $2 order by at, uid`,
    [workspaceId, id],
  );
  return rows.map((row) => ({
    uid: row.uid,
    persons: row.persons,
    memberSince: row.member_since,
    via: row.via === 'session' ? 'session' : 'key',
    keyId: row.key_id,
    at: row.at,
  }));
}

/** Stores an answer. An earlier answer of the same member is replaced. Its time is that of the database. */
export async function putAnswer(db: Queryable, { workspaceId, id }: ApprovalRef, answer: Omit<StoredAnswer, 'at'>): Promise<void> {
  await db.query(
    `insert into approval_answer (workspace_id, approval_id, uid, persons, member_since, via, key_id, at)
     values ($1, $2, $3, $4, $5, $6, $7, date_trunc('milliseconds', clock_timestamp()))
     on conflict (workspace_id, approval_id, uid) do update set
       persons = excluded.persons, member_since = excluded.member_since, via = excluded.via, key_id = excluded.key_id, at = excluded.at`,
    [workspaceId, id, answer.uid, answer.persons, answer.memberSince, answer.via, answer.keyId],
  );
}

/** Returns the members with these uids as they are now. They cannot be removed or changed until the transaction ends. */
export async function holdMembers(
  db: Queryable,
  workspaceId: number,
  uids: readonly string[],
): Promise<ReadonlyMap<string, StandingMember>> {
  const { rows } = await db.query<{ uid: string; role: string; created_at: Date }>(
    'select uid, role, created_at from member where workspace_id = $1 and uid = any($2) order by uid for share',
    [workspaceId, uids],
  );
  return new Map(rows.map(({ uid, role, created_at: createdAt }) => [uid, { role: rowIs(isRole, role), createdAt }]));
}

/**
 * Returns who acts as a key, who made it and who rotated it; null: there is no such key. A revoked key has them too. `isRevoked`:
 * it was revoked, or has expired by the clock of the database.
 */
export async function findKeyPersons(
  db: Queryable,
  workspaceId: number,
  keyId: string,
): Promise<{ readonly uid: string | null; readonly madeBy: string; readonly secretBy: string; readonly isRevoked: boolean } | null> {
  const { rows } = await db.query<{ uid: string | null; made_by: string; secret_by: string; revoked: boolean }>(
    `select uid, made_by, secret_by, coalesce(revoked_at is not null or expires_at <= clock_timestamp(), false) as revoked
     from api_key where workspace_id = $1 and id = $2`,
    [workspaceId, keyId],
  );
  const [row] = rows;
  return row === undefined ? null : { uid: row.uid, madeBy: row.made_by, secretBy: row.secret_by, isRevoked: row.revoked };
}

/** Whether the subject exists: a member, or a service key as `apikey:<id>`. */
export async function hasSubject(db: Queryable, workspaceId: number, sub: string): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>(
    `select exists (select 1 from member where workspace_id = $1 and uid = $2)
       or exists (select 1 from api_key where workspace_id = $1 and 'apikey:' || id = $2 and uid is null and revoked_at is null) as there`,
    [workspaceId, sub],
  );
  return rows[0]?.there === true;
}

/** Returns how many members have one of the roles or one of the uids, without `excluded`, at most `enough`. */
export async function countMembers(
  db: Queryable,
  workspaceId: number,
  { roles, uids, excluded, enough }: { roles: readonly string[]; uids: readonly string[]; excluded: readonly string[]; enough: number },
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (
       select 1 from member where workspace_id = $1 and (role = any($2) or uid = any($3)) and uid <> all($4) limit $5) as eligible`,
    [workspaceId, roles, uids, excluded, enough],
  );
  return rows[0]?.count ?? 0;
}

/** Whether this member has revealed the hidden values. A later member of the same uid has not. */
export async function hasRevealed(
  db: Queryable,
  { workspaceId, id }: ApprovalRef,
  { uid, memberSince }: Pick<StoredAnswer, 'uid' | 'memberSince'>,
): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>(
    `select exists (select 1 from approval_event where workspace_id = $1 and approval_id = $2 and action = 'revealed'
       and sub = $3 and detail->>'memberSince' = $4) as there`,
    [workspaceId, id, uid, memberSince.toISOString()],
  );
  return rows[0]?.there === true;
}
