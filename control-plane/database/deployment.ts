// Reads and writes the single row that describes this database.
import type pg from 'pg';
import type { Queryable } from './transaction.ts';

export interface Deployment {
  /** A random name. It changes when a database is restored. */
  readonly epoch: string;
  /** The first epoch of the database. Names of files for this database use it. */
  readonly firstEpoch: string;
  readonly ownerKeyHash: string;
  /** Capabilities that programs must have to work on the database. */
  readonly needs: readonly string[];
}

/** Returns whether the table exists. Works on a database of any version, and on a database of another program. */
export async function hasTable(db: Queryable, name: 'deployment' | 'run_instance'): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name]);
  return rows[0]?.there === true;
}

/**
 * An arbitrary number. A process takes this lock when it starts, or when it writes something that older programs do not
 * understand. The process holds the lock until its transaction ends. Other such processes wait.
 */
const startLock = 7_605_511;

export async function lockStart(client: pg.PoolClient): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [startLock]);
}

export async function readDeployment(db: Queryable): Promise<Deployment | null> {
  const { rows } = await db.query<{ epoch: string; first_epoch: string; owner_key_hash: string; needs: readonly string[] }>(
    'select epoch, coalesce(first_epoch, epoch) as first_epoch, owner_key_hash, needs from deployment',
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { epoch: row.epoch, firstEpoch: row.first_epoch, ownerKeyHash: row.owner_key_hash, needs: row.needs };
}

export async function insertDeployment(
  db: Queryable,
  { epoch, ownerKeyHash }: Pick<Deployment, 'epoch' | 'ownerKeyHash'>,
  createdAt: Date,
): Promise<void> {
  await db.query('insert into deployment (epoch, owner_key_hash, created_at) values ($1, $2, $3)', [epoch, ownerKeyHash, createdAt]);
}

export async function updateEpoch(db: Queryable, epoch: string): Promise<void> {
  await db.query('update deployment set first_epoch = coalesce(first_epoch, epoch), epoch = $1', [epoch]);
}

/** Stores that programs need these capabilities. From now on, programs without them do not start on this database. */
export async function raiseNeeds(db: Queryable, needs: readonly string[]): Promise<void> {
  await db.query(
    `update deployment set needs = array(select distinct unnest(needs || $1::text[]) order by 1) where not needs @> $1::text[]`,
    [needs],
  );
}
