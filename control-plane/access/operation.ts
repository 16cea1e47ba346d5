// Checks access for all operations, and runs each write in a transaction. An operation is one verb. Only actors that
// `access` permits can use it. An operation knows its own action, so REST and gRPC can refuse a request before they
// read its body. A write waits for its turn among the writes of its workspace. It is one transaction: it raises the
// revision (this also locks out other writes of the workspace), makes the change, and writes an admin event that names
// the actor. Only `writeOperation` leaves a revision and an admin event. `readOperation` and `previewOperation` change
// nothing. `effectOperation` changes things that have no revision (runs, tool servers outside of this system); for
// other changes it calls a write.
import { AppError, type Needs } from '@tollgate/proto/contract';
import type { PolicyDefaults } from '@tollgate/sidecar/engine/compile';
import type pg from 'pg';
import { type Action, requireAccess } from './rules/access.ts';
import type { Actor } from './rules/actor.ts';
import type { RandomBytes } from './rules/key.ts';
import type { ApprovalParts } from '../approvals/operations/parts.ts';
import type { ModelCatalogue } from '../agents/rules/catalogue.ts';
import { unauthenticated } from '../base/refusal.ts';
import type { KeyLookups } from './operations/key-lookups.ts';
import type { Discover } from '../runs/mcp/discover.ts';
import type { Reach } from '../runs/mcp/reach.ts';
import { findActor } from './store/actors.ts';
import { findChangedSince, insertEvents } from '../audit/store/events.ts';
import type { Authorship } from '../policies/store/policies.ts';
import type { RevisionChanges } from '../publish/revision-changes.ts';
import { raiseRevision } from '../workspaces/store/revision.ts';
import type { Sealer } from '../tool-servers/store/sealed.ts';
import { inTransaction } from '../database/transaction.ts';
import { inWriteTurn } from '../database/write-turns.ts';
import type { HeadWatch } from '../audit/store/watch-heads.ts';
import type { Notary } from '../audit/operations/notary.ts';

export interface OperationDeps {
  readonly pool: pg.Pool;
  /**
   * Connections for reads that can be slow. Slow reads never use the connections of `pool`, so these stay free for
   * everything else.
   */
  readonly readingPool: pg.Pool;
  /** Notifies live streams of new entries. */
  readonly heads: HeadWatch;
  /** Notifies live streams of changes of a workspace. */
  readonly revisions: RevisionChanges;
  readonly clock: () => Date;
  /** Finds the actors of keys. */
  readonly keyLookups: KeyLookups;
  readonly random: RandomBytes;
  readonly defaults: PolicyDefaults;
  /** The capabilities that are needed to understand a policy. */
  readonly needs: Needs;
  /** The models on which agents can run. */
  readonly catalogue: ModelCatalogue;
  /** Which tool servers may be reached. */
  readonly reach: Reach;
  readonly discover: Discover;
  /**
   * Encrypts secrets of tenants and the private key of our certificate authority. Null if the operator has not
   * configured a key for this encryption.
   */
  readonly sealer: Sealer | null;
  /**
   * Returns the certificate authorities, as PEM, with which sidecars verify this control plane. Throws a refusal if
   * there are none, or if they are temporarily not available.
   */
  readonly authorities: () => Promise<string>;
  /** Signs checkpoints of the audit log. */
  readonly notary: Notary;
  /** What the runs of one user may cost in a UTC day, in µ¢. */
  readonly dailyCap: number;
  /** The keys, counts and changes of approvals. */
  readonly approvals: ApprovalParts;
}

export interface Operation<I, R> {
  readonly action: Action;
  (deps: OperationDeps, actor: Actor, input: I, circumstances?: Circumstances): Promise<R>;
}

/** Optional conditions of a call, in addition to its input. */
interface Circumstances {
  /** The write succeeds only if its targets are unchanged since this revision. */
  readonly ifMatch?: number | null;
  /** The caller accepts that sidecars of an older version deny the calls that the write concerns. */
  readonly force?: boolean;
  /** Aborted when the caller has disconnected or this program is stopping. */
  readonly signal?: AbortSignal;
}

/** The context of a write. */
export interface Write {
  readonly client: pg.PoolClient;
  readonly deps: OperationDeps;
  readonly actor: Actor;
  readonly workspaceId: number;
  readonly now: Date;
  /** The revision that this write creates. */
  readonly revision: number;
  /** See `force` of `Circumstances`. */
  readonly force: boolean;
}

/** Returns who made a write, and when. It is stored in the history of the changed documents. */
export const authorship = ({ revision, actor, now }: Pick<Write, 'revision' | 'actor' | 'now'>): Authorship => ({
  revision,
  sub: actor.sub,
  at: now,
});

interface OperationResult<R> {
  readonly result: R;
  /** What was changed, e.g. `agent/<id>`. Each target gets one event. */
  readonly target: string | readonly string[];
  readonly detail?: Readonly<Record<string, unknown>>;
  /** False: the write changed nothing. It leaves no event and no new revision. */
  readonly kept?: boolean;
}

function checkedOperation<I, R>(
  action: Action,
  run: (deps: OperationDeps, actor: Actor, input: I, circumstances: Circumstances) => Promise<R>,
): Operation<I, R> {
  const checked = async (deps: OperationDeps, actor: Actor, input: I, circumstances: Circumstances = {}): Promise<R> => {
    requireAccess(actor, action);
    return run(deps, actor, input, circumstances);
  };
  return Object.assign(checked, { action });
}

/** For operations that change nothing, neither in this system nor outside of it. */
export const readOperation = checkedOperation;

/**
 * For operations whose own effect has no revision: they change rows without a revision, change external systems, or
 * call a separate write.
 */
export const effectOperation = checkedOperation;

export function writeOperation<I, R extends object>(
  action: Action,
  run: (write: Write, input: I) => Promise<OperationResult<R>>,
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
    const { pool } = deps;
    const { answer } = await inWriteTurn(pool, asker.workspaceId, () => inTransaction(pool, write, 'write', ({ kept }) => kept));
    // The key that this write made may be used as soon as the answer is sent, before the notification of it arrives.
    deps.keyLookups.outdate();
    return answer;
  });
}

/** Returns what a write would answer, from a read-only transaction. The revision in the result is the present one. */
export function previewOperation<I, R extends object>(
  action: Action,
  run: (write: Write, input: I) => Promise<OperationResult<R>>,
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
  // This revision does not exist yet in this workspace, so the caller cannot have read it here. It is from another
  // workspace, or the database was restored to an older state.
  if (since > present) {
    throw new AppError({
      code: 'stale_revision',
      publicMessage: `the revision ${since} in If-Match is newer than the current revision ${present}; read the current state, then repeat the request`,
    });
  }
  const changed = await findChangedSince(client, workspaceId, targets, since);
  if (changed === null) return;
  throw new AppError({
    code: 'stale_revision',
    publicMessage: `${changed.target} was changed at revision ${changed.revision}, which is newer than the revision ${since} in If-Match; read the current state, then repeat the request`,
  });
}

/** Reads the actor again. While this write waited, an earlier write may have removed the actor or lowered its role. */
async function stillActor(client: pg.PoolClient, asker: Actor, now: Date): Promise<Actor> {
  const actor = await findActor(client, asker.credential, now);
  if (actor === null) throw unauthenticated('the API key or session was revoked or has expired');
  return actor;
}
