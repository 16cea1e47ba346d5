import type { Actor } from '../rules/actor.ts';
import { badRequest } from '../../base/refusal.ts';
import { deleteSession } from '../store/sessions.ts';
import type { OperationDeps } from '../operation.ts';

/** Ends a session. Its cookie is not valid any more after this call. */
export async function endSession({ pool }: Pick<OperationDeps, 'pool'>, { credential }: Actor): Promise<void> {
  if (credential.kind !== 'session') throw badRequest('a key is not a session; send only the session cookie, or revoke the key');
  await deleteSession(pool, credential.hash);
}
