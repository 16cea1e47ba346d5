// Stores the secret of approvals, from which the keys are derived that bind and seal them.
import type { Queryable } from '../../database/transaction.ts';

export interface StoredSecret {
  readonly secret: Uint8Array;
  /** Whether a key of TOLLGATE_SECRET_KEY encrypted it. */
  readonly isSealed: boolean;
}

export async function readSecret(db: Queryable): Promise<StoredSecret | null> {
  const { rows } = await db.query<{ approval_secret: Buffer | null; approval_secret_sealed: boolean }>(
    'select approval_secret, approval_secret_sealed from deployment',
  );
  const [row] = rows;
  return row === undefined || row.approval_secret === null ? null : { secret: row.approval_secret, isSealed: row.approval_secret_sealed };
}

/** Replaces the secret if it is still `before` (null: none). Returns false if another process was first. */
export async function replaceSecret(db: Queryable, before: Uint8Array | null, after: StoredSecret): Promise<boolean> {
  const { rowCount } = await db.query(
    'update deployment set approval_secret = $2, approval_secret_sealed = $3 where approval_secret is not distinct from $1',
    [before, after.secret, after.isSealed],
  );
  return rowCount === 1;
}
