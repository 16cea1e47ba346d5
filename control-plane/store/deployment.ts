// The one row that says what this database is.
import type pg from 'pg';
import type { Queryable } from './transaction.ts';

export interface Deployment {
  /** Random; changes when a database is restored. */
  readonly epoch: string;
  readonly ownerKeyHash: string;
}

/** Any number; whoever starts first holds it until its transaction ends, and the others wait. */
const startLock = 7_605_511;

export async function lockStart(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [startLock]);
}

export async function readDeployment(db: Queryable): Promise<Deployment | null> {
  const { rows } = await db.query<{ epoch: string; owner_key_hash: string }>('select epoch, owner_key_hash from deployment');
  return rows[0] === undefined ? null : { epoch: rows[0].epoch, ownerKeyHash: rows[0].owner_key_hash };
}

export async function insertDeployment(db: Queryable, { epoch, ownerKeyHash }: Deployment, createdAt: Date): Promise<void> {
  await db.query('insert into deployment (epoch, owner_key_hash, created_at) values ($1, $2, $3)', [epoch, ownerKeyHash, createdAt]);
}
