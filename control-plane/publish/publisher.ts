// Which revision each sidecar should have. One board a workspace holds its newest compiled revision while a sidecar
// follows it; a raised revision is read and compiled once, encoded once for each view, and offered to every follower.
//
// States of a board: idle (newest is current), reading (a read is under way), and reading again (a revision was raised
// meanwhile, so another read follows). A failed read is tried again after a second.
import { setTimeout as delay } from 'node:timers/promises';
import { policyService, type Snapshot } from '@tollgate/proto';
import { snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { compileSnapshot, type SnapshotEntry } from '../compile/compile.ts';
import type { PolicyDefaults, WorkspaceState } from '../compile/state.ts';
import { type View, viewKey, viewOf } from '../compile/view.ts';
import { loggable } from '../loggable.ts';
import type { RevisionListener } from '../store/watch-revisions.ts';

/** A revision as one view has it, on the wire. */
export interface Published {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  /** When it was raised, ms since 1970. */
  readonly raisedAt: number;
  /** A `SyncResponse` holding the snapshot, encoded. */
  readonly bytes: Buffer;
}

export interface Follower {
  readonly view: View;
  /** The newest revision, and the state it was compiled from. Called again for every newer one. */
  offer(published: Published, state: WorkspaceState): void;
  /** The workspace was removed; nothing more will be offered. */
  gone(): void;
}

export interface Publisher extends RevisionListener {
  /** Offers the current revision as soon as it is read, then every newer one, until the returned function is called. */
  follow(workspaceId: number, follower: Follower): () => void;
  /** The newest revision known of a workspace that is followed. */
  newest(workspaceId: number): { readonly epoch: string; readonly revision: number } | null;
  close(): void;
}

interface Deps {
  /** Null where the workspace is gone. */
  readonly readState: (workspaceId: number) => Promise<WorkspaceState | null>;
  readonly defaults: PolicyDefaults;
  readonly log: { warn(fields: object, message: string): void };
}

interface Compiled {
  readonly state: WorkspaceState;
  readonly raisedAt: number;
  readonly entries: readonly SnapshotEntry[];
  readonly views: Map<string, Published>;
}

interface Board {
  readonly followers: Set<Follower>;
  compiled: Compiled | null;
  wanted: number;
  raisedAt: number;
  reading: boolean;
}

const retryMs = 1_000;

export function createPublisher({ readState, defaults, log }: Deps): Publisher {
  const boards = new Map<number, Board>();
  const closing = new AbortController();

  const removed = (workspaceId: number): void => {
    const followers = boards.get(workspaceId)?.followers ?? new Set();
    boards.delete(workspaceId);
    for (const follower of followers) follower.gone();
  };
  const refresh = async (workspaceId: number, board: Board): Promise<void> => {
    if (board.reading) return;
    board.reading = true;
    while (
      !closing.signal.aborted &&
      board.followers.size > 0 &&
      (board.compiled === null || board.compiled.state.revision < board.wanted)
    ) {
      try {
        const state = await readState(workspaceId);
        // It was removed before the watch had seen it.
        if (state === null) return removed(workspaceId);
        board.compiled = { state, raisedAt: board.raisedAt, entries: compileSnapshot(state, defaults), views: new Map() };
        for (const follower of board.followers) offerTo(follower, board.compiled);
      } catch (error) {
        log.warn({ err: loggable(error), workspaceId }, 'a revision could not be published; trying again');
        await delay(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
    board.reading = false;
  };

  return {
    follow: (workspaceId, follower) => {
      const board = boards.get(workspaceId) ?? { followers: new Set(), compiled: null, wanted: 0, raisedAt: 0, reading: false };
      boards.set(workspaceId, board);
      board.followers.add(follower);
      if (board.compiled === null) void refresh(workspaceId, board);
      else offerTo(follower, board.compiled);
      return () => {
        board.followers.delete(follower);
        if (board.followers.size === 0) boards.delete(workspaceId);
      };
    },
    raised: (workspaceId, revision, raisedAt) => {
      const board = boards.get(workspaceId);
      if (board === undefined) return;
      board.wanted = Math.max(board.wanted, revision);
      board.raisedAt = raisedAt;
      void refresh(workspaceId, board);
    },
    removed,
    newest: (workspaceId) => boards.get(workspaceId)?.compiled?.state ?? null,
    close: () => closing.abort(),
  };
}

function offerTo(follower: Follower, compiled: Compiled): void {
  follower.offer(publishedFor(compiled, follower.view), compiled.state);
}

function publishedFor({ state, raisedAt, entries, views }: Compiled, view: View): Published {
  const key = viewKey(view);
  const known = views.get(key);
  if (known !== undefined) return known;
  const visible = viewOf(entries, state, view);
  const hash = snapshotHash(visible);
  const snapshot: Snapshot = {
    revision: { epoch: state.epoch, number: state.revision },
    workspace: state.workspace,
    schemaVersion: snapshotSchemaVersion,
    hash,
    entries: [...visible],
  };
  const published = {
    epoch: state.epoch,
    revision: state.revision,
    hash,
    raisedAt,
    bytes: policyService.Sync.responseSerialize({ snapshot }),
  };
  views.set(key, published);
  return published;
}
