// A workspace's documents for deciding replayed calls. Each is compiled and indexed when a call first asks for it,
// so that a workspace of ten thousand users costs no more than the few that called.
import { documentKey } from '@tollgate/proto/contract';
import { type IndexedDocument, indexDocument, type ReplayedPolicy } from '@tollgate/sidecar/decide';
import { compileDocument, compileSettings } from '../compile/compile.ts';
import type { PolicyDefaults, WorkspaceState } from '../compile/state.ts';

type Documents = WorkspaceState['documents'];

export function replayedPolicyOf(state: WorkspaceState, documents: Documents, defaults: PolicyDefaults): ReplayedPolicy {
  const stored = new Map(documents.map((one) => [documentKey(one.id), one]));
  const indexed = new Map<string, IndexedDocument>();
  return {
    revision: state.revision,
    settings: compileSettings({ ...state, documents }, defaults),
    documents: {
      get: (key) => {
        const one = stored.get(key);
        if (one === undefined) return undefined;
        const document = indexed.get(key) ?? indexDocument(compileDocument(one.id, one.document));
        indexed.set(key, document);
        return document;
      },
    },
  };
}
