// The index by which a sidecar decides, made in this process: a source is compiled, verified and indexed.
import { snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { buildIndex, type Index } from '../decide/build-index.ts';
import { verifySnapshot } from '../snapshot/verify.ts';
import { compileSnapshot, type SnapshotEntry } from './compile.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';

/** What a snapshot says of itself besides its entries. Its revision is the pair of epoch and number. */
export type SnapshotName = Pick<PolicySource, 'workspace' | 'epoch' | 'revision'>;

/**
 * Returns the index that every sidecar of form `process` has of these entries. They pass the same verification as
 * entries from the wire. Throws an `Error` if a sidecar would refuse them, with the code and the place.
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
  if (!verified.ok) throw new Error(`no sidecar accepts these entries: ${verified.code}: ${verified.message}`);
  return buildIndex(verified.snapshot);
}

/** Compiles the source and returns its index. Throws as `indexEntries` does. Checked documents give no such error. */
export const indexOf = (source: PolicySource, defaults: PolicyDefaults): Index => indexEntries(compileSnapshot(source, defaults), source);
