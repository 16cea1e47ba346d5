// Finds the actor of a key or a session at an instant. A key depends on a member: the member that the key acts as, or
// else the member who made the key. A session depends on a key, or on the member that an issuer recognised. A
// credential is invalid if the member or key on which it depends is not valid any more.
import { isRole } from '@tollgate/proto/contract';
import { scopesOfMember } from '../rules/access.ts';
import type { Actor, Credential } from '../rules/actor.ts';
import { subjectOf } from '../rules/key.ts';
import { type PinRow, pinsFromRow } from './keys.ts';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

interface ActorRow extends PinRow {
  readonly workspace_id: string;
  readonly slug: string;
  readonly epoch: string;
  readonly revision: string;
  readonly hash: string;
  readonly ends_at: Date | null;
  readonly key_id: string | null;
  readonly session_id: string | null;
  readonly scopes: readonly string[] | null;
  readonly uid: string | null;
  readonly member: string;
  readonly role: string;
  readonly expires_at: Date | null;
}

const common =
  'w.slug, w.revision, (select epoch from deployment) as epoch, k.id as key_id, k.scopes, m.uid as member, m.role, k.expires_at, k.pin_tier, k.pin_agent, k.pin_client';
const keyStands = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)';

const selects: Readonly<Record<Credential['kind'], string>> = {
  key: `select k.workspace_id, k.hash, k.expires_at as ends_at, null as session_id, k.uid, ${common}
    from api_key k
    join member m on m.workspace_id = k.workspace_id and m.uid = coalesce(k.uid, k.made_by)
    join workspace w on w.id = k.workspace_id
    where k.hash = $1 and ${keyStands}`,
  session: `select s.workspace_id, s.hash, s.expires_at as ends_at, s.id as session_id, coalesce(s.uid, k.uid) as uid, ${common}
    from session s
    left join api_key k on k.workspace_id = s.workspace_id and k.id = s.key_id
    join member m on m.workspace_id = s.workspace_id and m.uid = coalesce(s.uid, k.uid, k.made_by)
    join workspace w on w.id = s.workspace_id
    where s.hash = $1 and s.expires_at > $2 and (s.key_id is null or (${keyStands}))`,
};

function actorFromRow(kind: Credential['kind'], row: ActorRow): Actor {
  const role = rowIs(isRole, row.role);
  const { key_id: keyId, uid, member } = row;
  return {
    workspaceId: Number(row.workspace_id),
    slug: row.slug,
    epoch: row.epoch,
    revision: Number(row.revision),
    credential: { kind, hash: row.hash, expiresAt: row.ends_at },
    keyId: keyId ?? `session:${row.session_id}`,
    onMember: keyId === null,
    sub: keyId === null ? member : subjectOf(keyId, uid),
    uid,
    memberUid: member,
    role,
    scopes: row.scopes ?? scopesOfMember(role),
    pins: pinsFromRow(row),
    expiresAt: row.expires_at,
  };
}

/**
 * Returns the actor. Null if no credential with this hash is valid at `now`: it is unknown, revoked, rotated, ended or
 * expired, or its member no longer exists.
 */
export async function findActor(db: Queryable, { kind, hash }: Pick<Credential, 'kind' | 'hash'>, now: Date): Promise<Actor | null> {
  const { rows } = await db.query<ActorRow>(selects[kind], [hash, now]);
  return rows[0] === undefined ? null : actorFromRow(kind, rows[0]);
}
