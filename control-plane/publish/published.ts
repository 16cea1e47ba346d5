// A revision as one view has it, on the wire: whole, or as what is different from an earlier one. Encoded when first asked for, once.
import { policyService, type SyncResponse } from '@tollgate/proto';
import { policyNeeds, type RevisionName, snapshotSchemaVersion } from '@tollgate/proto/contract';
import type { View } from '../compile/view.ts';
import type { Holding } from './holding.ts';
import { viewPartsOf } from './view-parts.ts';
import type { EncodedOwner, EncodedRoom } from './encoded-room.ts';
import { wireBytes } from './entry-set.ts';

export interface Published {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  /** When it was raised, ms since 1970. */
  readonly raisedAt: number;
  /** A `SyncResponse` with the whole snapshot. Both are for whoever asks before a newer one is offered; later they throw. */
  whole(): Buffer;
  /** One with the way from that revision to this; null where that is not known, is no way ahead, or is longer than the whole. */
  delta(from: RevisionName): Buffer | null;
  /** Frees what was encoded. It is not asked again. */
  drop(): void;
}

/** More sidecars than these, each at a revision of its own, and some deltas are encoded again; so it is where all of them are longer than the whole. */
const deltasMax = 100;

/** Without a room, all that is encoded stays. */
const unbounded: EncodedRoom = { keep: () => undefined, drop: () => undefined };

export function publishView(holding: Holding, view: View, raisedAt: number, needs = policyNeeds, room = unbounded): Published {
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
  const keep = (): void => room.keep(owner, (whole?.length ?? 0) + deltaBytes);
  const requireCurrent = (): void => {
    if (holding.revision !== revision) throw new Error(`revision ${revision} is asked for, and ${holding.revision} is held`);
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
      room.drop(owner);
    },
  };
}

const encode = (response: SyncResponse): Buffer => policyService.Sync.responseSerialize(response);
