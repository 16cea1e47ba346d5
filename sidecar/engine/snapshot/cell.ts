// Holds the one mutable reference: the policy that this sidecar decides by. Readers take `current` and keep it for one
// decision. A new snapshot, or the result of a delta on the held one, is verified and built separately. Then the
// reference is replaced as a whole.
//
// States: empty (nothing held: every call is denied) and held (it decides). In both, it is also `refused` when the
// control plane has reported that this sidecar's own key is not valid any more: then every call is denied until a
// stream is accepted again. A sidecar that is too old to read what the control plane sends is `outdated` until it has
// accepted something: messages of the control plane do not make its policy fresher, and the outage rule ends its use.
import { bounds, type NackCode, type RevisionName, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { forgetCallers } from '../decide/bind.ts';
import { buildIndex, type Index, renumberIndex } from '../decide/build-index.ts';
import { changeIndex } from '../decide/change-index.ts';
import { isStale } from '../decide/decide.ts';
import type { Freshness } from '../decide/decision.ts';
import { type DeltaMessage, type SnapshotMessage, verifyDelta, verifySnapshot } from './verify.ts';

export type OfferResult =
  | { readonly ok: true; readonly index: Index }
  | { readonly ok: false; readonly code: NackCode; readonly message: string };

interface CellStatus {
  readonly epoch: string | null;
  readonly revision: number | null;
  /** The newest revision that the control plane announced. */
  readonly announced: number | null;
  readonly connected: boolean;
  readonly ageMs: number | null;
  /** The control plane has been silent for longer than the workspace allows: its outage rule decides. */
  readonly outage: boolean;
  readonly refused: string | null;
  readonly lastNack: { readonly code: NackCode; readonly message: string } | null;
}

export interface PolicyCell {
  readonly current: Index | null;
  readonly freshness: Freshness;
  /** Why every call is denied although a snapshot may be held. Null: calls are not denied for this. */
  readonly refused: string | null;
  offer(message: SnapshotMessage): OfferResult;
  /** Applies the changes from the held revision to a later one. */
  change(message: DeltaMessage): OfferResult;
  /** The held policy is current under a newer number. */
  renumber(revision: RevisionName, hash: Uint8Array): OfferResult;
  restore(message: SnapshotMessage, heardAt: number): OfferResult;
  /** A message could not be decoded, or is larger than the limit. */
  malformed(problem: string): void;
  /** A message of the control plane arrived. `announced` is its newest revision. */
  heard(announced: number | null): void;
  lost(): void;
  refuse(reason: string): void;
  status(): CellStatus;
  /** Returns all that is held, as a snapshot message. Null: nothing is held. */
  whole(): SnapshotMessage | null;
  onSwap(listener: (index: Index) => void): void;
}

interface CellClock {
  /** Ms on a clock that never goes backwards. */
  readonly now: () => number;
}

export function createPolicyCell({ now }: CellClock, workspace: string): PolicyCell {
  let current: Index | null = null;
  /** By key, as they were sent. The next delta is applied to them, and the file is written from them. */
  let entries = new Map<string, Uint8Array>();
  let freshness: Freshness = { connected: false, heardAt: Number.NEGATIVE_INFINITY };
  let connected = false;
  let outdated = false;
  let announced: number | null = null;
  let refused: string | null = null;
  let lastNack: CellStatus['lastNack'] = null;
  const listeners: ((index: Index) => void)[] = [];

  const swap = (index: Index): OfferResult => {
    const before = current;
    current = index;
    lastNack = null;
    if (outdated) {
      outdated = false;
      freshness = { connected, heardAt: now() };
    }
    for (const listener of listeners) listener(index);
    // This runs after the listeners, because they compare with the previous index.
    if (before !== null) forgetCallers(before);
    return { ok: true, index };
  };
  const nack = (code: NackCode, words: string): OfferResult => {
    const message = words.slice(0, bounds.nackMessageLength);
    lastNack = { code, message };
    if (code === 'schema_unsupported') {
      outdated = true;
      freshness = { ...freshness, connected: false };
    }
    return { ok: false, code, message };
  };
  /** An error of any kind changes nothing. */
  const safely = (take: () => OfferResult): OfferResult => {
    try {
      return take();
    } catch (error) {
      return nack('internal', error instanceof Error ? error.message : 'unknown');
    }
  };
  const backwards = (epoch: string, revision: number): string | null =>
    current !== null && current.epoch === epoch && revision < current.revision
      ? `revision ${revision} is older than ${current.revision}, which is held`
      : null;
  const offer = (message: SnapshotMessage): OfferResult =>
    safely(() => {
      const verified = verifySnapshot(message, workspace);
      if (!verified.ok) return nack(verified.code, verified.message);
      const { snapshot } = verified;
      const older = backwards(snapshot.epoch, snapshot.revision);
      if (older !== null) return nack('revision_backwards', older);
      const index = buildIndex(snapshot);
      entries = new Map(message.entries.map(({ key, value }) => [key, value]));
      return swap(index);
    });
  const change = (message: DeltaMessage): OfferResult =>
    safely(() => {
      const held = current;
      if (held === null) return nack('wrong_base', 'a delta cannot be applied: no policy is held');
      const verified = verifyDelta(message, workspace, { ...held, entries });
      if (!verified.ok) return nack(verified.code, verified.message);
      const { changes } = verified;
      const index = changeIndex(held, changes);
      for (const key of changes.removed) entries.delete(key);
      // The values are copied, so that one kept entry does not keep its whole message in memory.
      for (const { key, value } of message.changed) entries.set(key, Uint8Array.from(value));
      return swap(index);
    });

  return {
    get current() {
      return current;
    },
    get freshness() {
      return freshness;
    },
    get refused() {
      return refused;
    },
    offer,
    change,
    renumber: ({ epoch, number }, hash) => {
      if (current === null || !current.hash.equals(hash))
        return nack('hash_mismatch', 'the policy held differs from the one that the control plane calls current');
      const older = backwards(epoch, number);
      if (older !== null) return nack('revision_backwards', older);
      return swap(renumberIndex(current, epoch, number));
    },
    restore: (message, heardAt) => {
      const offered = offer(message);
      if (offered.ok) freshness = { connected: false, heardAt };
      return offered;
    },
    malformed: (problem) => {
      nack('malformed', problem);
    },
    heard: (newest) => {
      if (newest !== null) announced = newest;
      refused = null;
      connected = true;
      if (!outdated) freshness = { connected: true, heardAt: now() };
    },
    lost: () => {
      connected = false;
      freshness = { ...freshness, connected: false };
    },
    refuse: (reason) => {
      refused = reason;
    },
    status: () => ({
      epoch: current?.epoch ?? null,
      revision: current?.revision ?? null,
      announced,
      connected,
      ageMs: Number.isFinite(freshness.heardAt) ? Math.max(0, now() - freshness.heardAt) : null,
      outage: current !== null && isStale(current, freshness, now()),
      refused,
      lastNack,
    }),
    whole: () =>
      current === null
        ? null
        : {
            revision: { epoch: current.epoch, number: current.revision },
            workspace,
            schemaVersion: snapshotSchemaVersion,
            hash: current.hash,
            entries: Array.from(entries, ([key, value]) => ({ key, value })),
          },
    onSwap: (listener) => {
      listeners.push(listener);
    },
  };
}
