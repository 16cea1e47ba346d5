// Stores sign-ins that have begun. Each can be used only once.
import { type SignIn, signInsMax } from '../rules/sign-in.ts';
import type { Queryable } from '../../database/transaction.ts';

/**
 * Stores a sign-in and deletes the oldest ones above the maximum. New sign-ins are never refused, so a client that
 * starts many of them does not stop others from signing in.
 */
export async function insertSignIn(db: Queryable, signIn: SignIn): Promise<void> {
  const { stateHash, browserHash, workspace, verifier, nonce, returnTo, expiresAt } = signIn;
  await db.query('delete from sign_in where state_hash in (select state_hash from sign_in order by expires_at desc offset $1)', [
    signInsMax - 1,
  ]);
  await db.query(
    `insert into sign_in (state_hash, browser_hash, workspace, verifier, nonce, return_to, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [stateHash, browserHash, workspace, verifier, nonce, returnTo, expiresAt],
  );
}

/**
 * Returns a sign-in and deletes it. Null if this browser has no such sign-in, or if it was already used or has expired.
 */
export async function takeSignIn(
  db: Queryable,
  { stateHash, browserHash }: Pick<SignIn, 'stateHash' | 'browserHash'>,
  now: Date,
): Promise<SignIn | null> {
  const { rows } = await db.query<{ workspace: string; verifier: string; nonce: string; return_to: string; expires_at: Date }>(
    `delete from sign_in where state_hash = $1 and browser_hash = $2 and expires_at > $3
     returning workspace, verifier, nonce, return_to, expires_at`,
    [stateHash, browserHash, now],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { workspace, verifier, nonce, return_to: returnTo, expires_at: expiresAt } = row;
  return { stateHash, browserHash, workspace, verifier, nonce, returnTo, expiresAt };
}

export async function deleteExpiredSignIns(db: Queryable, now: Date): Promise<void> {
  await db.query('delete from sign_in where expires_at <= $1', [now]);
}
