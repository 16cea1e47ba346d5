// The one mutable reference: what this sidecar decides from. Readers take `current` and keep it for one decision;
// a new snapshot is verified and built aside, then the reference is replaced whole.
//
// States: empty (nothing held: every call is denied), held (decides), and in both `refused` once the control plane has
// said that this sidecar's own key is not good any more: then every call is denied until a stream is accepted again.
import type { NackCode } from '@tollgate/proto/contract';
import { buildIndex, type Index, renumberIndex } from '../decide/build-index.ts';
import type { Freshness } from '../decide/decision.ts';
import { type SnapshotMessage, verifySnapshot } from './verify.ts';

export type Offered =
  | { readonly ok: true; readonly index: Index }
  | { readonly ok: false; readonly code: NackCode; readonly message: string };

interface CellStatus {
  readonly epoch: string | null;
  readonly revision: number | null;
  /** The newest revision the control plane spoke of. */
  readonly announced: number | null;
  readonly connected: boolean;
  readonly ageMs: number | null;
  readonly refused: string | null;
  readonly lastNack: { readonly code: NackCode; readonly message: string } | null;
}

export interface PolicyCell {
  readonly current: Index | null;
  readonly freshness: Freshness;
  /** Why every call is denied although a snapshot may be held; null: not so. */
  readonly refused: string | null;
  offer(message: SnapshotMessage): Offered;
  /** What is held is current under a newer number. */
  renumber(revision: { readonly epoch: string; readonly number: number }, hash: Uint8Array): Offered;
  restore(message: SnapshotMessage, heardAt: number): Offered;
  /** The control plane was heard from; `announced` is its newest revision. */
  heard(announced: number | null): void;
  lost(): void;
  refuse(reason: string): void;
  status(): CellStatus;
  onSwap(listener: (index: Index) => void): void;
}

interface Deps {
  /** Ms on a clock that never goes back. */
  readonly now: () => number;
}

export function createPolicyCell({ now }: Deps, workspace: string): PolicyCell {
  let current: Index | null = null;
  let freshness: Freshness = { connected: false, heardAt: Number.NEGATIVE_INFINITY };
  let announced: number | null = null;
  let refused: string | null = null;
  let lastNack: CellStatus['lastNack'] = null;
  const listeners: ((index: Index) => void)[] = [];

  const swap = (index: Index): Offered => {
    current = index;
    lastNack = null;
    for (const listener of listeners) listener(index);
    return { ok: true, index };
  };
  const nack = (code: NackCode, message: string): Offered => {
    lastNack = { code, message };
    return { ok: false, code, message };
  };
  const take = (message: SnapshotMessage): Offered => {
    try {
      const verified = verifySnapshot(message, workspace);
      if (!verified.ok) return nack(verified.code, verified.message);
      const { epoch, revision } = verified.snapshot;
      if (current !== null && current.epoch === epoch && revision < current.revision) {
        return nack('revision_backwards', `revision ${revision} is older than ${current.revision}, which is held`);
      }
      return swap(buildIndex(verified.snapshot));
    } catch (error) {
      return nack('internal', error instanceof Error ? error.message : 'unknown');
    }
  };

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
    offer: take,
    renumber: ({ epoch, number }, hash) => {
      if (current === null || !current.hash.equals(hash))
        return nack('hash_mismatch', 'what is held is not what the control plane calls current');
      if (current.epoch === epoch && number < current.revision)
        return nack('revision_backwards', `revision ${number} is older than ${current.revision}, which is held`);
      return swap(renumberIndex(current, epoch, number));
    },
    restore: (message, heardAt) => {
      const offered = take(message);
      if (offered.ok) freshness = { connected: false, heardAt };
      return offered;
    },
    heard: (newest) => {
      if (newest !== null) announced = newest;
      refused = null;
      freshness = { connected: true, heardAt: now() };
    },
    lost: () => {
      freshness = { ...freshness, connected: false };
    },
    refuse: (reason) => {
      refused = reason;
    },
    status: () => ({
      epoch: current?.epoch ?? null,
      revision: current?.revision ?? null,
      announced,
      connected: freshness.connected,
      ageMs: Number.isFinite(freshness.heardAt) ? Math.max(0, now() - freshness.heardAt) : null,
      refused,
      lastNack,
    }),
    onSwap: (listener) => {
      listeners.push(listener);
    },
  };
}
