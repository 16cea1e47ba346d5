// Opens console sessions, for a key or for a member. If the key is revoked or the member is removed at the same time,
// no session remains: either the opening waits and is refused, or the revocation or removal ends the new session.
import type pg from 'pg';
import type { Actor } from '../rules/actor.ts';
import { makeId } from '../rules/key.ts';
import { badRequest, unauthenticated } from '../../base/refusal.ts';
import { csrfOf, hashToken, makeToken, sessionMs } from '../rules/session.ts';
import { holdKey } from '../store/keys.ts';
import { insertSession, type NewSession } from '../store/sessions.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { OperationDeps } from '../operation.ts';

type SessionDeps = Pick<OperationDeps, 'pool' | 'clock' | 'random'>;

export interface OpenSession {
  /** The token for the cookie. It is used for nothing else. */
  readonly token: string;
  readonly csrf: string;
  readonly expiresAt: Date;
}

/** Opens a session for a key. The session has the key's scopes, pins and role, and ends with the key. */
export function openSession(
  deps: SessionDeps,
  { credential, keyId, workspaceId }: Pick<Actor, 'credential' | 'keyId' | 'workspaceId'>,
): Promise<OpenSession> {
  if (credential.kind !== 'key') throw badRequest('a session is opened with a key: Authorization: Bearer gsk_<workspace>_<random>');
  return inTransaction(deps.pool, async (client) => {
    if (!(await holdKey(client, credential.hash))) throw unauthenticated('the API key was revoked');
    return insertFresh(deps, client, { workspaceId, on: { keyId }, notAfter: credential.expiresAt });
  });
}

/** Creates a session in the caller's transaction. */
export async function insertFresh(
  { clock, random }: SessionDeps,
  client: pg.PoolClient,
  { workspaceId, on, notAfter }: Pick<NewSession, 'on'> & { readonly workspaceId: number; readonly notAfter: Date | null },
): Promise<OpenSession> {
  const now = clock();
  const token = makeToken(random);
  const end = now.getTime() + sessionMs;
  const expiresAt = new Date(Math.min(end, notAfter?.getTime() ?? end));
  await insertSession(client, workspaceId, { id: makeId(random), hash: hashToken(token), on, expiresAt, createdAt: now });
  return { token, csrf: csrfOf(token), expiresAt };
}
