// Checks during long answers whether the caller may still receive them. A revoked key, an ended session, a removed
// member or a lost role takes effect after at most `recheckMs` plus the time of one query.
import { type Action, requireAccess } from '../rules/access.ts';
import type { Actor } from '../rules/actor.ts';
import { unauthenticated } from '../../base/refusal.ts';
import { stillStands } from './authenticate.ts';
import type { OperationDeps } from '../operation.ts';

export const recheckMs = 2_000;

/**
 * Returns a function to be called before each item. It throws a refusal if the caller may no longer receive the answer.
 * It queries the database only if the last check is at least `everyMs` old.
 */
export function createStanding(
  deps: Pick<OperationDeps, 'pool' | 'clock'>,
  asker: Actor,
  action: Action,
  everyMs = recheckMs,
): () => Promise<void> {
  let lookedAt = performance.now();
  return async () => {
    const now = performance.now();
    if (now - lookedAt < everyMs) return;
    const actor = await stillStands(deps, asker);
    if (actor === null) throw unauthenticated(`the ${asker.credential.kind} was revoked or has expired`);
    requireAccess(actor, action);
    lookedAt = now;
  };
}
