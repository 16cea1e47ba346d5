// Passes raised revisions on to the streams of this process that wait for changes of a workspace. The watch on revisions
// reports those of all control planes of the database. A report that is lost delays a stream until it looks itself.
import type { RevisionListener } from './store/watch-revisions.ts';

export interface RevisionChanges {
  /** Calls the function when the workspace may have changed, until the returned function is called. */
  onRaised(workspaceId: number, call: () => void): () => void;
}

export function createRevisionChanges(): RevisionListener & RevisionChanges {
  const calls = new Map<number, Set<() => void>>();
  const report = (workspaceId: number): void => {
    for (const call of calls.get(workspaceId) ?? []) call();
  };
  return {
    raised: report,
    removed: report,
    restored: () => {
      for (const workspaceId of calls.keys()) report(workspaceId);
    },
    onRaised: (workspaceId, call) => {
      const own = (): void => call();
      const ofWorkspace = calls.get(workspaceId) ?? new Set();
      calls.set(workspaceId, ofWorkspace.add(own));
      return () => {
        ofWorkspace.delete(own);
        if (ofWorkspace.size === 0 && calls.get(workspaceId) === ofWorkspace) calls.delete(workspaceId);
      };
    },
  };
}

/** Returns a listener that passes each report on to all of these. */
export const listeningTogether = (...listeners: readonly RevisionListener[]): RevisionListener => ({
  raised: (workspaceId, revision, raisedAt) => {
    for (const one of listeners) one.raised(workspaceId, revision, raisedAt);
  },
  removed: (workspaceId) => {
    for (const one of listeners) one.removed(workspaceId);
  },
  restored: () => {
    for (const one of listeners) one.restored();
  },
});
