// A workspace's state as a sidecar would hold it: compiled, verified and indexed, all in this process.
import { snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { buildIndex, type Index } from '../decide/build-index.ts';
import { verifySnapshot } from '../snapshot/verify.ts';
import { compileSnapshot } from './compile.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';

/** The index of a workspace that every sidecar of form `process` has. */
export function indexOf(state: PolicySource, defaults: PolicyDefaults): Index {
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
  if (!verified.ok) throw new Error(`the compiler made a snapshot that no sidecar takes: ${verified.code}: ${verified.message}`);
  return buildIndex(verified.snapshot);
}
