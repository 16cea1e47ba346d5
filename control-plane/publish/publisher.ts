// Decides which revision each sidecar should have. Each workspace that a sidecar follows has a board, which holds the
// newest compiled revision. When a revision is raised, the touched entries are read and compiled once, encoded once for
// each view, and offered to every follower.
//
// States of a board: idle (the newest revision is held), reading (a read is running), and reading again (a revision was
// raised during the read, so another read follows). A failed read is retried after a second.
import { setTimeout as delay } from 'node:timers/promises';
import { type Needs, policyNeeds, type RevisionName } from '@tollgate/proto/contract';
import type { PolicyDefaults } from '@tollgate/sidecar/engine/compile';
import type { WorkspaceRead } from '../workspaces/rules.ts';
import { type View, viewKey } from './view.ts';
import { loggable } from '../base/loggable.ts';
import type { RevisionListener } from './store/watch-revisions.ts';
import { createEncodedBudget, type EncodedBudget } from './encoded-budget.ts';
import { type LiveWorkspace, type HeldWorkspace, holdWorkspace } from './holding.ts';
import { type PublishedView, publishView } from './published.ts';

export type { LiveWorkspace, PublishedView };

export interface Follower {
  readonly view: View;
  /** Receives the newest revision, and the state from which it was compiled. Called again for every newer revision. */
  offer(published: PublishedView, live: LiveWorkspace): void;
  /** Called when the workspace was removed. No more revisions will be offered. */
  gone(): void;
}

export interface Publisher extends RevisionListener {
  /**
   * Offers the current revision to the follower as soon as it is read, and then every newer revision, until the
   * returned function is called.
   */
  follow(workspaceId: number, follower: Follower): () => void;
  /** Returns the workspace at its newest known revision; null if it has no follower or was not read yet. */
  live(workspaceId: number): LiveWorkspace | null;
  close(): void;
}

interface PublisherDeps {
  /**
   * Reads the changes since `since`, or the whole workspace if `since` is null. Returns null if the workspace no longer
   * exists.
   */
  readonly read: (workspaceId: number, since: RevisionName | null) => Promise<WorkspaceRead | null>;
  readonly defaults: PolicyDefaults;
  readonly needs?: Needs;
  /** Maximum encoded bytes for all views together. The data of the view that is being encoded can exceed it. */
  readonly encodedBytesMax?: number;
  readonly log: { warn(fields: object, message: string): void };
}

interface Board {
  readonly followers: Set<Follower>;
  /** The number of followers of each view. */
  readonly followersOf: Map<string, number>;
  holding: HeldWorkspace | null;
  /** The views of the held revision that were requested. */
  readonly views: Map<string, PublishedView>;
  wanted: number;
  raisedAt: number;
  /** The database was restored. The held state may belong to another history. */
  restored: boolean;
  reading: boolean;
}

const retryMs = 1_000;
/**
 * Maximum number of cached views of one revision. When there are more, all are dropped and built again when they are
 * needed.
 */
const viewsMax = 200;
const standardEncodedBytesMax = 256 * 1_048_576;

export const createPublisher = (deps: PublisherDeps): Publisher => new BoardPublisher(deps);

class BoardPublisher implements Publisher {
  readonly #deps: PublisherDeps;
  readonly #needs: Needs;
  readonly #boards = new Map<number, Board>();
  readonly #budget: EncodedBudget;
  readonly #closing = new AbortController();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.#needs = deps.needs ?? policyNeeds;
    this.#budget = createEncodedBudget(deps.encodedBytesMax ?? standardEncodedBytesMax);
  }

  follow(workspaceId: number, follower: Follower): () => void {
    const board = this.#boards.get(workspaceId) ?? createBoard();
    this.#boards.set(workspaceId, board);
    const key = viewKey(follower.view);
    board.followers.add(follower);
    board.followersOf.set(key, (board.followersOf.get(key) ?? 0) + 1);
    if (board.holding === null) void this.#refresh(workspaceId, board);
    else this.#offer(follower, board);
    return () => this.#leave(workspaceId, board, follower);
  }

  raised(workspaceId: number, revision: number, raisedAt: number): void {
    const board = this.#boards.get(workspaceId);
    if (board === undefined) return;
    board.wanted = Math.max(board.wanted, revision);
    board.raisedAt = raisedAt;
    void this.#refresh(workspaceId, board);
  }

  removed(workspaceId: number): void {
    const board = this.#boards.get(workspaceId);
    if (board === undefined) return;
    dropViews(board);
    this.#boards.delete(workspaceId);
    for (const follower of board.followers) follower.gone();
  }

  restored(): void {
    for (const [workspaceId, board] of this.#boards) {
      board.wanted = 0;
      board.restored = true;
      void this.#refresh(workspaceId, board);
    }
  }

  live(workspaceId: number): LiveWorkspace | null {
    return this.#boards.get(workspaceId)?.holding ?? null;
  }

  close(): void {
    this.#closing.abort();
  }

  #leave(workspaceId: number, board: Board, follower: Follower): void {
    if (!board.followers.delete(follower)) return;
    const key = viewKey(follower.view);
    const others = (board.followersOf.get(key) ?? 1) - 1;
    if (others > 0) board.followersOf.set(key, others);
    else {
      board.followersOf.delete(key);
      board.views.get(key)?.drop();
      board.views.delete(key);
    }
    if (board.followers.size === 0 && this.#boards.get(workspaceId) === board) this.#boards.delete(workspaceId);
  }

  async #refresh(workspaceId: number, board: Board): Promise<void> {
    if (board.reading) return;
    board.reading = true;
    while (!this.#closing.signal.aborted && isBehind(board)) {
      try {
        if (!(await this.#readNewest(workspaceId, board))) return this.removed(workspaceId);
      } catch (error) {
        this.#deps.log.warn({ err: loggable(error), workspaceId }, 'a revision could not be published; trying again');
        await delay(retryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
    board.reading = false;
  }

  /** Reads, compiles and offers the newest revision. False if the workspace no longer exists. */
  async #readNewest(workspaceId: number, board: Board): Promise<boolean> {
    const { holding, wanted, restored } = board;
    board.restored = false;
    const since = holding === null ? null : { epoch: holding.epoch, number: holding.revision };
    const now = await this.#deps.read(workspaceId, since).catch((error: unknown) => {
      board.restored ||= restored;
      throw error;
    });
    // The workspace was removed, and the watch has not noticed it yet.
    if (now === null) return false;
    const { epoch, revision } = now.state;
    if (revision < wanted && board.wanted === wanted) {
      // The newest revision is older than the wanted one. Normally the reason is that the wanted revision belonged to
      // the previous epoch. If the epoch has not changed, the database was set back without `tollgate restore`.
      if (epoch === holding?.epoch)
        this.#deps.log.warn(
          { workspaceId, revision, wanted },
          'the database has an older revision than before; if the database was restored from a backup, run `tollgate-control-plane restore`',
        );
      board.wanted = revision;
    }
    // The held state is cleared until the new state is complete. If the change fails, the whole workspace is read
    // again.
    board.holding = null;
    dropViews(board);
    if (now.kind === 'changes') holding?.change(now);
    board.holding = now.kind === 'whole' ? holdWorkspace(now, this.#deps.defaults) : holding;
    for (const follower of board.followers) this.#offer(follower, board);
    return true;
  }

  #offer(follower: Follower, board: Board): void {
    const { holding, views, raisedAt } = board;
    if (holding === null) return;
    const key = viewKey(follower.view);
    const published = views.get(key) ?? publishView(holding, follower.view, raisedAt, this.#needs, this.#budget);
    if (!views.has(key) && views.size >= viewsMax) dropViews(board);
    views.set(key, published);
    follower.offer(published, holding);
  }
}

const isBehind = ({ followers, holding, wanted, restored }: Board): boolean =>
  followers.size > 0 && (holding === null || restored || holding.revision < wanted);

const createBoard = (): Board => ({
  followers: new Set(),
  followersOf: new Map(),
  holding: null,
  views: new Map(),
  wanted: 0,
  raisedAt: 0,
  restored: false,
  reading: false,
});

function dropViews({ views }: Board): void {
  for (const published of views.values()) published.drop();
  views.clear();
}
