// For answers that go on: whether who asked may still have them. A revoked key, an ended session, a member who left or
// lost the role is felt within `recheckMs` and a query.
import { type Action, requireAccess } from '../../domain/access/access.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { unauthenticated } from '../../domain/refusal.ts';
import { stillStands } from './authenticate.ts';
import type { Deps } from '../operation.ts';

export const recheckMs = 2_000;

/** To be asked before each item; throws the refusal. Costs nothing until the last look is `everyMs` old. */
export function createStanding(deps: Pick<Deps, 'pool' | 'clock'>, asker: Actor, action: Action, everyMs = recheckMs): () => Promise<void> {
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
