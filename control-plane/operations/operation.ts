// What every operation has in common. An operation is one verb: it may be asked for by who `access` lets, and knows its
// own action, so that an edge can refuse before it reads a body. A write is one transaction: the revision is raised
// (which also keeps other writes of the workspace out), the change is made, and an admin event says who made it. Only
// `writeOperation` leaves a revision and an admin event; `readOperation` and `previewOperation` change nothing, and `effectOperation`
// changes what has no revision (runs, tool servers beyond us), or asks a write for the rest.
import { AppError, type Needs } from '@tollgate/proto/contract';
import type pg from 'pg';
import type { PolicyDefaults } from '../compile/state.ts';
import { type Action, requireAccess } from '../domain/access/access.ts';
import type { Actor } from '../domain/access/actor.ts';
import type { RandomBytes } from '../domain/access/key.ts';
import type { ModelCatalogue } from '../domain/agents/catalogue.ts';
import { unauthenticated } from '../domain/refusal.ts';
import type { Discover } from '../runs/mcp/discover.ts';
import type { Reach } from '../runs/mcp/reach.ts';
import { findActor } from '../store/actors.ts';
import { findChangedSince, insertEvents } from '../store/events.ts';
import type { Authorship } from '../store/policies.ts';
import { raiseRevision } from '../store/revision.ts';
import type { Sealer } from '../store/sealed.ts';
import { inTransaction } from '../store/transaction.ts';
import type { HeadWatch } from '../store/watch-heads.ts';
import type { Notary } from './audit/notary.ts';

export interface Deps {
  readonly pool: pg.Pool;
  /** For reads that may be slow: however many there are, `pool` has connections for all else. */
  readonly readingPool: pg.Pool;
  /** Tells live streams that there is more. */
  readonly heads: HeadWatch;
  readonly clock: () => Date;
  readonly random: RandomBytes;
  readonly defaults: PolicyDefaults;
  /** What it takes to understand policy. */
  readonly needs: Needs;
  /** The models that agents may run on. */
  readonly catalogue: ModelCatalogue;
  /** How far we go for tool servers. */
  readonly reach: Reach;
  readonly discover: Discover;
  /** Encrypts tenants' secrets, and the key of our authority; null while the operator has given no key for that. */
  readonly sealer: Sealer | null;
  /** By which sidecars check this control plane, as PEM. Throws a refusal where there are none, or none at hand. */
  readonly authorities: () => Promise<string>;
  /** Signs checkpoints of the audit log. */
  readonly notary: Notary;
  /** What a user's runs may cost in a UTC day, in µ¢. */
  readonly dailyCap: number;
}

export interface Operation<I, R> {
  readonly action: Action;
  (deps: Deps, actor: Actor, input: I, circumstances?: Circumstances): Promise<R>;
}

/** How something was asked for, besides what. */
interface Circumstances {
  /** A write holds only while nothing that it changes was changed after this revision. */
  readonly ifMatch?: number | null;
  /** Whoever asked accepts that sidecars of an older version deny what the write is about. */
  readonly force?: boolean;
  /** Whoever asked has gone, or this program is stopping. */
  readonly signal?: AbortSignal;
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
  /** As `Circumstances` says. */
  readonly force: boolean;
}

/** For the history of what it writes. */
export const authorship = ({ revision, actor, now }: Pick<Write, 'revision' | 'actor' | 'now'>): Authorship => ({
  revision,
  sub: actor.sub,
  at: now,
});

interface Written<R> {
  readonly result: R;
  /** What was changed, e.g. `agent/<id>`; one event for each. */
  readonly target: string | readonly string[];
  readonly detail?: Readonly<Record<string, unknown>>;
  /** False: it changed nothing. It leaves no trace, and no new revision. */
  readonly kept?: boolean;
}

function checkedOperation<I, R>(
  action: Action,
  run: (deps: Deps, actor: Actor, input: I, circumstances: Circumstances) => Promise<R>,
): Operation<I, R> {
  const checked = async (deps: Deps, actor: Actor, input: I, circumstances: Circumstances = {}): Promise<R> => {
    requireAccess(actor, action);
    return run(deps, actor, input, circumstances);
  };
  return Object.assign(checked, { action });
}

/** Changes nothing, here or elsewhere. */
export const readOperation = checkedOperation;

/** Does something that no revision tells of: here to rows without one, or beyond us, or by a write of its own. */
export const effectOperation = checkedOperation;

export function writeOperation<I, R extends object>(
  action: Action,
  run: (write: Write, input: I) => Promise<Written<R>>,
): Operation<I, R & { readonly revision: number }> {
  return checkedOperation(action, async (deps, asker, input, { ifMatch = null, force = false }) => {
    const write = async (client: pg.PoolClient) => {
      const revision = await raiseRevision(client, asker.workspaceId);
      const now = deps.clock();
      const actor = await stillActor(client, asker, now);
      requireAccess(actor, action);
      const { workspaceId, sub, keyId } = actor;
      const { result, target, detail = {}, kept = true } = await run({ client, deps, actor, workspaceId, now, revision, force }, input);
      const targets = [target].flat();
      if (ifMatch !== null) await requireUnchanged(client, workspaceId, targets, { since: ifMatch, present: revision - 1 });
      if (kept) await insertEvents(client, workspaceId, { at: now, sub, keyId, action, targets, revision, detail });
      return { kept, answer: { ...result, revision: kept ? revision : revision - 1 } };
    };
    return (await inTransaction(deps.pool, write, 'write', ({ kept }) => kept)).answer;
  });
}

/** What the write would answer, by a transaction that can write nothing. Its revision is the present one. */
export function previewOperation<I, R extends object>(
  action: Action,
  run: (write: Write, input: I) => Promise<Written<R>>,
): Operation<I, R & { readonly revision: number }> {
  return checkedOperation(action, (deps, asker, input, { ifMatch = null, force = false }) => {
    const preview = async (client: pg.PoolClient) => {
      const now = deps.clock();
      const actor = await stillActor(client, asker, now);
      requireAccess(actor, action);
      const { workspaceId, revision: present } = actor;
      const { result, target } = await run({ client, deps, actor, workspaceId, now, revision: present + 1, force }, input);
      if (ifMatch !== null) await requireUnchanged(client, workspaceId, [target].flat(), { since: ifMatch, present });
      return { ...result, revision: present };
    };
    return inTransaction(deps.pool, preview, 'read');
  });
}

interface Span {
  readonly since: number;
  readonly present: number;
}

async function requireUnchanged(
  client: pg.PoolClient,
  workspaceId: number,
  targets: readonly string[],
  { since, present }: Span,
): Promise<void> {
  // Nobody has read what is yet to be: it was another workspace's, or the database is an older copy of itself.
  if (since > present) {
    throw new AppError({
      code: 'stale_revision',
      publicMessage: `revision ${since} of If-Match is ahead of the present one, ${present}; read again`,
    });
  }
  const changed = await findChangedSince(client, workspaceId, targets, since);
  if (changed === null) return;
  throw new AppError({
    code: 'stale_revision',
    publicMessage: `${changed.target} was changed at revision ${changed.revision}, after revision ${since} of If-Match; read it again`,
  });
}

/** Who asks, as the writes before this one left them: they may have been removed or demoted while this one waited. */
async function stillActor(client: pg.PoolClient, asker: Actor, now: Date): Promise<Actor> {
  const actor = await findActor(client, asker.credential, now);
  if (actor === null) throw unauthenticated('the API key or session was revoked or has expired');
  return actor;
}
