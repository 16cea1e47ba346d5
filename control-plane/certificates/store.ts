// Stores the authorities that sign certificates of control planes and sidecars. Their keys are already sealed when they
// arrive here.
import type pg from 'pg';
import type { Queryable } from '../database/transaction.ts';

export interface StoredAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly sealedKey: Uint8Array;
  /** ISO 8601. */
  readonly madeAt: string;
}

/**
 * An arbitrary number. A process that may add an authority holds this lock until its transaction ends, and other
 * processes wait.
 */
const authorityLock = 7_605_522;

export async function lockAuthorities(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [authorityLock]);
}

/** Lists the authorities, the oldest first. */
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

/** Replaces the sealed key of an authority. Returns false if another process has replaced it first. */
export async function updateSealedKey(db: Queryable, { sealedKey }: StoredAuthority, resealedKey: Uint8Array): Promise<boolean> {
  const { rowCount } = await db.query('update authority set sealed_key = $2 where sealed_key = $1', [sealedKey, resealedKey]);
  return rowCount === 1;
}

/**
 * Deletes authorities that have expired by both clocks, that of this process and that of the database. A clock that is
 * ahead must not delete authorities that are still used.
 */
export async function deleteExpiredAuthorities(db: Queryable, now: Date): Promise<void> {
  await db.query('delete from authority where expires_at < least($1, now())', [now]);
}
