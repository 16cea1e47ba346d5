// Keys. Only hashes are here.
import { isRole, isTier } from '@tollgate/proto/contract';
import type { WorkspaceKey } from '../compile/state.ts';
import type { Actor } from '../domain/actor.ts';
import { type ApiKey, type FreshSecret, type KeyPins, subjectOf } from '../domain/key.ts';
import { rowIs } from './row.ts';
import type { Queryable } from './transaction.ts';

interface PinRow {
  readonly pin_tier: string | null;
  readonly pin_agent: string | null;
  readonly pin_client: string | null;
}

interface KeyRow extends PinRow {
  readonly id: string;
  readonly name: string;
  readonly last4: string;
  readonly scopes: readonly string[];
  readonly uid: string | null;
  readonly made_by: string;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly created_at: Date;
}

const columns = 'id, name, last4, scopes, uid, made_by, pin_tier, pin_agent, pin_client, expires_at, revoked_at, created_at';

const pinsFromRow = (row: PinRow): KeyPins => ({
  tier: row.pin_tier === null ? null : rowIs(isTier, row.pin_tier),
  agent: row.pin_agent,
  client: row.pin_client,
});

const keyFromRow = (row: KeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  last4: row.last4,
  scopes: row.scopes,
  uid: row.uid,
  madeBy: row.made_by,
  pins: pinsFromRow(row),
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  createdAt: row.created_at,
});

export async function listKeys(db: Queryable, workspaceId: number): Promise<readonly ApiKey[]> {
  const { rows } = await db.query<KeyRow>(`select ${columns} from api_key where workspace_id = $1 order by created_at desc, id`, [
    workspaceId,
  ]);
  return rows.map(keyFromRow);
}

export async function findKey(db: Queryable, workspaceId: number, id: string): Promise<ApiKey | null> {
  const { rows } = await db.query<KeyRow>(`select ${columns} from api_key where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0] === undefined ? null : keyFromRow(rows[0]);
}

export async function insertKey(db: Queryable, workspaceId: number, key: ApiKey, secret: FreshSecret): Promise<void> {
  const { id, name, scopes, uid, madeBy, pins, expiresAt, createdAt } = key;
  await db.query(
    `insert into api_key (workspace_id, id, hash, last4, name, scopes, uid, made_by, pin_tier, pin_agent, pin_client, expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [workspaceId, id, secret.hash, secret.last4, name, scopes, uid, madeBy, pins.tier, pins.agent, pins.client, expiresAt, createdAt],
  );
}

export async function replaceSecret(db: Queryable, workspaceId: number, id: string, secret: FreshSecret): Promise<void> {
  await db.query('update api_key set hash = $3, last4 = $4 where workspace_id = $1 and id = $2', [
    workspaceId,
    id,
    secret.hash,
    secret.last4,
  ]);
}

export async function revokeKey(db: Queryable, workspaceId: number, id: string, at: Date): Promise<void> {
  await db.query('update api_key set revoked_at = $3 where workspace_id = $1 and id = $2 and revoked_at is null', [workspaceId, id, at]);
}

/** All keys that act as the member or have their role from them, so that none wakes up when the uid returns. */
export async function revokeKeysOf(db: Queryable, workspaceId: number, uid: string, at: Date): Promise<void> {
  await db.query('update api_key set revoked_at = $3 where workspace_id = $1 and coalesce(uid, made_by) = $2 and revoked_at is null', [
    workspaceId,
    uid,
    at,
  ]);
}

/** A key stands on its member: the one it acts as, else the one who made it. Without that member it is nothing. */
const standing = `api_key k join member m on m.workspace_id = k.workspace_id and m.uid = coalesce(k.uid, k.made_by)`;

interface ActorRow extends PinRow {
  readonly workspace_id: string;
  readonly slug: string;
  readonly id: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly uid: string | null;
  readonly member: string;
  readonly role: string;
  readonly expires_at: Date | null;
}

const valid = (now: string): string => `k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})`;
const selectActor = `select k.workspace_id, w.slug, k.id, k.hash, k.scopes, k.uid, m.uid as member, m.role,
  k.expires_at, k.pin_tier, k.pin_agent, k.pin_client
  from ${standing} join workspace w on w.id = k.workspace_id`;

const actorFromRow = (row: ActorRow): Actor => ({
  workspaceId: Number(row.workspace_id),
  slug: row.slug,
  keyId: row.id,
  sub: subjectOf(row.id, row.uid),
  uid: row.uid,
  memberUid: row.member,
  role: rowIs(isRole, row.role),
  scopes: row.scopes,
  pins: pinsFromRow(row),
  expiresAt: row.expires_at,
});

/** Whom a key's hash stands for at `now`, and the hash itself; null where it is unknown, revoked, expired or its member is gone. */
export async function findCredential(
  db: Queryable,
  hash: string,
  now: Date,
): Promise<{ readonly actor: Actor; readonly hash: string } | null> {
  const { rows } = await db.query<ActorRow>(`${selectActor} where k.hash = $1 and ${valid('$2')}`, [hash, now]);
  return rows[0] === undefined ? null : { actor: actorFromRow(rows[0]), hash: rows[0].hash };
}

/** The same for a key that was recognised before, as it is now. */
export async function findActor(
  db: Queryable,
  { workspaceId, keyId }: Pick<Actor, 'workspaceId' | 'keyId'>,
  now: Date,
): Promise<Actor | null> {
  const { rows } = await db.query<ActorRow>(`${selectActor} where k.workspace_id = $1 and k.id = $2 and ${valid('$3')}`, [
    workspaceId,
    keyId,
    now,
  ]);
  return rows[0] === undefined ? null : actorFromRow(rows[0]);
}

/** For the compiler: every key that is not revoked and whose member is still one. */
export async function listStandingKeys(db: Queryable, workspaceId: number): Promise<readonly WorkspaceKey[]> {
  const { rows } = await db.query<
    PinRow & { id: string; hash: string; scopes: readonly string[]; uid: string | null; role: string; expires_at: Date | null }
  >(
    `select k.id, k.hash, k.scopes, k.uid, m.role, k.expires_at, k.pin_tier, k.pin_agent, k.pin_client
     from ${standing} where k.workspace_id = $1 and k.revoked_at is null order by k.id`,
    [workspaceId],
  );
  return rows.map((row) => ({
    id: row.id,
    hash: row.hash,
    scopes: row.scopes,
    uid: row.uid,
    role: rowIs(isRole, row.role),
    expiresAt: row.expires_at,
    pins: pinsFromRow(row),
  }));
}
