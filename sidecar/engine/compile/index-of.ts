// Builds, in this process, the same index with which a sidecar decides: a source is compiled, verified and indexed.
import { snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { buildIndex, type Index } from '../decide/build-index.ts';
import { verifySnapshot } from '../snapshot/verify.ts';
import { compileSnapshot, type SnapshotEntry } from './compile.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';

/** What identifies a snapshot, besides its entries. Its revision is the pair of epoch and number. */
export type SnapshotName = Pick<PolicySource, 'workspace' | 'epoch' | 'revision'>;

/**
 * Returns the index that every sidecar process builds from these entries. They pass the same verification as entries
 * from the control plane. Throws an `Error` with the code and the place if a sidecar would refuse them.
 */
export function indexEntries(entries: readonly SnapshotEntry[], { workspace, epoch, revision }: SnapshotName): Index {
  const verified = verifySnapshot(
    {
      revision: { epoch, number: revision },
      workspace,
      schemaVersion: snapshotSchemaVersion,
      hash: snapshotHash(entries),
      entries,
    },
    workspace,
  );
  if (!verified.ok)
    throw new Error(
      `every sidecar must accept the compiled entries, but the verification failed with ${verified.code}: ${verified.message}`,
    );
  return buildIndex(verified.snapshot);
}

/**
 * Compiles the source and returns its index. Throws the same errors as `indexEntries`. It does not throw if the
 * documents of the source were checked before.
 */
export const indexOf = (source: PolicySource, defaults: PolicyDefaults): Index => indexEntries(compileSnapshot(source, defaults), source);
