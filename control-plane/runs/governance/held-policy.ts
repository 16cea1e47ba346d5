// The policy of one workspace as its runs hold it: what the publisher offers, verified as every sidecar does, and as fresh as what this
// process hears.
//
// States: waiting (no policy yet), holding, gone (the workspace was removed: every call is denied), released (nothing new is taken).
import { policyService } from '@tollgate/proto';
import { AppError, bounds, type RevisionName } from '@tollgate/proto/contract';
import type { Clock, Governing, Log, PolicyCell } from '@tollgate/sidecar/embed';
import type { LiveWorkspace, Published, Publisher } from '../../publish/publisher.ts';

export interface WorkspaceRef {
  readonly workspaceId: number;
  readonly slug: string;
}

export interface HeldPolicyDeps {
  readonly publisher: Pick<Publisher, 'follow'>;
  /** Whether this process hears of new revisions. */
  readonly hears: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

type HeldState = Pick<LiveWorkspace, 'revision' | 'agents' | 'servers'>;

export interface HeldPolicy {
  /** What the policy that is held was compiled from; null while none is, or an older one than the publisher holds. */
  readonly state: HeldState | null;
  /** Resolves once that revision, or a later one, is held. Rejects with `AppError`. */
  reached(revision: number, timeoutMs: number): Promise<void>;
  /** `look` is called whenever other policy begins to hold, or none may be held any more; answers how to end that. */
  watch(look: () => void): () => void;
  release(): void;
}

/** Offers each revision to `cell`, until it is released. */
export function holdPolicy({ publisher, clock, log }: HeldPolicyDeps, { workspaceId, slug }: WorkspaceRef, cell: PolicyCell): HeldPolicy {
  let state: HeldState | null = null;
  const watching = new Set<() => void>();
  const tell = (): void => {
    for (const look of watching) look();
  };
  const offer = (published: Published, live: LiveWorkspace): void => {
    const problem = offerTo(cell, published);
    // It has gone on already, and the policy has not: nothing begins by the one what the other does not say.
    state = problem === null ? live : null;
    if (problem !== null) log.warn({ workspace: slug, problem }, 'a revision is not taken for runs');
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

/** What is wrong with it; null: it is held now. As a sidecar elsewhere: what leads on from what is held, or else the whole. */
function offerTo(cell: PolicyCell, published: Published): string | null {
  const { epoch, revision: number, hash } = published;
  cell.heard(number);
  const held = cell.current;
  const offered =
    held !== null && held.hash.equals(hash)
      ? cell.renumber({ epoch, number }, hash)
      : (change(cell, published, held === null ? null : { epoch: held.epoch, number: held.revision }) ?? take(cell, published));
  return offered.ok ? null : `${offered.code}: ${offered.message}`;
}

/** Null where the whole is needed. */
function change(cell: PolicyCell, published: Published, from: RevisionName | null): ReturnType<PolicyCell['change']> | null {
  const bytes = from === null ? null : published.delta(from);
  if (bytes === null) return null;
  const { delta } = policyService.Sync.responseDeserialize(bytes);
  const changed = delta == null ? null : cell.change(delta);
  return changed?.ok === true ? changed : null;
}

function take(cell: PolicyCell, published: Published): ReturnType<PolicyCell['offer']> {
  const { snapshot } = policyService.Sync.responseDeserialize(published.whole());
  if (snapshot == null) throw new Error('the publisher gave no snapshot');
  return cell.offer(snapshot);
}

/** The cell as the runs see it: as fresh as what this process hears. */
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
      // No oftener than another sidecar would hear of it; a removed workspace stays refused.
      else if (cell.refused === null && isOld(cell.freshness)) cell.heard(null);
      return cell.freshness;
    },
  };
}
