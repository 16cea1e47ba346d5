// Encodes one view of a revision for sending: as the whole snapshot, or as a delta from an earlier revision. Each of
// them is encoded once, at the first request.
import { policyService, type SyncResponse } from '@tollgate/proto';
import { policyNeeds, type RevisionName, snapshotSchemaVersion } from '@tollgate/proto/contract';
import type { View } from './view.ts';
import type { HeldWorkspace } from './holding.ts';
import { viewPartsOf } from './view-parts.ts';
import type { EncodedOwner, EncodedBudget } from './encoded-budget.ts';
import { wireBytes } from './entry-set.ts';

export interface PublishedView {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  /** When the revision was raised, in ms since 1970. */
  readonly raisedAt: number;
  /**
   * Returns a `SyncResponse` with the whole snapshot. `whole` and `delta` can be called until a newer revision is
   * offered; after that they throw.
   */
  whole(): Buffer;
  /**
   * Returns a `SyncResponse` with the delta from `from` to this revision. Null if the changes are not known, if `from`
   * is not earlier than this revision, or if the delta is larger than the whole snapshot.
   */
  delta(from: RevisionName): Buffer | null;
  /** Frees the encoded data. Do not use this object afterwards. */
  drop(): void;
}

/**
 * Maximum number of cached deltas. When there are more deltas, or all of them together are larger than the whole
 * snapshot, the cache is emptied. The deltas are then encoded again when they are requested.
 */
const deltasMax = 100;

/** Used when no memory budget is given. It keeps all encoded data. */
const unbounded: EncodedBudget = { keep: () => undefined, drop: () => undefined };

export function publishView(holding: HeldWorkspace, view: View, raisedAt: number, needs = policyNeeds, budget = unbounded): PublishedView {
  const { epoch, revision, workspace } = holding;
  const parts = viewPartsOf(holding, view, needs);
  const head = { workspace, schemaVersion: snapshotSchemaVersion, hash: parts.hash };
  const to = { epoch, number: revision };
  const deltas = new Map<number, Buffer | null>();
  let deltaBytes = 0;
  let whole: Buffer | null = null;

  const owner: EncodedOwner = {
    letGo: () => {
      whole = null;
      deltas.clear();
      deltaBytes = 0;
    },
  };
  const keep = (): void => budget.keep(owner, (whole?.length ?? 0) + deltaBytes);
  const requireCurrent = (): void => {
    if (holding.revision !== revision)
      throw new Error(
        `a published view must not be used after a newer revision was offered: this view is of revision ${revision}, but the current revision is ${holding.revision}`,
      );
  };
  const makeDelta = (from: number): Buffer | null => {
    if (from >= revision) return null;
    const touched = holding.keysAfter(from);
    if (touched === null || (parts.decisive !== null && touched.has(parts.decisive))) return null;
    const keys = [...touched].filter((key) => parts.mayHold(key)).toSorted();
    const changed = keys.flatMap((key) => parts.get(key) ?? []);
    const removed = keys.filter((key) => parts.get(key) === undefined);
    const bytes = [...changed.map(wireBytes), ...removed.map((key) => key.length)].reduce((sum, size) => sum + size, 0);
    if (bytes >= parts.bytes) return null;
    return encode({ delta: { ...head, from: { epoch, number: from }, to, changed, removed } });
  };

  return {
    epoch,
    revision,
    hash: parts.hash,
    raisedAt,
    whole: () => {
      requireCurrent();
      if (whole !== null) return whole;
      const made = encode({ snapshot: { ...head, revision: to, entries: [...parts.entries()] } });
      whole = made;
      keep();
      return made;
    },
    delta: (from) => {
      requireCurrent();
      if (from.epoch !== epoch) return null;
      const known = deltas.get(from.number);
      if (known !== undefined) return known;
      const made = makeDelta(from.number);
      deltaBytes += made?.length ?? 0;
      if (deltas.size >= deltasMax || deltaBytes > parts.bytes) {
        deltas.clear();
        deltaBytes = made?.length ?? 0;
      }
      deltas.set(from.number, made);
      keep();
      return made;
    },
    drop: () => {
      owner.letGo();
      budget.drop(owner);
    },
  };
}

const encode = (response: SyncResponse): Buffer => policyService.Sync.responseSerialize(response);
