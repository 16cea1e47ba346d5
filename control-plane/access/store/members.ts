// Stores the members of a workspace.
import { isRole } from '@tollgate/proto/contract';
import type { Member } from '../rules/member.ts';
import type { Identity } from '../rules/sign-in.ts';
import type { PageWanted } from '../../base/page.ts';
import { among, rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

interface MemberRow {
  readonly uid: string;
  readonly email: string;
  readonly role: string;
  readonly created_at: Date;
}

const columns = 'uid, email, role, created_at';

const memberFromRow = (row: MemberRow): Member => ({
  uid: row.uid,
  email: row.email,
  role: rowIs(isRole, row.role),
  createdAt: row.created_at,
});

/** Lists the members with these uids; null: all members. */
export async function listMembers(db: Queryable, workspaceId: number, uids: readonly string[] | null = null): Promise<readonly Member[]> {
  const { rows } = await db.query<MemberRow>(
    `select ${columns} from member where workspace_id = $1 and ${among('uid', '$2')} order by uid`,
    [workspaceId, uids],
  );
  return rows.map(memberFromRow);
}

/** Lists a part of the members, by their uid. */
export async function listMembersAfter(
  db: Queryable,
  workspaceId: number,
  { limit, after }: PageWanted<string>,
): Promise<readonly Member[]> {
  const { rows } = await db.query<MemberRow>(
    `select ${columns} from member where workspace_id = $1 and ($2::text is null or uid > $2) order by uid limit $3`,
    [workspaceId, after, limit],
  );
  return rows.map(memberFromRow);
}

export async function findMember(db: Queryable, workspaceId: number, uid: string): Promise<Member | null> {
  const { rows } = await db.query<MemberRow>(`select ${columns} from member where workspace_id = $1 and uid = $2`, [workspaceId, uid]);
  return rows[0] === undefined ? null : memberFromRow(rows[0]);
}

// With the collation "C", `lower` changes only ASCII letters. No other letter can then become a letter of another
// person's address.
const sameEmail = (parameter: string): string => `lower(email collate "C") = lower(${parameter}::text collate "C")`;

/**
 * Finds all members whose uid is the identity's `sub`, or whose e-mail is the identity's e-mail. They cannot be removed
 * until the transaction ends.
 */
export async function findMembersOf(db: Queryable, workspaceId: number, { sub, email }: Identity): Promise<readonly Member[]> {
  const { rows } = await db.query<MemberRow>(
    `select ${columns} from member where workspace_id = $1 and (uid = $2 or ${sameEmail('$3')}) for share`,
    [workspaceId, sub, email],
  );
  return rows.map(memberFromRow);
}

/** Whether a member other than `uid` has the e-mail. */
export async function isEmailTaken(db: Queryable, workspaceId: number, uid: string, email: string): Promise<boolean> {
  const { rowCount } = await db.query(`select 1 from member where workspace_id = $1 and uid <> $2 and ${sameEmail('$3')} limit 1`, [
    workspaceId,
    uid,
    email,
  ]);
  return rowCount !== 0;
}

export async function insertMember(db: Queryable, workspaceId: number, member: Member): Promise<void> {
  const { uid, email, role, createdAt } = member;
  await db.query('insert into member (workspace_id, uid, email, role, created_at) values ($1, $2, $3, $4, $5)', [
    workspaceId,
    uid,
    email,
    role,
    createdAt,
  ]);
}

export async function updateMember(
  db: Queryable,
  workspaceId: number,
  { uid, email, role }: Pick<Member, 'uid' | 'email' | 'role'>,
): Promise<void> {
  await db.query('update member set email = $3, role = $4 where workspace_id = $1 and uid = $2', [workspaceId, uid, email, role]);
}

export async function deleteMember(db: Queryable, workspaceId: number, uid: string): Promise<void> {
  await db.query('delete from member where workspace_id = $1 and uid = $2', [workspaceId, uid]);
}

export async function countOwners(db: Queryable, workspaceId: number): Promise<number> {
  const { rows } = await db.query<{ owners: string }>(`select count(*) as owners from member where workspace_id = $1 and role = 'owner'`, [
    workspaceId,
  ]);
  return Number(rows[0]?.owners ?? 0);
}

/** Returns the uid of the earliest owner, who cannot be removed until the transaction ends. Null: there is none. */
export async function holdFirstOwner(db: Queryable, workspaceId: number): Promise<string | null> {
  const { rows } = await db.query<{ uid: string }>(
    `select uid from member where workspace_id = $1 and role = 'owner' order by created_at, uid limit 1 for share`,
    [workspaceId],
  );
  return rows[0]?.uid ?? null;
}
