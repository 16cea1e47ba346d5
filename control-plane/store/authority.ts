// The authorities that vouch for control planes and sidecars. Their keys are sealed before they come here.
import type pg from 'pg';
import type { Queryable } from './transaction.ts';

export interface StoredAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly sealedKey: Uint8Array;
  /** ISO 8601. */
  readonly madeAt: string;
}

/** Any number; who may add one holds it until their transaction ends, and the others wait. */
const authorityLock = 7_605_522;

export async function lockAuthorities(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [authorityLock]);
}

/** The oldest one first. */
export async function listAuthorities(db: Queryable): Promise<readonly StoredAuthority[]> {
  const { rows } = await db.query<{ certificate: string; sealed_key: Buffer; made_at: Date }>(
    'select certificate, sealed_key, made_at from authority order by made_at, id',
  );
  return rows.map(({ certificate, sealed_key: sealedKey, made_at: madeAt }) => ({ certificate, sealedKey, madeAt: madeAt.toISOString() }));
}

export async function insertAuthority(
  db: Queryable,
  { certificate, sealedKey, madeAt, expiresAt }: StoredAuthority & { readonly expiresAt: Date },
): Promise<void> {
  await db.query('insert into authority (certificate, sealed_key, made_at, expires_at) values ($1, $2, $3, $4)', [
    certificate,
    sealedKey,
    madeAt,
    expiresAt,
  ]);
}

/** False where somebody else has replaced it. */
export async function updateSealedKey(db: Queryable, { sealedKey }: StoredAuthority, anew: Uint8Array): Promise<boolean> {
  const { rowCount } = await db.query('update authority set sealed_key = $2 where sealed_key = $1', [sealedKey, anew]);
  return rowCount === 1;
}

/** By both clocks: one that is ahead removes nothing that others live by. */
export async function deleteExpiredAuthorities(db: Queryable, now: Date): Promise<void> {
  await db.query('delete from authority where expires_at < least($1, now())', [now]);
}
