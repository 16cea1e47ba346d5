// Stores keys. Only their hashes are stored.
import { isRole, isTier, roles } from '@tollgate/proto/contract';
import type { WorkspaceKey } from '@tollgate/sidecar/engine/compile';
import type { PageWanted } from '../../base/page.ts';
import type { ApiKey, FreshSecret, KeyPins, KeyPosition } from '../rules/key.ts';
import { among, rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

export interface PinRow {
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

export const pinsFromRow = (row: PinRow): KeyPins => ({
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

/** Lists keys, newest first. */
export async function listKeys(db: Queryable, workspaceId: number, { limit, after }: PageWanted<KeyPosition>): Promise<readonly ApiKey[]> {
  const { rows } = await db.query<KeyRow>(
    `select ${columns} from api_key where workspace_id = $1
       and ($2::timestamptz is null or created_at < $2 or (created_at = $2 and id > $3))
     order by created_at desc, id limit $4`,
    [workspaceId, after?.createdAt, after?.id, limit],
  );
  return rows.map(keyFromRow);
}

export async function findKey(db: Queryable, workspaceId: number, id: string): Promise<ApiKey | null> {
  const { rows } = await db.query<KeyRow>(`select ${columns} from api_key where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0] === undefined ? null : keyFromRow(rows[0]);
}

export async function insertKey(db: Queryable, workspaceId: number, key: ApiKey, secret: FreshSecret): Promise<void> {
  const { id, name, scopes, uid, madeBy, pins, expiresAt, createdAt } = key;
  await db.query(
    `insert into api_key (workspace_id, id, hash, last4, name, scopes, uid, made_by, secret_by, pin_tier, pin_agent, pin_client, expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13)`,
    [workspaceId, id, secret.hash, secret.last4, name, scopes, uid, madeBy, pins.tier, pins.agent, pins.client, expiresAt, createdAt],
  );
}

/** Replaces the secret of a key. `by`: the member who receives the new secret. */
export async function replaceSecret(db: Queryable, workspaceId: number, id: string, secret: FreshSecret, by: string): Promise<void> {
  await db.query('update api_key set hash = $3, last4 = $4, secret_by = $5 where workspace_id = $1 and id = $2', [
    workspaceId,
    id,
    secret.hash,
    secret.last4,
    by,
  ]);
}

export async function replaceScopes(db: Queryable, workspaceId: number, id: string, scopes: readonly string[]): Promise<void> {
  await db.query('update api_key set scopes = $3 where workspace_id = $1 and id = $2', [workspaceId, id, scopes]);
}

export async function revokeKey(db: Queryable, workspaceId: number, id: string, at: Date): Promise<void> {
  await db.query('update api_key set revoked_at = $3 where workspace_id = $1 and id = $2 and revoked_at is null', [workspaceId, id, at]);
}

/**
 * Locks the key against changes until the transaction ends. Returns false if no key has this hash, or if it is revoked.
 */
export async function holdKey(db: Queryable, hash: string): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from api_key where hash = $1 and revoked_at is null for share', [hash]);
  return rowCount === 1;
}

/**
 * Conditions for a key that ends with the member ($2): it acts as the member, its role depends on the member, or the
 * member was shown its secret.
 */
export const isOfMember = '(coalesce(uid, made_by) = $2 or secret_by = $2)';

/** Revokes all keys of the member, so that none becomes valid again if the uid is used again. */
export async function revokeKeysOf(db: Queryable, workspaceId: number, uid: string, at: Date): Promise<void> {
  await db.query(`update api_key set revoked_at = $3 where workspace_id = $1 and ${isOfMember} and revoked_at is null`, [
    workspaceId,
    uid,
    at,
  ]);
}

/**
 * Revokes the keys that depend on the member and whose secret was shown to a person with a lower role, or to a person
 * who is no longer a member. That person may have kept the secret. Returns the ids.
 */
export async function revokeKeysFromBelow(db: Queryable, workspaceId: number, uid: string, at: Date): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `update api_key k set revoked_at = $3 from member m
     where k.workspace_id = $1 and coalesce(k.uid, k.made_by) = $2 and k.revoked_at is null and m.workspace_id = $1 and m.uid = $2
       and not exists (select 1 from member knows where knows.workspace_id = $1 and knows.uid = k.secret_by
         and array_position($4::text[], knows.role) <= array_position($4::text[], m.role))
     returning k.id`,
    [workspaceId, uid, at, roles],
  );
  return rows.map(({ id }) => id);
}

/**
 * A key depends on its member: the member that it acts as, or else the member who made it. Without that member, the key
 * is invalid.
 */
const standing = `api_key k join member m on m.workspace_id = k.workspace_id and m.uid = coalesce(k.uid, k.made_by)`;

/** How many bytes of the hash of a key `readKeyPrefixes` returns: two keys of a deployment have the same ones by accident only. */
export const prefixBytes = 6;

/** Returns the first bytes of the hashes of all keys of all workspaces that are valid at `now`, sorted, one after the other. */
export async function readKeyPrefixes(db: Queryable, now: Date): Promise<Buffer> {
  const { rows } = await db.query<{ prefixes: Buffer | null }>(
    `select string_agg(decode(left(k.hash, ${2 * prefixBytes}), 'hex'), ''::bytea order by k.hash) as prefixes
     from ${standing} where k.revoked_at is null and (k.expires_at is null or k.expires_at > $1)`,
    [now],
  );
  return rows[0]?.prefixes ?? Buffer.alloc(0);
}

/**
 * Lists keys for the compiler: those that are not revoked and whose member still exists. `ids`: only these keys; null:
 * all keys.
 */
export async function listStandingKeys(
  db: Queryable,
  workspaceId: number,
  ids: readonly string[] | null = null,
): Promise<readonly WorkspaceKey[]> {
  const { rows } = await db.query<
    PinRow & { id: string; hash: string; scopes: readonly string[]; uid: string | null; role: string; expires_at: Date | null }
  >(
    `select k.id, k.hash, k.scopes, k.uid, m.role, k.expires_at, k.pin_tier, k.pin_agent, k.pin_client
     from ${standing} where k.workspace_id = $1 and k.revoked_at is null and ${among('k.id', '$2')} order by k.id`,
    [workspaceId, ids],
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
