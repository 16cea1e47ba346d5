// Holds the one mutable reference: the policy that this sidecar uses for decisions. Readers take `current` and keep it
// for one decision. A new snapshot, or the result of a delta on the held one, is verified and built separately. Then
// the reference is replaced as a whole.
//
// States: empty (nothing is held: every call is denied) and held (the policy decides). In both states the cell can also
// be `refused`: the control plane has reported that this sidecar's own key is not valid any more. Then every call is
// denied until a stream is accepted again. A sidecar that is too old to read what the control plane sends is `outdated`
// until it has accepted something. While it is outdated, messages of the control plane do not make its policy fresher,
// so the outage rule ends the use of the policy.
import { bounds, type NackCode, type RevisionName, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { forgetCallers } from '../decide/bind.ts';
import { buildIndex, type Index, renumberIndex } from '../decide/build-index.ts';
import { changeIndex } from '../decide/change-index.ts';
import { isStale } from '../decide/decide.ts';
import type { Freshness } from '../decide/decision.ts';
import { measuredAhead } from './plane-time.ts';
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
  /**
   * True: the control plane has been silent for longer than the workspace allows, so the outage rule of the workspace
   * decides.
   */
  readonly outage: boolean;
  readonly refused: string | null;
  /**
   * How far the clock of this machine is ahead of that of the control plane, in ms; negative: it is behind. Null: it is
   * not known.
   */
  readonly clockAheadMs: number | null;
  readonly lastNack: { readonly code: NackCode; readonly message: string } | null;
}

export interface PolicyCell {
  readonly current: Index | null;
  readonly freshness: Freshness;
  /**
   * The reason why every call is denied, although a snapshot may be held: the control plane refuses this sidecar's key.
   * Null: the key is not refused.
   */
  readonly refused: string | null;
  offer(message: SnapshotMessage): OfferResult;
  /** Applies the changes from the held revision to a later one. */
  change(message: DeltaMessage): OfferResult;
  /** Gives the held policy a newer number, because its content is still current. */
  renumber(revision: RevisionName, hash: Uint8Array): OfferResult;
  restore(message: SnapshotMessage, heardAt: number): OfferResult;
  /** Notes that a message could not be decoded, or is larger than the limit. */
  malformed(problem: string): void;
  /**
   * Notes that a message of the control plane arrived. `announced`: the newest revision of the control plane. `timeMs`:
   * the time of day there.
   */
  heard(announced: number | null, timeMs?: number): void;
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
  /** The time of day, in ms since 1970. Absent: it is not compared with that of the control plane. */
  readonly wallTime?: () => number;
}

export function createPolicyCell(clock: CellClock, workspace: string): PolicyCell {
  return new HeldPolicy(clock, workspace);
}

class HeldPolicy implements PolicyCell {
  #current: Index | null = null;
  /**
   * The entries of the held policy by key, as they were sent. The next delta is applied to them, and the file is
   * written from them.
   */
  #entries = new Map<string, Uint8Array>();
  #freshness: Freshness = { connected: false, heardAt: Number.NEGATIVE_INFINITY };
  #connected = false;
  #outdated = false;
  #announced: number | null = null;
  #refused: string | null = null;
  #lastNack: CellStatus['lastNack'] = null;
  readonly #listeners: ((index: Index) => void)[] = [];
  readonly #now: () => number;
  readonly #wallTime: CellClock['wallTime'];
  #aheadMs: number | undefined;
  readonly #workspace: string;

  constructor({ now, wallTime }: CellClock, workspace: string) {
    this.#now = now;
    this.#wallTime = wallTime;
    this.#workspace = workspace;
  }

  get current(): Index | null {
    return this.#current;
  }

  get freshness(): Freshness {
    return this.#freshness;
  }

  get refused(): string | null {
    return this.#refused;
  }

  renumber({ epoch, number }: RevisionName, hash: Uint8Array): OfferResult {
    if (this.#current === null || !this.#current.hash.equals(hash))
      return this.#nack('hash_mismatch', 'the policy held differs from the one that the control plane calls current');
    const older = this.#backwards(epoch, number);
    if (older !== null) return this.#nack('revision_backwards', older);
    return this.#swap(renumberIndex(this.#current, epoch, number));
  }

  restore(message: SnapshotMessage, heardAt: number): OfferResult {
    const offered = this.offer(message);
    if (offered.ok) this.#freshness = { connected: false, heardAt };
    return offered;
  }

  malformed(problem: string): void {
    this.#nack('malformed', problem);
  }

  heard(newest: number | null, timeMs?: number): void {
    if (newest !== null) this.#announced = newest;
    this.#refused = null;
    this.#connected = true;
    if (timeMs !== undefined) this.#compareClocks(timeMs);
    if (!this.#outdated) this.#freshness = this.#heardNow(true);
  }

  lost(): void {
    this.#connected = false;
    this.#freshness = { ...this.#freshness, connected: false };
  }

  refuse(reason: string): void {
    this.#refused = reason;
  }

  status(): CellStatus {
    return {
      epoch: this.#current?.epoch ?? null,
      revision: this.#current?.revision ?? null,
      announced: this.#announced,
      connected: this.#connected,
      ageMs: Number.isFinite(this.#freshness.heardAt) ? Math.max(0, this.#now() - this.#freshness.heardAt) : null,
      outage: this.#current !== null && isStale(this.#current, this.#freshness, this.#now()),
      refused: this.#refused,
      clockAheadMs: this.#aheadMs === undefined ? null : Math.round(0 - this.#aheadMs),
      lastNack: this.#lastNack,
    };
  }

  whole(): SnapshotMessage | null {
    return this.#current === null
      ? null
      : {
          revision: { epoch: this.#current.epoch, number: this.#current.revision },
          workspace: this.#workspace,
          schemaVersion: snapshotSchemaVersion,
          hash: this.#current.hash,
          entries: Array.from(this.#entries, ([key, value]) => ({ key, value })),
        };
  }

  onSwap(listener: (index: Index) => void): void {
    this.#listeners.push(listener);
  }

  offer(message: SnapshotMessage): OfferResult {
    return this.#safely(() => {
      const verified = verifySnapshot(message, this.#workspace);
      if (!verified.ok) return this.#nack(verified.code, verified.message);
      const { snapshot } = verified;
      const older = this.#backwards(snapshot.epoch, snapshot.revision);
      if (older !== null) return this.#nack('revision_backwards', older);
      const index = buildIndex(snapshot);
      this.#entries = new Map(message.entries.map(({ key, value }) => [key, value]));
      return this.#swap(index);
    });
  }

  change(message: DeltaMessage): OfferResult {
    return this.#safely(() => {
      const held = this.#current;
      if (held === null) return this.#nack('wrong_base', 'a delta cannot be applied: no policy is held');
      const verified = verifyDelta(message, this.#workspace, { ...held, entries: this.#entries });
      if (!verified.ok) return this.#nack(verified.code, verified.message);
      const { changes } = verified;
      const index = changeIndex(held, changes);
      for (const key of changes.removed) this.#entries.delete(key);
      // The values are copied, so that one kept entry does not keep its whole message in memory.
      for (const { key, value } of message.changed) this.#entries.set(key, Uint8Array.from(value));
      return this.#swap(index);
    });
  }

  #swap(index: Index): OfferResult {
    const before = this.#current;
    this.#current = index;
    this.#lastNack = null;
    if (this.#outdated) {
      this.#outdated = false;
      this.#freshness = this.#heardNow(this.#connected);
    }
    for (const listener of this.#listeners) listener(index);
    // This runs after the listeners, because they compare the new index with the previous one.
    if (before !== null) forgetCallers(before);
    return { ok: true, index };
  }

  #heardNow(connected: boolean): Freshness {
    return { connected, heardAt: this.#now(), ...(this.#aheadMs === undefined ? {} : { aheadMs: this.#aheadMs }) };
  }

  #compareClocks(timeMs: number): void {
    const wallTime = this.#wallTime?.();
    if (wallTime === undefined) return;
    this.#aheadMs = measuredAhead(this.#aheadMs, timeMs, wallTime);
  }

  #nack(code: NackCode, words: string): OfferResult {
    const message = words.slice(0, bounds.nackMessageLength);
    this.#lastNack = { code, message };
    if (code === 'schema_unsupported') {
      this.#outdated = true;
      this.#freshness = { ...this.#freshness, connected: false };
    }
    return { ok: false, code, message };
  }

  /**
   * Returns the result of `take`. If `take` throws an error of any kind, the message is rejected and nothing changes.
   */
  #safely(take: () => OfferResult): OfferResult {
    try {
      return take();
    } catch (error) {
      return this.#nack('internal', error instanceof Error ? error.message : 'unknown');
    }
  }

  #backwards(epoch: string, revision: number): string | null {
    return this.#current !== null && this.#current.epoch === epoch && revision < this.#current.revision
      ? `revision ${revision} is older than ${this.#current.revision}, which is held`
      : null;
  }
}
