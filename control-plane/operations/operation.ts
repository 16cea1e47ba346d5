// What every operation has in common. An operation is one verb: it may be asked for by who `access` lets, and knows its
// own action, so that an edge can refuse before it reads a body. A write is one transaction: the revision is raised
// (which also keeps other writes of the workspace out), the change is made, and an admin event says who made it.
import type pg from 'pg';
import type { PolicyDefaults } from '../compile/state.ts';
import { type Action, requireAccess } from '../domain/access.ts';
import type { Actor } from '../domain/actor.ts';
import type { RandomBytes } from '../domain/key.ts';
import { unauthenticated } from '../domain/refusal.ts';
import { insertEvent } from '../store/events.ts';
import { findActor } from '../store/keys.ts';
import { raiseRevision } from '../store/revision.ts';
import { inTransaction } from '../store/transaction.ts';

export interface Deps {
  readonly pool: pg.Pool;
  readonly clock: () => Date;
  readonly random: RandomBytes;
  readonly defaults: PolicyDefaults;
}

export interface Operation<I, R> {
  readonly action: Action;
  (deps: Deps, actor: Actor, input: I): Promise<R>;
}

/** What a write has at hand. */
export interface Write {
  readonly client: pg.PoolClient;
  readonly deps: Deps;
  readonly actor: Actor;
  readonly workspaceId: number;
  readonly now: Date;
  /** The revision this write makes. */
  readonly revision: number;
}

interface Written<R> {
  readonly result: R;
  /** What was changed, e.g. `agent/<id>`. */
  readonly target: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export function readOperation<I, R>(action: Action, run: (deps: Deps, actor: Actor, input: I) => Promise<R>): Operation<I, R> {
  const checked = async (deps: Deps, actor: Actor, input: I): Promise<R> => {
    requireAccess(actor, action);
    return run(deps, actor, input);
  };
  return Object.assign(checked, { action });
}

export function writeOperation<I, R extends object>(
  action: Action,
  run: (write: Write, input: I) => Promise<Written<R>>,
): Operation<I, R & { readonly revision: number }> {
  return readOperation(action, (deps, asker, input) =>
    inTransaction(deps.pool, async (client) => {
      const revision = await raiseRevision(client, asker.workspaceId);
      const now = deps.clock();
      const actor = await stillActor(client, asker, now);
      requireAccess(actor, action);
      const { workspaceId, sub, keyId } = actor;
      const { result, target, detail = {} } = await run({ client, deps, actor, workspaceId, now, revision }, input);
      await insertEvent(client, workspaceId, { at: now, sub, keyId, action, target, revision, detail });
      return { ...result, revision };
    }),
  );
}

/** Who asks, as the writes before this one left them: they may have been removed or demoted while this one waited. */
async function stillActor(client: pg.PoolClient, asker: Actor, now: Date): Promise<Actor> {
  const actor = await findActor(client, asker, now);
  if (actor === null) throw unauthenticated('the API key was revoked or has expired');
  return actor;
}
