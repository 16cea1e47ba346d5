// Holds the policy of one workspace for its runs. The publisher offers the policy, and it is verified as in every
// sidecar. The policy counts as fresh while this process receives notice of new revisions.
//
// States: waiting (no policy yet), holding, gone (the workspace was removed: every call is denied), released (no new
// policy is accepted).
import { policyService } from '@tollgate/proto';
import { AppError, bounds, type RevisionName } from '@tollgate/proto/contract';
import type { Clock, Governing, Log, PolicyCell } from '@tollgate/sidecar/engine';
import type { LiveWorkspace, PublishedView, Publisher } from '../../publish/publisher.ts';

export interface WorkspaceRef {
  readonly workspaceId: number;
  readonly slug: string;
}

export interface HeldPolicyDeps {
  readonly publisher: Pick<Publisher, 'follow'>;
  /** Whether this process receives notice of new revisions. */
  readonly hears: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

type HeldState = Pick<LiveWorkspace, 'revision' | 'agents' | 'servers'>;

export interface HeldPolicy {
  /**
   * The state that the held policy was compiled from. Null while no policy is held, or while the held policy is older
   * than the publisher's.
   */
  readonly state: HeldState | null;
  /** Resolves when that revision or a later one is held. Rejects with `AppError`. */
  reached(revision: number, timeoutMs: number): Promise<void>;
  /**
   * Calls `look` whenever a policy was offered or the workspace was removed. Returns a function that ends the watching.
   */
  watch(look: () => void): () => void;
  release(): void;
}

/** Offers each revision of the workspace to `cell`, until `release` is called. */
export function holdPolicy({ publisher, clock, log }: HeldPolicyDeps, { workspaceId, slug }: WorkspaceRef, cell: PolicyCell): HeldPolicy {
  let state: HeldState | null = null;
  const watching = new Set<() => void>();
  const tell = (): void => {
    for (const look of watching) look();
  };
  const offer = (published: PublishedView, live: LiveWorkspace): void => {
    const problem = offerTo(cell, published);
    // If the cell refused the revision, `live` is newer than the policy that the cell holds. In that case `state` is
    // null, because no run may begin with a state that does not match the held policy.
    state = problem === null ? live : null;
    if (problem !== null) log.warn({ workspace: slug, problem }, 'a new revision was not accepted as the policy for runs');
    tell();
  };
  const gone = (): void => {
    cell.refuse('the workspace was removed');
    tell();
  };
  const release = publisher.follow(workspaceId, { view: { form: 'process' }, offer, gone });

  return {
    get state() {
      return state;
    },
    reached: (revision, timeoutMs) =>
      new Promise((done, fail) => {
        const settle = (problem: AppError | null): void => {
          watching.delete(look);
          timer.cancel();
          if (problem === null) done();
          else fail(problem);
        };
        const look = (): void => {
          if (cell.refused !== null) settle(new AppError({ code: 'unauthenticated', publicMessage: cell.refused }));
          else if (state !== null && state.revision >= revision) settle(null);
        };
        const timer = clock.after(timeoutMs, () => settle(late()));
        watching.add(look);
        look();
      }),
    watch: (look) => {
      watching.add(look);
      return () => watching.delete(look);
    },
    release,
  };
}

const late = (): AppError =>
  new AppError({
    code: 'unavailable',
    publicMessage: 'the policy of this workspace could not be read yet; try again',
    retryAfterSeconds: 5,
  });

/**
 * Offers the policy to the cell and returns the problem; null: the policy is now held. As in a remote sidecar, the
 * delta from the held revision is tried first, and then the whole snapshot.
 */
function offerTo(cell: PolicyCell, published: PublishedView): string | null {
  const { epoch, revision: number, hash } = published;
  cell.heard(number);
  const held = cell.current;
  const offered =
    held !== null && held.hash.equals(hash)
      ? cell.renumber({ epoch, number }, hash)
      : (change(cell, published, held === null ? null : { epoch: held.epoch, number: held.revision }) ?? take(cell, published));
  return offered.ok ? null : `${offered.code}: ${offered.message}`;
}

/** Applies the delta from the held revision. Returns null when the whole snapshot is needed. */
function change(cell: PolicyCell, published: PublishedView, from: RevisionName | null): ReturnType<PolicyCell['change']> | null {
  const bytes = from === null ? null : published.delta(from);
  if (bytes === null) return null;
  const { delta } = policyService.Sync.responseDeserialize(bytes);
  const changed = delta == null ? null : cell.change(delta);
  return changed?.ok === true ? changed : null;
}

function take(cell: PolicyCell, published: PublishedView): ReturnType<PolicyCell['offer']> {
  const { snapshot } = policyService.Sync.responseDeserialize(published.whole());
  if (snapshot == null)
    throw new Error('the method "whole" of a published view must return a message with a snapshot, but the message has no snapshot');
  return cell.offer(snapshot);
}

/**
 * Returns a view of the cell for runs. The policy in this view counts as fresh while this process receives notice of
 * new revisions.
 */
export function heardCell(cell: PolicyCell, { hears, clock }: Pick<HeldPolicyDeps, 'hears' | 'clock'>): Governing['govern']['cell'] {
  const isOld = ({ connected, heardAt }: PolicyCell['freshness']): boolean => !connected || clock.now() - heardAt >= bounds.heartbeatMs;
  return {
    get current() {
      return cell.current;
    },
    get refused() {
      return cell.refused;
    },
    get freshness() {
      if (!hears()) cell.lost();
      // A remote sidecar's policy is confirmed by each heartbeat. The policy here is confirmed at most that often. A
      // removed workspace stays refused.
      else if (cell.refused === null && isOld(cell.freshness)) cell.heard(null);
      return cell.freshness;
    },
  };
}
