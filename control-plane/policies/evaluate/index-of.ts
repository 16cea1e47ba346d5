// A workspace's state as a sidecar would hold it: compiled, verified and indexed, all in this process.
import { snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { buildIndex, type Index, verifySnapshot } from '@tollgate/sidecar/engine/compile';
import { compileSnapshot } from '../../compile/compile.ts';
import type { PolicyDefaults, WorkspaceState } from '../../compile/state.ts';

/** The index of a workspace that every sidecar of form `process` has. */
export function indexOf(state: WorkspaceState, defaults: PolicyDefaults): Index {
  const entries = compileSnapshot(state, defaults);
  const verified = verifySnapshot(
    {
      revision: { epoch: state.epoch, number: state.revision },
      workspace: state.workspace,
      schemaVersion: snapshotSchemaVersion,
      hash: snapshotHash(entries),
      entries,
    },
    state.workspace,
  );
  if (!verified.ok) throw new Error(`the compiler made a snapshot that sidecars refuse: ${verified.code}: ${verified.message}`);
  return buildIndex(verified.snapshot);
}
